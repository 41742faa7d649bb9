/* SPDX-License-Identifier: Apache-2.0 */
/* What the schedule tests share. */
#ifndef WEFT_TESTS_SCHEDULE_SUPPORT_H
#define WEFT_TESTS_SCHEDULE_SUPPORT_H
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <weft/sim.h>

#include "skip.h"

#define assert_ok(call)                                                                \
    do {                                                                               \
        if ((call) != WEFT_OK) fail_msg("%s: %s", #call, weft_status_message());       \
    } while (0)

/* The call fails with st, and its words contain `words`. */
#define assert_fails(call, st, words)                                                  \
    do {                                                                               \
        assert_int_equal((call), (st));                                                \
        assert_contains(weft_status_message(), (words));                               \
    } while (0)

#define assert_contains(text, words)                                                   \
    do {                                                                               \
        if (!strstr((text), (words)))                                                  \
            fail_msg("\"%s\" is not in \"%s\"", (words), (text));                      \
    } while (0)

#define assert_near(a, b)                                                              \
    do {                                                                               \
        double a_ = (a), b_ = (b);                                                     \
        if (!(fabs(a_ - b_) <= 1e-9 * (1 + fabs(b_))))                                 \
            fail_msg("%s is %.17g, not %.17g", #a, a_, b_);                            \
    } while (0)

weft_schedule made(const char *kind, int p, int m, int v);
weft_schedule made_group(const char *kind, int p, int m, int v, int group);
weft_schedule copied(const weft_schedule *s);
/* From the ops form. */
weft_schedule parsed(const char *ops, weft_placement_kind placement);

/* Its ops form; free() it. */
char *ops_text(const weft_schedule *s);

/* Full-stage times, no latency. ti = tw = tb/2. */
weft_eval timed(const weft_schedule *s, double tf, double tb);
weft_eval timed_split(const weft_schedule *s, double tf, double ti, double tw);
double makespan(const weft_schedule *s, double tf, double tb);

/* Deterministic random numbers. */
uint32_t random_below(uint64_t *state, uint32_t n);

/* A random order that has no cycle: ops are taken one by one from those whose inputs are
 * done. Some of its backwards are split. */
weft_schedule random_order(weft_placement_kind placement, int p, int m, int v,
                           uint64_t *seed);

/* End of every op, recomputed by sweeps until nothing changes: slow and independent of the
 * library's walk. NaN for an op that never runs. One entry per op of s (unlowered). */
double *swept_ends(const weft_schedule *s, const double *dur, double latency);
#endif
