/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold over every back end and any number of ranks: one function per claim, run
 * by each rank. A broken claim is a failure with words. */
#ifndef WEFT_TESTS_COMM_CASES_H
#define WEFT_TESTS_COMM_CASES_H

#include <weft/run/comm.h>

#include "base/error.h"

typedef struct comm_case {
    const char *claim;
    weft_status (*run)(weft_comm *c, void *ctx);
} comm_case;

extern const comm_case comm_cases[];
extern const int n_comm_cases;

#define CLAIM(truth, ...)                                                              \
    do {                                                                               \
        if (!(truth)) return WF_FAIL(WEFT_E_NUMERIC, __VA_ARGS__);                     \
    } while (0)

/* A repeatable stream of numbers. */
typedef struct dice {
    uint64_t s;
} dice;
uint64_t roll(dice *d, uint64_t n); /* 0 .. n-1 */

weft_status everyone(weft_comm *c, const char *axes, weft_group **out);

/* cases_p2p.c */
weft_status case_soup(weft_comm *c, void *ctx);
weft_status case_many(weft_comm *c, void *ctx);
weft_status case_same_tag_in_order(weft_comm *c, void *ctx);
weft_status case_to_myself(weft_comm *c, void *ctx);
weft_status case_block_is_charged_to_receiver(weft_comm *c, void *ctx);
/* cases_coll.c */
weft_status case_all_reduce(weft_comm *c, void *ctx);
weft_status case_moves(weft_comm *c, void *ctx);
weft_status case_groups(weft_comm *c, void *ctx);
weft_status case_in_flight(weft_comm *c, void *ctx);
/* cases_more.c */
weft_status case_first(weft_comm *c, void *ctx);
weft_status case_count(weft_comm *c, void *ctx);
weft_status case_tamper(weft_comm *c, void *ctx);
weft_status case_delay(weft_comm *c, void *ctx);
weft_status case_refused(weft_comm *c, void *ctx);
weft_status case_spent_event(weft_comm *c, void *ctx);

#endif
