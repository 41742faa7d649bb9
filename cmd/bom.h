/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_CMD_BOM_H
#define WF_CMD_BOM_H
#include <string.h>

#include "base/error.h"

/* JSON begins without a byte order mark (RFC 8259, section 8.1), which some editors write
 * and none shows. */
static inline weft_status wf_refuse_bom(const char *file, const char *text, size_t n)
{
    if (n < 3 || memcmp(text, "\xef\xbb\xbf", 3)) return WEFT_OK;
    return WF_FAIL(WEFT_E_INVALID,
                   "%s begins with a byte order mark (EF BB BF): JSON is UTF-8 without "
                   "one; tail -c +4 takes it off",
                   file);
}
#endif
