/* SPDX-License-Identifier: Apache-2.0 */
/* Steps and memory of `weft schedule`: flags to options, results to lines and JSON. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "cmd/schedule.h"

/* ---- flags ---------------------------------------------------------------------- */

enum { N_LISTS = 2 + WEFT_OP_R };

static const char *const list_flag[N_LISTS] = {"--stage-free-i", "--stage-free-w",
                                               "--stage-temp-f", "--stage-temp-b",
                                               "--stage-temp-i", "--stage-temp-w"};

static const char *list_text(const wf_schedule_args *a, int k)
{
    return k == 0 ? a->stage_free_i : k == 1 ? a->stage_free_w : a->stage_temp[k - 2];
}

int wf_schedule_has_bytes(const wf_schedule_args *a)
{
    for (int k = 0; k < N_LISTS; k++)
        if (list_text(a, k)) return 1;
    return 0;
}

static weft_status read_bytes(const wf_schedule_args *a, const weft_schedule *s,
                              wf_schedule_sim_options *o)
{
    for (int k = 0; k < N_LISTS; k++) {
        if (!list_text(a, k)) continue;
        WF_TRY(wf_schedule_numbers_read(list_flag[k], list_text(a, k), WF_BYTES, NULL,
                                        &o->list[k]));
        WF_TRY(wf_schedule_spread(list_flag[k], "a stage each", weft_schedule_stages(s),
                                  &o->list[k]));
    }
    o->bytes.free_i = o->list[0].x;
    o->bytes.free_w = o->list[1].x;
    for (int kind = 0; kind < WEFT_OP_R; kind++)
        o->bytes.temp[kind] = o->list[2 + kind].x;
    o->bytes.temp[WEFT_OP_R] = o->bytes.temp[WEFT_OP_F]; /* a forward again */
    if (a->mem_limit && wf_schedule_has_bytes(a)) {
        WF_TRY(wf_schedule_numbers_read("--mem-limit", a->mem_limit, WF_BYTES, NULL,
                                        &o->limit));
        WF_TRY(wf_schedule_spread("--mem-limit", "a rank each", s->p, &o->limit));
        o->bytes.rank_limit = o->limit.x;
    }
    if (wf_schedule_has_bytes(a)) o->o.bytes = &o->bytes;
    return WEFT_OK;
}

static weft_status read_steps(const wf_schedule_args *a, const weft_schedule *s,
                              const wf_schedule_costs *c, weft_sim_options *o)
{
    static const char *const words[] = {"global", "chain", "none"};
    int async = weft_schedule_kind_asynchronous(weft_schedule_kind_find(s->kind));
    o->steps = a->steps;
    o->optimizer = c->optimizer.n ? c->optimizer.x : NULL;
    for (int k = 0; a->optimizer_sync && k < 3; k++)
        if (!strcmp(a->optimizer_sync, words[k])) o->sync = (weft_sync)k;
    if (a->optimizer_sync && async && o->sync != WEFT_SYNC_NONE)
        return WF_FAIL(
            WEFT_E_INVALID,
            "--optimizer-sync %s: a stage of %s changes its weights after each "
            "backward and waits for nobody",
            a->optimizer_sync, s->kind);
    if (a->optimizer_sync && !a->optimizer && a->steps < 2)
        return WF_FAIL(
            WEFT_E_INVALID,
            "--optimizer-sync %s: there is no --optimizer and no second step "
            "that would wait",
            a->optimizer_sync);
    return WEFT_OK;
}

weft_status wf_schedule_sim_read(const wf_schedule_args *a, const weft_schedule *s,
                                 const wf_schedule_costs *c,
                                 wf_schedule_sim_options *out)
{
    *out = (wf_schedule_sim_options){0};
    WF_TRY(read_steps(a, s, c, &out->o));
    return read_bytes(a, s, out);
}

void wf_schedule_sim_clear(wf_schedule_sim_options *o)
{
    for (int k = 0; k < N_LISTS; k++)
        wf_free(o->list[k].x);
    wf_free(o->limit.x);
}

/* ---- memory --------------------------------------------------------------------- */

static const char *size_text(double bytes, char buf[32])
{
    static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    int k = 0;
    while (bytes >= 1024 && k < 4) {
        bytes /= 1024;
        k++;
    }
    snprintf(buf, 32, "%.4g %s", bytes, unit[k]);
    return buf;
}

static const char *op_text(const weft_op *op, int v, char buf[48])
{
    weft_trace_entry e = {.op = *op};
    return weft_trace_entry_name(&e, v > 1, buf);
}

void wf_schedule_put_memory(const wf_schedule_result *r, weft_writer *out)
{
    char size[32], op[48];
    int p = r->s->p, most = 0;
    if (!r->sim.peak) return;
    weft_print(out, "peak memory:");
    for (int k = 0; k < p; k++) {
        if (k < 16 || k == p - 1)
            weft_print(out, "%s %s",
                       k == 16 && p > 17 ? " ..."
                       : k               ? ","
                                         : "",
                       size_text(r->sim.peak[k].bytes, size));
        if (r->sim.peak[k].bytes > r->sim.peak[most].bytes) most = k;
    }
    weft_print(out, "; rank %d at %.10g%s, in %s\n", most, r->sim.peak[most].at,
               r->trace.unit[0] ? " s" : "",
               op_text(&r->sim.peak[most].op, r->s->v, op));
}

void wf_schedule_json_memory(const wf_schedule_result *r, wf_json *j)
{
    char op[48];
    if (!r->sim.peak) return;
    wf_json_key(j, "peak_memory");
    wf_json_array(j);
    for (int k = 0; k < r->s->p; k++) {
        const weft_sim_held *h = &r->sim.peak[k];
        wf_json_object(j);
        wf_json_put_f64(j, "bytes", h->bytes);
        wf_json_put_f64(j, "at", h->at);
        wf_json_put_string(j, "op", op_text(&h->op, 2, op));
        wf_json_end_object(j);
    }
    wf_json_end_array(j);
}

weft_status wf_schedule_memory_fits(const wf_schedule_args *a,
                                    const wf_schedule_result *r)
{
    char size[32], op[48];
    int first = -1;
    if (!r->sim.peak) return WEFT_OK;
    for (int k = 0; k < r->s->p; k++) {
        const weft_sim_held *h = &r->sim.first_over[k];
        if (h->bytes > 0 && (first < 0 || h->at < r->sim.first_over[first].at))
            first = k;
    }
    if (first < 0) return WEFT_OK;
    const weft_sim_held *h = &r->sim.first_over[first];
    return WF_FAIL(WEFT_E_INFEASIBLE,
                   "--mem-limit %s: rank %d holds %s from %.10g%s on, in %s",
                   a->mem_limit, first, size_text(h->bytes, size), h->at,
                   r->trace.unit[0] ? " s" : "", op_text(&h->op, r->s->v, op));
}

/* ---- steps ---------------------------------------------------------------------- */

/* The work of a step on the rank that has most of it. */
static double work_of_step(const weft_sim *sim)
{
    return sim->eval.ideal / sim->steps;
}

void wf_schedule_put_steps(const wf_schedule_result *r, weft_writer *out)
{
    const weft_sim *sim = &r->sim;
    const char *unit = r->trace.unit[0] ? " s" : "";
    if (sim->steps < 2) return;
    weft_print(out, "%d steps back to back: one takes %.10g%s", sim->steps,
               sim->step_time, unit);
    if (sim->period == 1)
        weft_print(out, " from step %d on", sim->steady_from);
    else if (sim->period)
        weft_print(out, " on average, the same %d again and again from step %d on",
                   sim->period, sim->steady_from);
    else
        weft_print(out,
                   " on average in the last half; --steps is too small for a steady "
                   "state");
    weft_print(out, ", bubble %.4g %%\n",
               100 * (1 - work_of_step(sim) / sim->step_time));
}

void wf_schedule_json_steps(const wf_schedule_result *r, wf_json *j)
{
    const weft_sim *sim = &r->sim;
    if (sim->steps < 2) return;
    wf_json_key(j, "steps");
    wf_json_object(j);
    wf_json_put_i64(j, "n", sim->steps);
    wf_json_put_f64(j, "step_time", sim->step_time);
    wf_json_put_i64(j, "period", sim->period);
    wf_json_put_i64(j, "steady_from", sim->steady_from);
    wf_json_key(j, "end");
    wf_json_array(j);
    for (int k = 0; k < sim->steps; k++)
        wf_json_f64(j, sim->step_end[k]);
    wf_json_end_array(j);
    wf_json_end_object(j);
}
