/* SPDX-License-Identifier: Apache-2.0 */
/* Inside `weft schedule`. */
#ifndef WF_CMD_SCHEDULE_H
#define WF_CMD_SCHEDULE_H
#include <weft/sim.h>

#include "cmd/options.h"

/* What the flags say. */
typedef struct wf_schedule_args {
    const char *kind;
    int p, m, v, group, outstanding, width;
    const char *placement;
    const char *tf, *tb, *ti, *tw; /* text: they may carry a unit of time */
    const char *stage_tf, *stage_tb, *stage_ti, *stage_tw, *latency;
    const char *overlap, *overlap_cost;
    const char *mem_limit, *stage_free_i, *stage_free_w;
    int per_op;
    int ascii, summary, ops, json;
    const char *svg, *trace, *csv;
} wf_schedule_args;

/* Durations of a schedule's ops, and the unit that the user gave them in. */
typedef struct wf_schedule_costs {
    weft_costs costs;
    double *dur;
    const char *unit; /* "s" or "" */
    /* Simulated times are this many times too long: a chunk's op has the time of its full
     * stage, so that 1/3 of a unit stays exact. */
    double parts;
} wf_schedule_costs;

WEFT_MUST_CHECK weft_status wf_schedule_costs_read(const wf_schedule_args *a,
                                                   const weft_schedule *s,
                                                   wf_schedule_costs *out);
/* Scalar times of a full stage into the options of a search; a chunk's op is 1/parts of
 * a full stage. Lists by stages are refused. */
WEFT_MUST_CHECK weft_status wf_schedule_times_read(const wf_schedule_args *a,
                                                   double parts,
                                                   weft_schedule_options *opt);
void wf_schedule_costs_clear(wf_schedule_costs *c);

/* Times, memory and their lists by stage for the kind `optimal`; `out` holds what opt
 * points to. Simulated times and bounds are out->parts times too long, as above. */
typedef struct wf_schedule_stages {
    double *item; /* five lists of one item a stage */
    double parts;
} wf_schedule_stages;

WEFT_MUST_CHECK weft_status wf_schedule_stages_read(const wf_schedule_args *a,
                                                    const weft_schedule *shape,
                                                    weft_schedule_options *opt,
                                                    wf_schedule_stages *out);
void wf_schedule_stages_clear(wf_schedule_stages *l);
/* --mem-limit: bytes where what I and W free is given in bytes, else forwards. */
WEFT_MUST_CHECK weft_status wf_schedule_limit_read(const wf_schedule_args *a,
                                                   double *out);

/* A checked and simulated schedule. trace.n is 0 where no picture is wanted. */
typedef struct wf_schedule_result {
    const weft_schedule *s;
    weft_schedule_report report;
    weft_eval eval;
    weft_trace trace;
    weft_overlap overlap;
    double lower_bound; /* of the makespan; NaN where none is known */
} wf_schedule_result;

const char *wf_placement_name(weft_placement_kind placement);
/* Timeline and summary, or JSON, to `out`; --svg --trace --csv to their files. */
WEFT_MUST_CHECK weft_status wf_schedule_report_text(const wf_schedule_args *a,
                                                    const wf_schedule_result *r,
                                                    weft_writer *out);
WEFT_MUST_CHECK weft_status wf_schedule_report_json(const wf_schedule_args *a,
                                                    const wf_schedule_result *r,
                                                    weft_writer *out);
WEFT_MUST_CHECK weft_status wf_schedule_report_files(const wf_schedule_args *a,
                                                     const wf_schedule_result *r);
#endif
