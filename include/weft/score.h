/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file weft/score.h
 * The planner against measured runs: a table of runs, each mapped to a model, a machine and
 * a layout, predicted, and compared with what was measured.
 *
 * Nothing but the columns that describe the run's model, hardware and layout enters: not its
 * id, model name, source or notes. What a table leaves open follows from the rest; see
 * docs/accuracy.md.
 */
#ifndef WEFT_SCORE_H
#define WEFT_SCORE_H

#include <weft/predict.h>

WEFT_BEGIN

/** A row of the table. */
typedef struct weft_run {
    char id[80];
    char source[160];
    char group
        [160]; /**< rows with the same text compete: model, GPUs, batch, sequence */
    char
        skip[256]; /**< why it cannot be modelled; "" if it can                       */
    weft_arch arch;
    weft_machine machine;
    weft_layout layout;
    weft_cost_options options;
    int open_recompute; /**< the table does not say: the least that fits is taken      */
    double measured_s;
    double
        measured_bytes; /**< 0: not published                                       */
    double predicted_s;
    double predicted_bytes;
} weft_run;

typedef struct weft_runs {
    int64_t n;
    weft_run *run;
} weft_runs;

/** Read CSV text with a header line. Columns may come in any order and there may be more.
 *  @return WEFT_OK; WEFT_E_INVALID naming line and column for a missing column, a row of
 *          another length, an open quote or a number that is none. Rows that cannot be
 *          modelled are kept with the reason. Clear with weft_runs_clear(). */
WEFT_API WEFT_MUST_CHECK weft_status weft_runs_read(const char *text, int64_t n,
                                                    weft_runs *out);
WEFT_API void weft_runs_clear(weft_runs *r);
/** Predict every row that has no reason against it: weft_predict(). A row that fails gets
 *  its reason. WEFT_E_NOMEM only. */
WEFT_API WEFT_MUST_CHECK weft_status weft_runs_predict(weft_runs *r);
/** Is a row of the half that constants are fitted on?  Even 64-bit FNV-1a hash of the id. */
WEFT_API int weft_run_in_fit_half(const char *id);

/** Which rows count. */
typedef enum weft_half { WEFT_HALF_ALL, WEFT_HALF_FIT, WEFT_HALF_OTHER } weft_half;

typedef struct weft_score_line {
    int rows;
    double
        step_time_mape; /**< mean |predicted - measured| / measured; NaN for no rows */
    double
        step_time_bias; /**< mean (predicted - measured) / measured                  */
    int memory_rows;
    double memory_mape;
    double within_10; /**< share of rows                                             */
} weft_score_line;
/** Over rows of one source (NULL: all). */
WEFT_API void weft_score_source(const weft_runs *r, const char *source, weft_half half,
                                weft_score_line *out);
/** Layouts of one model on one number of GPUs: share of pairs in the measured order, and
 *  how much longer than the best the predicted best took. Over the rows whose group text
 *  is this; layouts < 2: no pairs. */
typedef struct weft_score_group {
    int layouts;
    double pair_agreement, regret;
} weft_score_group;
WEFT_API void weft_score_group_of(const weft_runs *r, const char *group,
                                  weft_score_group *out);
/** cli.md's object, and a table. by_row: each row too. */
WEFT_API void weft_score_write_json(const weft_runs *r, weft_half half, int by_row,
                                    weft_writer *out);
WEFT_API void weft_score_write_text(const weft_runs *r, weft_half half, int by_row,
                                    weft_writer *out);

WEFT_END
#endif
