/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_PLAN_TOOL_H
#define WF_PLAN_TOOL_H
#include <weft/emit.h>

#include "plan/flags.h"

/* One program: a file emit_NAME.c, and read_NAME.c where its lines can be read. */
typedef struct wf_tool {
    const char *name, *order;
    /* What it cannot run: the failure. */
    weft_status (*check)(const weft_layout *l, const weft_arch *a);
    void (*write)(const weft_layout *l, const weft_arch *a, const weft_cost_options *o,
                  int per_node, weft_writer *out);
    weft_status (*read)(wf_flags *f, const weft_arch *given, weft_launch *out);
    const wf_flag_row *rows; /* ends without a name */
    int underscores;
    /* What it has not of the way in which a layout was priced; NULL: it has all. */
    weft_status (*check_options)(const weft_cost_options *o);
    const char *const *known; /* of wf_flags */
} wf_tool;

weft_status wf_megatron_read(wf_flags *f, const weft_arch *given,
                             weft_launch *out) WEFT_MUST_CHECK;
weft_status wf_torchtitan_read(wf_flags *f, const weft_arch *given,
                               weft_launch *out) WEFT_MUST_CHECK;
extern const wf_flag_row wf_megatron_rows[], wf_torchtitan_rows[];
extern const char *const wf_megatron_known[];

extern const wf_tool wf_tool_megatron, wf_tool_torchtitan, wf_tool_deepspeed,
    wf_tool_nanotron, wf_tool_weft, wf_tool_slurm, wf_tool_ranks;

/* Are the axes with more than one rank in this order? */
int wf_order_is(const weft_layout *l, const char *order);
weft_status wf_need_order(const weft_layout *l, const char *tool,
                          const char *order) WEFT_MUST_CHECK;
/* Is it one of the kinds (blank-separated)? With one stage every kind is the same. */
weft_status wf_need_kind(const weft_layout *l, const char *tool,
                         const char *kinds) WEFT_MUST_CHECK;
/* "none", "selective" or "full" for all stages; NULL: they differ. */
const char *wf_one_recompute(const weft_layout *l);
weft_status wf_need_one_recompute(const weft_layout *l,
                                  const char *tool) WEFT_MUST_CHECK;

/* " \" and a new line before each argument but the first. */
typedef struct wf_line {
    weft_writer *out;
    int n;
} wf_line;
void wf_arg(wf_line *line, const char *fmt, ...) WEFT_PRINTF(2, 3);
/* A word as a shell needs it: quoted where it must be. */
void wf_quote(weft_writer *out, const char *word);

/* Comments to stand before the arguments, a line each; the arguments. */
void wf_megatron_notes(const weft_layout *l, const weft_arch *a,
                       const weft_cost_options *o, weft_writer *out);
void wf_megatron_args(const weft_layout *l, const weft_arch *a,
                      const weft_cost_options *o, weft_writer *out);
/* The model as weft_arch_parse() takes it: "family=gpt2,layers=4,hidden=128,heads=4", and
 * what else differs from what that makes of it; presets by name. */
WEFT_API void wf_arch_text(const weft_arch *a, weft_writer *out);
/* Layers of all stages; count [pp * vpp]. */
void wf_stage_counts(const weft_layout *l, const weft_arch *a, int64_t *count);
enum { WF_MOST_STAGES = 4096 };
#endif
