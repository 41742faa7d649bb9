/* SPDX-License-Identifier: Apache-2.0 */
/* Every claim over one rank alone and over 2, 3, 4 and 8 threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "comm/cases.h"

static void run_case(void **state)
{
    static const int sizes[] = {1, 2, 3, 4, 8};
    const comm_case *k = *state;
    weft_comm_options o = {.timeout_s = 60};
    weft_comm *alone;

    assert_int_equal(weft_comm_self(&o, &alone), WEFT_OK);
    if (k->run(alone, NULL)) fail_msg("self: %s", weft_status_message());
    weft_comm_destroy(alone);
    for (int i = 0; i < 5; i++)
        if (weft_loop_run(sizes[i], &o, k->run, NULL))
            fail_msg("loop of %d: %s", sizes[i], weft_status_message());
}

int main(void)
{
    struct CMUnitTest tests[64];
    for (int i = 0; i < n_comm_cases; i++)
        tests[i] = (struct CMUnitTest){comm_cases[i].claim, run_case, NULL, NULL,
                                       (void *)&comm_cases[i]};
    return _cmocka_run_group_tests("comm over self and loop", tests,
                                   (size_t)n_comm_cases, NULL, NULL);
}
