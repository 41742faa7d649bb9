/* SPDX-License-Identifier: Apache-2.0 */
/* Small pipeline problems solved by complete search: the judge of the kind "optimal". */
#ifndef WEFT_TESTS_SCHEDULE_EXACT_H
#define WEFT_TESTS_SCHEDULE_EXACT_H
#include "support.h"

typedef enum exact_answer {
    EXACT_NONE,   /* no schedule is below the target           */
    EXACT_BELOW,  /* there is one                              */
    EXACT_UNKNOWN /* more than the given number of states seen */
} exact_answer;

/* Is there an order of F, I and W with a makespan below the target? opt has all three
 * lists of times; what it says of memory is kept. At most 8 stages, 6 micro-batches. */
exact_answer exact_below(const weft_schedule *shape, const weft_schedule_options *opt,
                         double target, int most_states);
#endif
