/* SPDX-License-Identifier: Apache-2.0 */
/** @file weft/status.h  What a call returns, and where the words are. */
#ifndef WEFT_STATUS_H
#define WEFT_STATUS_H

#include <weft/export.h>

WEFT_BEGIN

/** Every call that can fail returns one of these. Numbers never change. */
typedef enum weft_status {
    WEFT_OK = 0,
    WEFT_E_INVALID = -1,    /**< an argument breaks its documented range    */
    WEFT_E_NOMEM = -2,      /**< the allocator returned nothing             */
    WEFT_E_MISMATCH = -3,   /**< two arguments do not fit each other        */
    WEFT_E_INFEASIBLE = -4, /**< no answer exists; the message says why     */
    WEFT_E_IO = -5,         /**< a file could not be read or written        */
    WEFT_E_TIMEOUT = -6,    /**< a wait passed the configured limit         */
    WEFT_E_PEER = -7,       /**< another rank failed first; its words are here */
    WEFT_E_NUMERIC = -8,    /**< a value is not finite                      */
    WEFT_E_CANCELLED = -9   /**< a signal or callback asked to stop         */
} weft_status;

/** Message of the last failure in this thread; "" after none.
 *  @return  borrowed until the next weft call in this thread. */
WEFT_API const char *weft_status_message(void);

/** Make a failure and its message together and return st; for code that extends weft.
 *  file and line go to the debug record, never into the words a user reads. */
WEFT_API weft_status weft_fail(weft_status st, const char *file, int line,
                               const char *fmt, ...) WEFT_PRINTF(4, 5);

/** Short fixed name, such as "invalid argument"; never NULL. */
WEFT_API const char *weft_status_name(weft_status st);

WEFT_END
#endif
