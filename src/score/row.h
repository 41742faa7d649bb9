/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_SCORE_ROW_H
#define WF_SCORE_ROW_H
#include <weft/score.h>

#include "score/csv.h"

/* Columns that are read. */
typedef enum wf_column {
    WF_COL_ID,
    WF_COL_SOURCE,
    WF_COL_MODEL,
    WF_COL_PARAMS,
    WF_COL_LAYERS,
    WF_COL_HIDDEN,
    WF_COL_HEADS,
    WF_COL_KV_HEADS,
    WF_COL_FFN,
    WF_COL_MLP,
    WF_COL_VOCAB,
    WF_COL_SEQ,
    WF_COL_GPU,
    WF_COL_GPU_MEM,
    WF_COL_PEAK,
    WF_COL_NVLINK,
    WF_COL_INTERNODE,
    WF_COL_PRECISION,
    WF_COL_GPUS,
    WF_COL_TP,
    WF_COL_CP,
    WF_COL_PP,
    WF_COL_VPP,
    WF_COL_DP,
    WF_COL_EP,
    WF_COL_ZERO,
    WF_COL_SP,
    WF_COL_RECOMPUTE,
    WF_COL_MICRO_BATCH,
    WF_COL_GLOBAL_BATCH,
    WF_COL_SCHEDULE,
    WF_COL_TFLOPS,
    WF_COL_TFLOPS_KIND,
    WF_COL_STEP,
    WF_COL_STEP_DERIVED,
    WF_COL_TOKENS,
    WF_COL_MEMORY,
    WF_N_COLUMNS
} wf_column;
extern const char *const wf_column_names[WF_N_COLUMNS];

/* One record with its columns found. */
typedef struct wf_row {
    const wf_csv *csv;
    const int *place; /* [WF_N_COLUMNS] */
} wf_row;
const char *wf_row_text(const wf_row *r, wf_column c);
/* A number, or 0 for an empty field or one that says it is none ("n/a", "OOM", "max ..."). */
weft_status wf_row_number(const wf_row *r, wf_column c, double *out) WEFT_MUST_CHECK;
/* A whole number, or 0 as above; any other is a reason to leave the run out. */
weft_status wf_row_count(const wf_row *r, wf_column c, weft_run *run,
                         int64_t *out) WEFT_MUST_CHECK;
/* Does the field hold this word, whatever its case? */
int wf_row_has(const wf_row *r, wf_column c, const char *word);

/* Map a record. Failures are of the text; what cannot be modelled is a reason in out->skip.
 */
weft_status wf_row_map(const wf_row *r, weft_run *out) WEFT_MUST_CHECK;
weft_status wf_row_layout(const wf_row *r, weft_run *out) WEFT_MUST_CHECK;
/* Keeps the first reason. */
void wf_run_skip(weft_run *run, const char *format, ...) WEFT_PRINTF(2, 3);
#endif
