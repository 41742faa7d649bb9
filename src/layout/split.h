/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_LAYOUT_SPLIT_H
#define WF_LAYOUT_SPLIT_H
#include <weft/layout.h>

/* Layers per stage as a text states them, of which one stage is looked for; counts[] (or
 * NULL) takes the first `room` of all. */
typedef struct wf_stages {
    int64_t n, layers;    /* all of them: stages and their layers */
    int64_t stage;        /* looked for */
    int64_t first, count; /* its layers, once it was met */
    int64_t *counts;
    int64_t room;
} wf_stages;

/* Counts ("7,8*2,7") or Megatron-LM's form ("Et*7|(t*8|)*2t*7L"). The failure's words tell
 * what is wrong with the text, not whose it is. */
weft_status wf_stages_read(const char *text, wf_stages *s) WEFT_MUST_CHECK;

/* The balanced split of equal layers, whose middle stages are alike but for one layer. */
typedef struct wf_balanced {
    int64_t stages;
    int64_t first, middle,
        last; /* layers: of the first stage, of all between, of the last */
} wf_balanced;
wf_balanced wf_layout_balance(const weft_layout *l, const weft_arch *a);
int64_t wf_balanced_count(const wf_balanced *b, int64_t stage);
/* The same as text, "8,8,7,7". buf >= WF_BALANCED_TEXT bytes; returns buf. */
enum { WF_BALANCED_TEXT = 128 };
const char *wf_balanced_text(const weft_layout *l, const weft_arch *a, char *buf);

/* Is the placement left to the schedule? */
int wf_placement_is_auto(const weft_layout *l);
/* Is it another than the schedule would have by itself? One chunk lies alike on all. */
WEFT_API int wf_layout_is_placed(const weft_layout *l);

/* Virtual stages of a layout. */
int64_t wf_layout_stages(const weft_layout *l);
int wf_stages_even(const weft_layout *l);
int wf_stages_balanced(const weft_layout *l);
#endif
