/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/cases.h"

const comm_case comm_cases[] = {
    {"all-reduce gives the sum and the maximum at any size", case_all_reduce},
    {"broadcast, all-gather, reduce-scatter, all-to-all move what they say",
     case_moves},
    {"overlapping groups in any rank order keep apart", case_groups},
    {"collectives in flight and messages between do not mix", case_in_flight},
    {"random messages with random tags and sizes arrive each where asked for",
     case_soup},
    {"thousands of messages a rank with any tags are never confused", case_many},
    {"messages with one tag arrive in order", case_same_tag_in_order},
    {"a rank can send to itself", case_to_myself},
    {"a received block is charged to the receiver", case_block_is_charged_to_receiver},
    {"a comm of the first ranks works beside the whole", case_first},
    {"counts equal closed forms", case_count},
    {"dropped and doubled collectives change the sum as said", case_tamper},
    {"an injected delay holds back only its purpose", case_delay},
    {"arguments out of range are refused by name", case_refused},
    {"an event can be waited for once", case_spent_event},
};
const int n_comm_cases = sizeof comm_cases / sizeof comm_cases[0];

uint64_t roll(dice *d, uint64_t n)
{
    d->s = d->s * 6364136223846793005u + 1442695040888963407u;
    return (d->s >> 20) % n;
}

weft_status everyone(weft_comm *c, const char *axes, weft_group **out)
{
    int ranks[64], n = weft_comm_size(c);
    for (int r = 0; r < n; r++)
        ranks[r] = r;
    return weft_group_create(c, n, ranks, axes, out);
}
