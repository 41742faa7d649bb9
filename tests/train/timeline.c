/* SPDX-License-Identifier: Apache-2.0 */
#include "train/timeline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static weft_status on_engine(weft_engine *e, weft_comm *comm, void *ctx)
{
    timeline *t = ctx;
    weft_step_result r;
    weft_trace all;

    for (int i = 0; i < t->steps; i++)
        WF_TRY(weft_engine_step(e, &r));
    WF_TRY(weft_engine_gather_trace(e, &all));
    if (weft_comm_rank(comm) == 0)
        t->trace = all;
    else
        weft_trace_clear(&all);
    return WEFT_OK;
}

void timeline_record(timeline *t)
{
    const weft_layout *l = &t->c.layout;
    weft_schedule_options o = weft_layout_schedule_options(l);
    weft_data *data;

    t->c.trace = 1;
    t->c.trace_from = 1;
    MUST(weft_schedule_make(l->schedule, l->pp, (int)weft_layout_n_micro(l), l->vpp, &o,
                            &t->schedule));
    MUST(weft_data_random(t->c.arch.vocab, l->seq, 64, 0, 1, &data));
    if (lab_engines(&t->c, data, NULL, on_engine, t))
        fail_msg("%s: %s", lab_text(l), weft_status_message());
    weft_data_destroy(data);
}

void timeline_clear(timeline *t)
{
    weft_schedule_clear(&t->schedule);
    weft_trace_clear(&t->trace);
}

weft_pipeline_slice timeline_slice(const timeline *t, int first, int last)
{
    static const int ranks[] = {0, 1, 2, 3, 4, 5, 6, 7};
    return (weft_pipeline_slice){.trace = &t->trace,
                                 .schedule = &t->schedule,
                                 .ranks = ranks,
                                 .first_step = first,
                                 .last_step = last};
}

double timeline_simulated(const weft_schedule *s, const double *dur, weft_trace *trace)
{
    weft_costs costs = {.dur = dur};
    weft_eval e;

    MUST(weft_simulate(s, &costs, trace, &e));
    double makespan = e.makespan;
    weft_eval_clear(&e);
    return makespan;
}

double timeline_ops_error(const timeline *t, const weft_trace *simulated)
{
    weft_pipeline_slice s = timeline_slice(t, 1, t->steps - 1);
    weft_compare c;
    weft_trace step;

    MUST(weft_pipeline_step(&s, 2, &step));
    MUST(weft_trace_check(&step));
    MUST(weft_simulate_check(&t->schedule, &step, 0, 0));
    MUST(weft_trace_compare(simulated, &step, &c));
    assert_true(c.n_matched == t->schedule.first[t->schedule.p]);
    assert_true(c.n_missing == 0);
    double error = c.mean_abs_error;
    weft_compare_clear(&c);
    weft_trace_clear(&step);
    return error;
}
