/* SPDX-License-Identifier: Apache-2.0 */
/* What one rank of weft train does. */
#include <math.h>
#include <string.h>
#include <weft/run/measure.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cmd/train_machine.h"

/* Everything of a rank's run. */
typedef struct rank {
    wf_train *t;
    weft_comm *comm;
    weft_group *world;
    weft_engine *e;
    int first;   /* rank 0 */
    int asked;   /* a signal came: no evaluation, no sample from here on */
    double peak; /* FLOP/s of all ranks at once: the most that was seen */
    int n_peaks; /* times it was measured */
    double start_s;
} rank;

static weft_status over_world(rank *r, double *x, int n, weft_reduce op)
{
    weft_event ev = {0};
    WF_TRY(weft_all_reduce(r->world, WEFT_FOR_CONTROL, x, n, WEFT_F64, op, &ev));
    return weft_wait(r->comm, &ev);
}

/* Split and unsplit, a few steps in f64, before the run proper. */
static weft_status check_equal(rank *r)
{
    weft_verify_report report;

    if (!r->t->ref) return WEFT_OK;
    WF_TRY(
        weft_verify_layout(r->comm, &r->t->check, r->t->data, r->t->ref, 0, &report));
    if (r->first) wf_train_verified(r->t, &report);
    int equal = report.equal;
    weft_verify_report_clear(&report);
    if (!equal)
        return WF_FAIL(WEFT_E_NUMERIC,
                       "the split run differs from the unsplit one: see above");
    return WEFT_OK;
}

/* ---- the peak that MFU refers to ---------------------------------------------------- */

enum { PEAK_GEMM = 1024, PEAK_ROUNDS = 6, MOST_PEAKS = 4 };
static const double peak_round_s = 0.04, peak_limit_s = 0.25;

static weft_status peak_round(rank *r, weft_arena *arena)
{
    double rate = 0;

    WF_TRY(weft_barrier(r->world));
    WF_TRY(weft_gemm_rate(weft_engine_kctx(r->e), arena, r->t->cfg.dtype, PEAK_GEMM,
                          peak_round_s, &rate));
    WF_TRY(over_world(r, &rate, 1, WEFT_SUM));
    if (rate > r->peak) r->peak = rate;
    return WEFT_OK;
}

/* What the machine can do when all ranks compute at once: the best of some short rounds,
 * for what else runs here makes a round too slow, never too fast. */
static weft_status peak_rounds(rank *r, weft_arena *arena)
{
    double from = weft_now_s(), spent = 0;

    for (int i = 0; i < PEAK_ROUNDS && spent < peak_limit_s; i++) {
        WF_TRY(peak_round(r, arena));
        spent = weft_now_s() - from;
        WF_TRY(over_world(r, &spent, 1, WEFT_MAX));
    }
    r->n_peaks++;
    return WEFT_OK;
}

/* In an arena of its own: the rank's memory figures are those of training. */
static weft_status measure_peak(rank *r)
{
    weft_arena *arena;

    WF_TRY(weft_arena_create(0, &arena));
    weft_status st = peak_rounds(r, arena);
    weft_arena_destroy(arena);
    return st;
}

/* A step was faster than the peak, which was measured while something else ran: measure
 * again. A step's own rate is one that the machine has reached, too. */
static weft_status raise_peak(rank *r, double step_flops_per_s)
{
    if (r->n_peaks < MOST_PEAKS) WF_TRY(measure_peak(r));
    if (step_flops_per_s > r->peak) r->peak = step_flops_per_s;
    return WEFT_OK;
}

/* ---- steps -------------------------------------------------------------------------- */

static int due(int64_t interval, int64_t step, int64_t iters)
{
    return interval > 0 && ((step + 1) % interval == 0 || step + 1 == iters);
}

static weft_status report_step(rank *r, const weft_step_result *s, double loss,
                               int64_t memory)
{
    const wf_train *t = r->t;

    if (!r->first) return WEFT_OK;
    if (due(t->log_interval, s->step, t->iters) || s->step == 0)
        wf_train_progress(t, s, r->peak, memory, weft_now_s() - r->start_s);
    if (!isnan(loss)) wf_train_held_out(t, s->step + 1, loss);
    fflush(stdout);
    return t->log ? wf_train_log_step(r->t, s, loss, r->peak, memory) : WEFT_OK;
}

/* All ranks learn that a signal came to one: they leave together. */
static weft_status hear_signals(rank *r)
{
    double asked = wf_signalled();

    WF_TRY(over_world(r, &asked, 1, WEFT_MAX));
    r->asked = asked > 0;
    return WEFT_OK;
}

static weft_status evaluate(rank *r, const weft_step_result *s, double *loss)
{
    const wf_train *t = r->t;
    int last = s->step + 1 == t->iters;

    if (t->eval_iters == 0 || r->asked) return WEFT_OK;
    if (!last && !due(t->eval_interval, s->step, t->iters)) return WEFT_OK;
    WF_TRY(weft_engine_evaluate(r->e, t->eval_iters, loss));
    return hear_signals(r);
}

static weft_status one_step(rank *r, int *stop)
{
    const wf_train *t = r->t;
    weft_step_result s;
    double loss = NAN;

    WF_TRY(weft_engine_step(r->e, &s));
    if (r->first) wf_train_time_step(r->t, &s);
    double rate = r->first ? wf_train_flops_per_s(t, &s) : 0;
    double worst[] = {(double)weft_arena_peak_total(weft_engine_arena(r->e)),
                      rate > r->peak};
    WF_TRY(over_world(r, worst, 2, WEFT_MAX));
    if (worst[1] > 0) WF_TRY(raise_peak(r, rate));
    WF_TRY(hear_signals(r));
    WF_TRY(evaluate(r, &s, &loss));
    *stop = r->asked || s.step + 1 == t->iters;
    if (*stop && r->asked && r->first) {
        wf_signal_answered();
        fprintf(stderr, "weft train: stopped by a signal after step %lld of %lld%s%s\n",
                (long long)s.step + 1, (long long)t->iters,
                isnan(loss) && t->eval_iters ? "; not evaluated" : "",
                t->sample ? "; no sample" : "");
    }
    return report_step(r, &s, loss, (int64_t)worst[0]);
}

static weft_status run_steps(rank *r)
{
    int stop = r->t->iters == 0;

    r->start_s = weft_now_s();
    while (!stop)
        WF_TRY(one_step(r, &stop));
    return WEFT_OK;
}

static weft_status sample(rank *r)
{
    const wf_train *t = r->t;
    int64_t n_prompt = (int64_t)strlen(t->prompt), n = n_prompt + t->sample;
    int32_t *tokens = NULL;

    if (t->sample == 0 || r->asked) return WEFT_OK;
    if (r->first) wf_let_signals_end();
    WF_TRY(WF_ALLOC(n, &tokens));
    for (int64_t i = 0; i < n_prompt; i++)
        tokens[i] = (unsigned char)t->prompt[i];
    weft_status st = weft_engine_generate(r->e, tokens, n_prompt, t->sample,
                                          t->temperature, t->cfg.seed);
    if (st == WEFT_OK && r->first) wf_train_sample(t, tokens, n_prompt, n);
    wf_free(tokens);
    return st;
}

/* By rank 0. Only a signal leaves fewer than two steps. */
static weft_status put_traces(const rank *r, const weft_trace *all)
{
    int first, enough = wf_train_recorded(all, &first) >= 2;

    if (!enough)
        wf_cmd_note("train",
                    "one step was recorded, there is none to predict it from%s",
                    r->t->trace_dir ? ": measured.json alone" : "");
    else if (r->t->compare)
        WF_TRY(wf_train_compare(r->e, all));
    return r->t->trace_dir ? wf_train_write_traces(r->t, r->e, all) : WEFT_OK;
}

static weft_status show_traces(rank *r)
{
    weft_trace all;
    weft_status st = WEFT_OK;

    if (!r->t->cfg.trace) return WEFT_OK;
    WF_TRY(weft_engine_gather_trace(r->e, &all));
    if (r->first) st = put_traces(r, &all);
    weft_trace_clear(&all);
    return st;
}

static weft_status run(rank *r)
{
    WF_TRY(weft_group_world(r->comm, &r->world));
    WF_TRY(check_equal(r));
    WF_TRY(weft_engine_create(r->comm, &r->t->cfg, r->t->data, &r->e));
    WF_TRY(measure_peak(r));
    if (r->first) {
        wf_train_banner(r->t, r->comm, r->e, r->peak);
        wf_train_put_forecast(r->t);
        if (r->t->log) WF_TRY(wf_train_log_start(r->t, r->comm, r->e, r->peak));
    }
    WF_TRY(run_steps(r));
    WF_TRY(show_traces(r));
    if (r->t->compare) WF_TRY(wf_train_compare_machine(r->t, r->e, r->comm, r->world));
    WF_TRY(sample(r));
    if (r->asked && (r->first || r->t->world_given)) r->t->stopped = 1;
    return WEFT_OK;
}

weft_status wf_train_rank(weft_comm *comm, void *train)
{
    rank r = {.t = train, .comm = comm, .first = weft_comm_rank(comm) == 0};
    weft_status st = run(&r);

    /* the others hear of it before this rank's memory goes */
    if (st != WEFT_OK) weft_comm_abort(comm, st, weft_status_message(), 0);
    weft_engine_destroy(r.e);
    weft_group_destroy(r.world);
    return st;
}
