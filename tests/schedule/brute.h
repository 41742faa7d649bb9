/* SPDX-License-Identifier: Apache-2.0 */
/* Tiny pipeline problems by trying every order: the judge of exact.c. */
#ifndef WEFT_TESTS_SCHEDULE_BRUTE_H
#define WEFT_TESTS_SCHEDULE_BRUTE_H
#include <weft/schedule.h>

/* Least makespan over all orders of two ranks that keep the limits, micro-batches in any
 * order; NaN where there are more than so many pairs of orders to try. */
double brute_optimum(const weft_schedule *shape, const weft_schedule_options *opt,
                     int64_t most_pairs);
#endif
