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
    const char *stage_tf, *stage_tb, *stage_ti, *stage_tw;
    const char *latency, *bandwidth, *message_bytes, *ranks_per_node, *messages;
    const char *overlap, *overlap_cost;
    int steps;
    const char *optimizer, *optimizer_sync;
    const char *mem_limit, *stage_free_i, *stage_free_w;
    const char *stage_temp[WEFT_OP_R]; /* F B I W */
    int per_op;
    int ascii, summary, ops, json;
    const char *svg, *trace, *csv;
} wf_schedule_args;

/* ---- numbers -------------------------------------------------------------------- */

/* Which of the costs typed so far had a unit of time; a mixture means nothing. */
typedef struct wf_schedule_units {
    const char *with, *without; /* first flag of each kind */
} wf_schedule_units;

typedef struct wf_schedule_numbers {
    int64_t n, cap;
    double *x; /* wf_free() it */
} wf_schedule_numbers;

WEFT_MUST_CHECK weft_status wf_schedule_time(const char *flag, const char *text,
                                             wf_schedule_units *u, double *out);
WEFT_MUST_CHECK weft_status wf_schedule_push(wf_schedule_numbers *l, double x);
/* "1ms,2ms"; NULL is no numbers. Times, bytes and bytes/s are at least 0. */
WEFT_MUST_CHECK weft_status wf_schedule_numbers_read(const char *flag, const char *text,
                                                     wf_unit unit, wf_schedule_units *u,
                                                     wf_schedule_numbers *l);
/* One number is for all n; "each" says of what there are n. */
WEFT_MUST_CHECK weft_status wf_schedule_spread(const char *flag, const char *each,
                                               int64_t n, wf_schedule_numbers *l);

/* ---- costs ---------------------------------------------------------------------- */

/* Durations of a schedule's ops, and the unit that the user gave them in. */
typedef struct wf_schedule_costs {
    weft_costs costs;
    double *dur;
    weft_link_tier *tier;          /* of costs */
    wf_schedule_numbers pair;      /* of costs: length by rank */
    wf_schedule_numbers optimizer; /* [p], none where it takes no time */
    const char *unit;              /* "s" or "" */
    /* Simulated times are this many times too long: a chunk's op has the time of its full
     * stage, so that 1/3 of a unit stays exact. */
    double parts;
} wf_schedule_costs;

WEFT_MUST_CHECK weft_status wf_schedule_costs_read(const wf_schedule_args *a,
                                                   const weft_schedule *s,
                                                   wf_schedule_costs *out);
/* Scalar times of a full stage, and links, into the options of a search, which point to
 * *tier; wf_free() that. A chunk's op is 1/parts of a full stage. Lists by stages are
 * refused. */
WEFT_MUST_CHECK weft_status wf_schedule_times_read(const wf_schedule_args *a,
                                                   double parts,
                                                   weft_schedule_options *opt,
                                                   weft_link_tier **tier);
/* Links, updates and the length of pairs, as typed. */
WEFT_MUST_CHECK weft_status wf_schedule_links_read(const wf_schedule_args *a,
                                                   const weft_schedule *s,
                                                   wf_schedule_units *u,
                                                   wf_schedule_costs *out);
/* Links alone into the options of a search, which point to *tier; wf_free() that. */
WEFT_MUST_CHECK weft_status wf_schedule_search_links(const wf_schedule_args *a,
                                                     wf_schedule_units *u,
                                                     weft_schedule_options *opt,
                                                     weft_link_tier **tier);
void wf_schedule_costs_clear(wf_schedule_costs *c);

/* Times, memory and their lists by stage for the kind `optimal`; `out` holds what opt
 * points to. Simulated times and bounds are out->parts times too long, as above. */
typedef struct wf_schedule_stages {
    double *item; /* five lists of one item a stage */
    weft_link_tier *tier;
    wf_schedule_numbers limit; /* by rank */
    double parts;
} wf_schedule_stages;

WEFT_MUST_CHECK weft_status wf_schedule_stages_read(const wf_schedule_args *a,
                                                    const weft_schedule *shape,
                                                    weft_schedule_options *opt,
                                                    wf_schedule_stages *out);
void wf_schedule_stages_clear(wf_schedule_stages *l);

/* ---- files ---------------------------------------------------------------------- */

/* That of --placement; `own` where it says auto, that is nothing. */
WEFT_MUST_CHECK weft_status wf_schedule_placement(const wf_schedule_args *a,
                                                  weft_placement_kind own,
                                                  weft_placement_kind *out);
int wf_schedule_says_placement(const wf_schedule_args *a);
/* A user's order. Where it does not read, or does not run, under a placement that nobody
 * typed, and does under another one, the message names that. */
WEFT_MUST_CHECK weft_status wf_schedule_read(const wf_schedule_args *a,
                                             const char *path, weft_schedule *s);
/* Flags that `check` and `sim` would not look at. 0, or the exit status. */
int wf_schedule_file_flags(const wf_schedule_args *a, const wf_args *args);

/* ---- simulation ----------------------------------------------------------------- */

/* Steps and bytes of the flags; `c` has the optimizer. */
typedef struct wf_schedule_sim_options {
    weft_sim_options o;
    weft_sim_bytes bytes;
    wf_schedule_numbers list[2 + WEFT_OP_R]; /* of bytes */
    wf_schedule_numbers limit;               /* of bytes, by rank */
} wf_schedule_sim_options;

/* Does a flag of bytes say that memory is asked for? */
int wf_schedule_has_bytes(const wf_schedule_args *a);
/* `out` is filled where it stands: it points into itself. Clear it in any case. */
WEFT_MUST_CHECK weft_status wf_schedule_sim_read(const wf_schedule_args *a,
                                                 const weft_schedule *s,
                                                 const wf_schedule_costs *c,
                                                 wf_schedule_sim_options *out);
void wf_schedule_sim_clear(wf_schedule_sim_options *o);

/* A checked and simulated schedule. trace.n is 0 where no picture is wanted. */
typedef struct wf_schedule_result {
    const weft_schedule *s;
    weft_schedule_report report;
    weft_sim sim;
    weft_trace trace;
    weft_overlap overlap;
    double lower_bound; /* of the makespan; NaN where none is known */
} wf_schedule_result;

/* The schedule of the flags; *bound where no schedule can be shorter (optimal). */
WEFT_MUST_CHECK weft_status wf_schedule_make(const wf_schedule_args *a,
                                             const wf_args *args, weft_schedule *s,
                                             double *bound);
/* Is r->s small enough, and is its timeline asked for? */
int wf_schedule_wants_picture(const wf_schedule_args *a, const weft_schedule *s);
/* r->s in the costs of the flags into r->sim and, with `picture`, r->trace. */
WEFT_MUST_CHECK weft_status wf_schedule_simulate(const wf_schedule_args *a, int picture,
                                                 wf_schedule_result *r);
/* All but the schedule. */
void wf_schedule_result_clear(wf_schedule_result *r);
/* weft schedule compare KIND KIND: the exit status. */
int wf_schedule_compare(const wf_schedule_args *a, const wf_args *args);

/* Lines about repeated steps and memory, where flags ask for them. */
void wf_schedule_put_steps(const wf_schedule_result *r, weft_writer *out);
void wf_schedule_put_memory(const wf_schedule_result *r, weft_writer *out);
void wf_schedule_json_steps(const wf_schedule_result *r, struct wf_json *j);
void wf_schedule_json_memory(const wf_schedule_result *r, struct wf_json *j);
/* WEFT_E_INFEASIBLE that names rank, time and op where memory ends first. */
WEFT_MUST_CHECK weft_status wf_schedule_memory_fits(const wf_schedule_args *a,
                                                    const wf_schedule_result *r);

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
