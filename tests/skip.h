/* SPDX-License-Identifier: Apache-2.0 */
/* Skip the running cmocka test and say why, in the words that ./check looks for.
 * needs: the words of cmake/skips.sh, such as "shared" or "mpich" or "cores:4". */
#ifndef WEFT_TESTS_SKIP_H
#define WEFT_TESTS_SKIP_H

#define SKIP_NEEDS(needs, reason)                                                      \
    do {                                                                               \
        print_message("SKIP: %s; needs: %s\n", (reason), (needs));                     \
        skip();                                                                        \
    } while (0)

#endif
