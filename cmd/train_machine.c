/* SPDX-License-Identifier: Apache-2.0 */
/* --machine: what the planner's model says of this run on a machine that was measured or is
 * a preset, before it starts; and what came of it, step time and memory class by class. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "cmd/load.h"
#include "cmd/machine_file.h"
#include "cmd/train_machine.h"

static weft_math math_of(weft_dtype t)
{
    return t == WEFT_F64   ? WEFT_MATH_F64
           : t == WEFT_F32 ? WEFT_MATH_F32
                           : WEFT_MATH_BF16;
}

/* A file of weft machine measure has the ranks that were there then; a preset is as large as
 * its text says. */
static weft_status check_ranks(const wf_train *t, const weft_machine *m)
{
    int world = weft_layout_world(&t->cfg.layout), ranks = weft_machine_ranks(m);
    int per_node = m->ranks_per_node, nodes = (world + per_node - 1) / per_node;

    if (world <= ranks) return WEFT_OK;
    if (!m->n_gemms)
        return WF_FAIL(
            WEFT_E_INVALID,
            "--machine %s has %d rank%s, this run has %d; %d nodes of %d are "
            "needed",
            t->machine, ranks, ranks == 1 ? "" : "s", world, nodes, per_node);
    if (t->world_given)
        return WF_FAIL(
            WEFT_E_INVALID,
            "--machine %s was measured on %d rank%s, this run has %d; weft "
            "machine measure -o FILE under the same launcher measures as many",
            t->machine, ranks, ranks == 1 ? "" : "s", world);
    return WF_FAIL(
        WEFT_E_INVALID,
        "--machine %s was measured on %d rank%s, this run has %d; weft machine "
        "measure --ranks %d -o FILE measures as many",
        t->machine, ranks, ranks == 1 ? "" : "s", world, world);
}

/* The machine is read again from its file by every process: all see the same words. */
weft_status wf_train_plan(wf_train *t)
{
    const weft_layout *l = &t->cfg.layout;
    weft_cost_options o;
    weft_cost_model q;
    weft_machine m;
    wf_train_forecast *f = NULL;

    if (!t->machine) return WEFT_OK;
    WF_TRY(wf_machine_read(t->machine, &m));
    WF_TRY(check_ranks(t, &m));
    weft_cost_of_weft(&o, math_of(t->cfg.dtype));
    WF_TRY(wf_train_scratch(&t->cfg, &o.scratch_bytes));
    o.receive_buffers = t->job.world && weft_comm_posts_memory(t->job.world);
    if (t->cfg.optimizer == WEFT_SGD) o.optimizer_bytes -= 2 * o.grad_bytes;
    WF_TRY(weft_cost_prepare(&t->cfg.arch, &m, &o, &q));
    WF_TRY(WF_ALLOC(1, &f));
    t->forecast = f;
    f->threads = m.n_gemms ? m.units : 0; /* a preset's units are no threads */
    memcpy(f->name, m.name, sizeof f->name);
    WF_TRY(WF_ALLOC(l->pp, &f->memory));
    return weft_predict(&q, l, NULL, f->memory, &f->cost);
}

void wf_train_forecast_clear(wf_train *t)
{
    if (t->forecast) wf_free(t->forecast->memory);
    wf_free(t->forecast);
    t->forecast = NULL;
}

void wf_train_put_forecast(const wf_train *t)
{
    const wf_train_forecast *f = t->forecast;

    if (!f) return;
    const weft_time_parts *p = &f->cost.time;
    printf("on machine %s: a step of %.1f ms (compute %.1f, tp %.1f, pp %.1f, dp %.1f, "
           "bubble %.1f, optimizer %.1f), %.0f tok/s, %.1f MB on the fullest rank\n",
           f->name, 1e3 * f->cost.step_time_s, 1e3 * p->compute, 1e3 * p->tp_comm,
           1e3 * p->pp_comm, 1e3 * p->dp_comm, 1e3 * p->bubble, 1e3 * p->optimizer,
           f->cost.tokens_per_s, f->cost.memory.total / 1e6);
    if (f->threads)
        wf_note_load("train", "the steps beside it take longer than is predicted");
    if (f->threads && f->threads != t->cfg.threads)
        wf_cmd_note("train",
                    "machine %s was measured with %d thread%s a rank, this run has %d",
                    f->name, f->threads, f->threads == 1 ? "" : "s", t->cfg.threads);
}

/* The first step makes primitives and touches memory: it is not counted. */
void wf_train_time_step(wf_train *t, const weft_step_result *s)
{
    wf_train_forecast *f = t->forecast;
    if (f && s->step > 0) f->step_s[f->n_steps++ % WF_KEPT_STEPS] = s->step_time_s;
}

/* ---- afterwards ------------------------------------------------------------------- */

static double by_class(const weft_memory *m, int tag)
{
    const double all[WEFT_N_TAGS] = {m->params, m->grads, m->optimizer,  m->activations,
                                     m->logits, m->comm,  m->temporaries};
    return all[tag];
}

/* High-water marks of every rank, the largest of each pipeline rank: used [pp][tags]. */
static weft_status gather_peaks(const wf_train *t, weft_engine *e, weft_comm *comm,
                                weft_group *world, double *used)
{
    double mine[WEFT_N_TAGS], *all = NULL;
    weft_event ev = {0};
    int n = weft_comm_size(comm);

    for (int i = 0; i < WEFT_N_TAGS; i++)
        mine[i] = (double)weft_arena_peak(weft_engine_arena(e), (weft_tag)i);
    WF_TRY(WF_ALLOC((int64_t)n * WEFT_N_TAGS, &all));
    memcpy(all, mine, sizeof mine);
    weft_status st =
        weft_all_gather(world, WEFT_FOR_CONTROL, mine, sizeof mine, all, &ev);
    if (st == WEFT_OK) st = weft_wait(comm, &ev);
    for (int r = 0; st == WEFT_OK && r < n; r++) {
        int pp = weft_mesh_coord_of(weft_engine_mesh(e), r, WEFT_PP);
        for (int i = 0; i < WEFT_N_TAGS; i++) {
            double *at = &used[pp * WEFT_N_TAGS + i], x = all[r * WEFT_N_TAGS + i];
            if (x > *at) *at = x;
        }
    }
    wf_free(all);
    return st;
}

static void put_text(const wf_train *t, const double *used, double measured_s)
{
    const wf_train_forecast *f = t->forecast;
    double predicted_s = f->cost.step_time_s;

    printf("\nmachine %s: step predicted %.2f ms", f->name, 1e3 * predicted_s);
    if (measured_s > 0)
        printf(", measured %.2f ms, median of %d (%+.1f %%)", 1e3 * measured_s,
               f->n_steps < WF_KEPT_STEPS ? f->n_steps : WF_KEPT_STEPS,
               100 * (predicted_s / measured_s - 1));
    printf("\n%-12s %-12s %14s %14s %8s\n", "pipeline", "memory", "predicted", "used",
           "error");
    for (int p = 0; p < t->cfg.layout.pp; p++)
        for (int i = 0; i < WEFT_N_TAGS; i++) {
            double want = by_class(&f->memory[p], i), have = used[p * WEFT_N_TAGS + i];
            if (want == 0 && have == 0) continue;
            printf("rank %-7d %-12s %14.0f %14.0f", p, weft_tag_name((weft_tag)i), want,
                   have);
            if (have > 0) printf(" %+6.1f %%", 100 * (want / have - 1));
            printf("\n");
        }
    fflush(stdout);
}

static weft_status log_it(wf_train *t, const double *used, double measured_s)
{
    const wf_train_forecast *f = t->forecast;
    wf_json j = wf_json_begin(weft_log_begin(t->log));

    wf_json_object(&j);
    wf_json_put_string(&j, "event", "machine");
    wf_json_put_string(&j, "machine", f->name);
    wf_json_put_f64(&j, "predicted_step_s", f->cost.step_time_s);
    if (measured_s > 0) wf_json_put_f64(&j, "measured_step_s", measured_s);
    wf_json_key(&j, "memory");
    wf_json_array(&j);
    for (int p = 0; p < t->cfg.layout.pp; p++)
        for (int i = 0; i < WEFT_N_TAGS; i++) {
            wf_json_object(&j);
            wf_json_put_i64(&j, "pipeline_rank", p);
            wf_json_put_string(&j, "class", weft_tag_name((weft_tag)i));
            wf_json_put_f64(&j, "predicted_bytes", by_class(&f->memory[p], i));
            wf_json_put_f64(&j, "used_bytes", used[p * WEFT_N_TAGS + i]);
            wf_json_end_object(&j);
        }
    wf_json_end_array(&j);
    wf_json_end_object(&j);
    return weft_log_end(t->log);
}

weft_status wf_train_compare_machine(wf_train *t, weft_engine *e, weft_comm *comm,
                                     weft_group *world)
{
    double *used = NULL, steps[WF_KEPT_STEPS];
    int n;

    if (!t->machine) return WEFT_OK;
    WF_TRY(WF_ALLOC((int64_t)t->cfg.layout.pp * WEFT_N_TAGS, &used));
    weft_status st = gather_peaks(t, e, comm, world, used);
    if (st == WEFT_OK && weft_comm_rank(comm) == 0) {
        n = t->forecast->n_steps < WF_KEPT_STEPS ? t->forecast->n_steps : WF_KEPT_STEPS;
        memcpy(steps, t->forecast->step_s, sizeof steps);
        double measured_s = n > 0 ? weft_median(n, steps) : 0;
        put_text(t, used, measured_s);
        if (t->log) st = log_it(t, used, measured_s);
    }
    wf_free(used);
    return st;
}
