/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/tool.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/near.h"

static const wf_tool *const tools[WEFT_N_TOOLS] = {
    &wf_tool_megatron, &wf_tool_torchtitan, &wf_tool_deepspeed, &wf_tool_nanotron,
    &wf_tool_weft,     &wf_tool_slurm,      &wf_tool_ranks};

const char *weft_tool_name(weft_tool tool)
{
    return (unsigned)tool < WEFT_N_TOOLS ? tools[tool]->name : NULL;
}

const char *weft_tool_order(weft_tool tool)
{
    return tools[tool]->order;
}

static const char *name_at(const void *ctx, int i)
{
    return tools[i]->name;
}

weft_status weft_tool_find(const char *name, weft_tool *out)
{
    for (int i = 0; i < WEFT_N_TOOLS; i++)
        if (!strcmp(name, tools[i]->name)) {
            *out = (weft_tool)i;
            return WEFT_OK;
        }
    const char *near = wf_nearest(name, WEFT_N_TOOLS, name_at, NULL);
    return WF_FAIL(WEFT_E_INVALID,
                   "\"%.40s\" is no tool%s%s%s; megatron torchtitan deepspeed nanotron "
                   "weft slurm ranks are",
                   name, near ? "; did you mean " : "", near ? near : "",
                   near ? "?" : "");
}

/* ---- what tools have in common ---------------------------------------------------- */

/* Axes with more than one rank, fastest first. */
static int real_axes(const weft_layout *l, const char *order, int axis[WEFT_MAX_AXES])
{
    weft_layout as = *l;
    weft_mesh mesh;
    int n = 0;

    snprintf(as.order, sizeof as.order, "%s", order);
    if (weft_layout_mesh(&as, &mesh) != WEFT_OK) return -1;
    for (int i = 0; i < mesh.n_axes; i++)
        if (mesh.size[i] > 1) axis[n++] = mesh.axis[i];
    return n;
}

int wf_order_is(const weft_layout *l, const char *order)
{
    int a[WEFT_MAX_AXES], b[WEFT_MAX_AXES];
    int n = real_axes(l, l->order, a), m = real_axes(l, order, b);
    if (n != m || n < 0) return 0;
    for (int i = 0; i < n; i++)
        if (a[i] != b[i]) return 0;
    return 1;
}

weft_status wf_need_order(const weft_layout *l, const char *tool, const char *order)
{
    if (wf_order_is(l, order)) return WEFT_OK;
    return WF_FAIL(WEFT_E_INFEASIBLE,
                   "--order %s: %s places its ranks in the order %s; --order %s is it",
                   l->order, tool, order, order);
}

static int has_word(const char *words, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = words; *at;) {
        size_t k = strcspn(at, " ");
        if (k == n && !strncmp(at, word, n)) return 1;
        at += k + strspn(at + k, " ");
    }
    return 0;
}

weft_status wf_need_kind(const weft_layout *l, const char *tool, const char *kinds)
{
    if (l->pp == 1 && l->vpp == 1) return WEFT_OK;
    if (has_word(kinds, l->schedule)) return WEFT_OK;
    return WF_FAIL(WEFT_E_INFEASIBLE, "--schedule %s: %s has %s", l->schedule, tool,
                   kinds);
}

const char *wf_one_recompute(const weft_layout *l)
{
    static const char *const name[] = {"none", "selective", "full"};
    weft_recompute first = weft_layout_recompute(l, 0);
    for (int s = 1; s < l->pp * l->vpp; s++)
        if (weft_layout_recompute(l, s) != first) return NULL;
    return name[first];
}

weft_status wf_need_one_recompute(const weft_layout *l, const char *tool)
{
    if (wf_one_recompute(l)) return WEFT_OK;
    return WF_FAIL(WEFT_E_INFEASIBLE,
                   "--recompute %s: %s recomputes the same on every stage; none, "
                   "selective or full",
                   l->recompute, tool);
}

void wf_stage_counts(const weft_layout *l, const weft_arch *a, int64_t *count)
{
    int64_t first;
    for (int s = 0; s < l->pp * l->vpp; s++)
        weft_layout_stage_layers(l, a, s, &first, &count[s]);
}

/* ---- arguments -------------------------------------------------------------------- */

void wf_arg(wf_line *line, const char *fmt, ...)
{
    char text[512];
    va_list list;
    va_start(list, fmt);
    vsnprintf(text, sizeof text, fmt, list);
    va_end(list);
    weft_print(line->out, "%s%s", line->n++ ? " \\\n    " : "", text);
}

void wf_quote(weft_writer *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_-+=.,:/@%";
    if (*word && !word[strspn(word, plain)]) {
        weft_print(out, "%s", word);
        return;
    }
    weft_print(out, "'");
    for (; *word; word++)
        weft_print(out, *word == '\'' ? "'\\''" : "%c", *word);
    weft_print(out, "'");
}

/* ---- doing it --------------------------------------------------------------------- */

weft_status weft_emit_check(weft_tool tool, const weft_layout *l, const weft_arch *a)
{
    if ((unsigned)tool >= WEFT_N_TOOLS)
        return WF_FAIL(WEFT_E_INVALID, "tool %d is none", (int)tool);
    return tools[tool]->check(l, a);
}

weft_status weft_emit_check_options(weft_tool tool, const weft_cost_options *o)
{
    if ((unsigned)tool >= WEFT_N_TOOLS)
        return WF_FAIL(WEFT_E_INVALID, "tool %d is none", (int)tool);
    return tools[tool]->check_options ? tools[tool]->check_options(o) : WEFT_OK;
}

weft_status weft_emit(weft_tool tool, const weft_layout *l, const weft_arch *a,
                      const weft_cost_options *o, int ranks_per_node, weft_writer *out)
{
    WF_TRY(weft_emit_check(tool, l, a));
    WF_TRY(weft_emit_check_options(tool, o));
    int per_node = ranks_per_node > 0 ? ranks_per_node : weft_layout_world(l);
    tools[tool]->write(l, a, o, per_node, out);
    return weft_writer_status(out);
}

static weft_status read_words(const wf_tool *tool, const wf_words *words,
                              const weft_arch *given, weft_launch *out)
{
    wf_flags f = {
        .row = tool->rows, .underscores = tool->underscores, .known = tool->known};
    weft_status st;

    while (tool->rows[f.n].name)
        f.n++;
    weft_layout_defaults(&out->layout);
    out->dropout = out->fused_attention = -1;
    out->fused_loss = out->overlap_dp = -1;
    st = wf_flags_read(&f, words);
    if (st == WEFT_OK) st = tool->read(&f, given, out);
    out->ignored = f.ignored;
    out->unmodelled = f.unmodelled;
    out->unknown = f.unknown;
    return st;
}

weft_status weft_launch_read(weft_tool tool, const char *text, const weft_arch *given,
                             weft_launch *out)
{
    wf_words words;
    weft_launch got = {.world = 0};

    if ((unsigned)tool >= WEFT_N_TOOLS || !tools[tool]->read)
        return WF_FAIL(WEFT_E_INVALID,
                       "lines of %s are not read; megatron and torchtitan "
                       "are",
                       (unsigned)tool < WEFT_N_TOOLS ? tools[tool]->name : "this tool");
    WF_TRY(wf_words_split(text, &words));
    weft_status st = read_words(tools[tool], &words, given, &got);
    wf_words_clear(&words);
    if (st != WEFT_OK)
        weft_launch_clear(&got);
    else
        *out = got;
    return st;
}

void weft_launch_clear(weft_launch *out)
{
    weft_text_clear(&out->ignored);
    weft_text_clear(&out->unmodelled);
    weft_text_clear(&out->unknown);
}
