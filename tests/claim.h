/* SPDX-License-Identifier: Apache-2.0 */
/* Claims outside and on the test's own thread. */
#ifndef WEFT_TESTS_CLAIM_H
#define WEFT_TESTS_CLAIM_H
#include "base/error.h"

/* On a rank's own thread, where cmocka's assertions must not jump: a claim that does not
 * hold is a failure of the rank, and its words reach the test. */
#define CLAIM(cond, ...)                                                               \
    do {                                                                               \
        if (!(cond)) return WF_FAIL(WEFT_E_INFEASIBLE, __VA_ARGS__);                   \
    } while (0)

/* On the test's own thread: a failure fails the test with its words. */
#define MUST(call)                                                                     \
    do {                                                                               \
        if ((call) != WEFT_OK) fail_msg("%s: %s", #call, weft_status_message());       \
    } while (0)
#endif
