/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_BASE_ERROR_H
#define WF_BASE_ERROR_H
#include <weft/status.h>

/* The only way to make a failure: status and words together. The place goes to
 * the debug record, never into the words a user reads. st is named again as the value, so
 * that the compiler sees that a failure is not WEFT_OK. */
#define WF_FAIL(st, ...) (weft_fail((st), __FILE__, __LINE__, __VA_ARGS__), (st))

/* Pass a failure up unchanged. */
#define WF_TRY(call)                                                                   \
    do {                                                                               \
        weft_status try_st_ = (call);                                                  \
        if (try_st_ != WEFT_OK) return try_st_;                                        \
    } while (0)
#endif
