/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/kinds/vblock.h"

#include <limits.h>

#include "base/alloc.h"

static int64_t after(int64_t slot, int64_t residue)
{
    do
        slot++;
    while (slot % WF_V_PERIOD != residue);
    return slot;
}

void wf_v_place_w(wf_block *b)
{
    int64_t open[2], n = 0;
    for (int64_t residue = 0; residue < WF_V_PERIOD; residue++) {
        int taken = 0;
        for (int i = 0; i < 4; i++)
            taken |= b->slot[i / 2][i % 2] % WF_V_PERIOD == residue;
        if (!taken && n < 2) open[n++] = residue;
    }
    int64_t back0 = b->slot[0][WF_BACK], back1 = b->slot[1][WF_BACK];
    int64_t w0 = after(back0, open[0]), w1 = after(back1, open[1]);
    int64_t other0 = after(back0, open[1]), other1 = after(back1, open[0]);
    int cross = other0 + other1 <= w0 + w1; /* the sooner a W, the less is held */
    b->slot[0][WF_WEIGHT] = cross ? other0 : w0;
    b->slot[1][WF_WEIGHT] = cross ? other1 : w1;
}

int64_t wf_v_peak(const wf_block *b, int back_slots)
{
    int64_t most = 0;
    for (int64_t t = 0; t < WF_V_PERIOD; t++) {
        int64_t held = 0; /* in the slot t of a period far from both ends */
        for (int c = 0; c < 2; c++) {
            int64_t from = b->slot[c][WF_FORWARD];
            int64_t to = b->slot[c][WF_BACK] + back_slots;
            int64_t whole = (to - from) / WF_V_PERIOD, rest = (to - from) % WF_V_PERIOD;
            int64_t phase = (t - from) % WF_V_PERIOD;
            held += whole + ((phase + WF_V_PERIOD) % WF_V_PERIOD < rest);
        }
        most = wf_most(most, held);
    }
    return most;
}

static weft_status squeeze(const weft_schedule *s, const wf_block *block, int64_t limit)
{
    static const int starts[] = {0, 1, 2, INT_MAX};
    wf_try tries[8];
    int64_t *limit_back = NULL;
    WF_TRY(WF_ALLOC(s->p, &limit_back));
    for (int r = 0; r < s->p; r++)
        limit_back[r] = wf_v_peak(&block[r], 1);
    for (int i = 0; i < 8; i++)
        tries[i] = (wf_try){.block = block,
                            .period = WF_V_PERIOD,
                            .ahead = 1 + i % 2,
                            .start = starts[i / 2],
                            .due = 1,
                            .keep = 2};
    wf_search x = {.split = 1,
                   .dur = {1, 1, 1},
                   .judged_latency = 1e-3,
                   .sample = 4 * (int64_t)s->p,
                   .limit = 2 * limit,
                   .limit_back = limit_back,
                   .tries = tries,
                   .n_tries = 8};
    weft_status st = wf_search_run(&x, s, NULL);
    wf_free(limit_back);
    return st;
}

int64_t wf_v_count(const weft_schedule *q, int rank)
{
    return 6 * (int64_t)q->m;
}

weft_status wf_v_generate(const weft_schedule *s,
                          void (*fill)(int64_t p, wf_block *block), int64_t limit)
{
    wf_block *block = NULL;
    WF_TRY(WF_ALLOC(s->p, &block));
    fill(s->p, block);
    weft_status st = squeeze(s, block, limit);
    wf_free(block);
    return st;
}
