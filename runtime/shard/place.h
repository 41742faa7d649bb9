/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_SHARD_PLACE_H
#define WF_SHARD_PLACE_H
#include <weft/run/shard.h>

/* Fail unless the view has this placement on the TP axis. With tp = 1 every placement is
 * the same thing, so nothing is checked. */
weft_status wf_expect(const weft_shard *s, const char *op, const weft_view *v, int how,
                      int dim) WEFT_MUST_CHECK;
#endif
