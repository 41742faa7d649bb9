/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_BASE_NEAR_H
#define WF_BASE_NEAR_H
#include <weft/export.h>

/* Edit distance (insert, delete, replace, swap of neighbours), case ignored. */
WEFT_API int wf_distance(const char *a, const char *b);

/* The name nearest to `word` among name(ctx, 0..n-1), or NULL when none is near enough to
 * be meant (distance > 1 + len/3). Names that start with `word` win. */
WEFT_API const char *wf_nearest(const char *word, int n,
                                const char *(*name)(const void *ctx, int i),
                                const void *ctx);
/* Same over a plain array. */
WEFT_API const char *wf_nearest_in(const char *word, int n, const char *const *names);
#endif
