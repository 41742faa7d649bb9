/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_ARCH_COUNT_H
#define WF_ARCH_COUNT_H
#include <weft/arch.h>

/* Unique parameters; fails where they pass 2^58, so that 16 bytes for each of them (and
 * every sum of those) fit 64 bits. */
WEFT_MUST_CHECK weft_status wf_arch_count(const weft_arch *a, int64_t *out);
#endif
