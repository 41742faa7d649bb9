/* SPDX-License-Identifier: Apache-2.0 */
/* What the lessons and bug reports warn of, each with its numbers. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "plan/links.h"
#include <weft/plan.h>

typedef struct warner {
    const weft_cost_model *q;
    const weft_layout *l;
    const weft_cost *c;
    weft_warning_fn *each;
    void *ctx;
} warner;

static void warn(const warner *w, const char *rule, const char *fmt, ...)
    WEFT_PRINTF(3, 4);

static void warn(const warner *w, const char *rule, const char *fmt, ...)
{
    char text[320];
    va_list list;
    va_start(list, fmt);
    vsnprintf(text, sizeof text, fmt, list);
    va_end(list);
    w->each(w->ctx, rule, text);
}

/* Achieved FLOP/s of a rank: given, or what the prediction comes to. */
static double rate_of(const warner *w)
{
    double given = w->q->options.achieved_flops_per_s;
    return given > 0 ? given : w->c->tflops_per_rank * 1e12;
}

static double tp_ratio(const warner *w, int tp, double flops_per_s, double bytes_per_s)
{
    return weft_cost_tp_ratio(&w->q->arch, WEFT_FORWARD, tp, 2, flops_per_s,
                              bytes_per_s);
}

static void tp_across_nodes(const warner *w)
{
    const weft_machine *m = &w->q->machine;
    wf_reach reach = wf_axis_reach(w->q, w->l, WEFT_TP);
    int node = weft_machine_tier(m, 1, m->ranks_per_node);

    if (w->l->tp == 1 || reach.tier <= node) return;
    double link = wf_reach_bytes_per_s(w->q, reach), f = rate_of(w);
    warn(w, "tp-across-nodes",
         "--tp %d leaves the node of %d ranks: its all-reduces take %.1f times as long "
         "as "
         "the matmuls on %s (%.2f on %s); keep tp inside a node and first in the order",
         w->l->tp, m->ranks_per_node, tp_ratio(w, w->l->tp, f, link),
         m->tier[reach.tier].name, tp_ratio(w, w->l->tp, f, m->tier[0].bytes_per_s),
         m->tier[0].name);
}

/* At the peak, as the lessons weigh it: the worst case. */
static void tp_of_narrow_model(const warner *w)
{
    const weft_machine *m = &w->q->machine;
    double peak = m->flops_per_s[w->q->options.math], link = m->tier[0].bytes_per_s;
    int less = w->l->tp;

    if (w->l->tp == 1 || tp_ratio(w, w->l->tp, peak, link) <= 1) return;
    while (less > 1 && tp_ratio(w, less, peak, link) > 1)
        less /= 2;
    warn(w, "tp-narrow",
         "--tp %d is too much for a hidden size of %lld: at the peak its all-reduces "
         "take "
         "%.2f times as long as the matmuls even on %s; --tp %d %.2f times",
         w->l->tp, (long long)w->q->arch.hidden, tp_ratio(w, w->l->tp, peak, link),
         m->tier[0].name, less, tp_ratio(w, less, peak, link));
}

static void few_micro_batches(const warner *w)
{
    int64_t m = weft_layout_n_micro(w->l);

    if (w->l->pp == 1 || m >= 4 * (int64_t)w->l->pp) return;
    warn(w, "few-micro-batches",
         "%lld micro-batches for %d stages: %.1f %% of the time is bubble; with at "
         "least 4 "
         "a stage, %d, 1f1b has less than 20 %%",
         (long long)m, w->l->pp, 100 * w->c->bubble_of_total, 4 * w->l->pp);
}

/* How often a step communicates its gradients: ZeRO-2 in a schedule of groups does for each
 * of them (weft_cost_evaluate()). */
static int64_t reductions(const weft_layout *l)
{
    int64_t m = weft_layout_n_micro(l);
    weft_schedule s;

    if (l->zero < 2) return 1;
    if (l->zero == 3 || l->vpp == 1 || weft_layout_shape(l, &s) != WEFT_OK) return m;
    return s.group > 0 ? (m + s.group - 1) / s.group : m;
}

/* Tokens of a rank before it must have communicated, against F/W. */
static void few_tokens(const warner *w)
{
    int64_t m = weft_layout_n_micro(w->l), times = reductions(w->l);
    int each = w->l->zero == 3 || times == m;
    if (m == 1) each = w->l->zero == 3;
    double tokens = (double)w->l->micro_batch * (double)w->l->seq / w->l->cp *
                    ((double)m / (double)times);
    double link = wf_reach_bytes_per_s(w->q, wf_axis_reach(w->q, w->l, WEFT_DP));
    double needed = rate_of(w) / link;

    if (w->l->dp == 1 || tokens >= needed) return;
    warn(w, "few-tokens",
         "%.6g tokens of a rank %s are fewer than F/W = %.6g: the %s of --dp %d with "
         "--zero "
         "%d take longer than what they could hide behind",
         tokens,
         each        ? "a micro-batch"
         : times > 1 ? "a group"
                     : "a step",
         needed, w->l->zero == 3 ? "gathers and reductions" : "reductions", w->l->dp,
         w->l->zero);
}

static void memory(const warner *w)
{
    double used = w->c->memory.total / w->q->machine.memory_bytes;

    if (used > 1)
        warn(w, "memory", "does not fit: stage %d needs %.1f GB of %.1f GB",
             w->c->memory.stage, w->c->memory.total / 1e9,
             w->q->machine.memory_bytes / 1e9);
    else if (used > 0.9)
        warn(w, "memory",
             "%.0f %% of the memory is used on stage %d: keep 10 %% free for what "
             "fragments",
             100 * used, w->c->memory.stage);
}

static void sharded_pipeline(const warner *w)
{
    int64_t m = weft_layout_n_micro(w->l), times = reductions(w->l);

    if (w->l->zero < 2 || w->l->pp == 1 || w->l->dp == 1) return;
    if (w->l->zero == 2 && times == 1 && m > 1) return; /* one group */
    warn(w, "zero-pipeline",
         "--zero %d with --pp %d communicates once for each of the %lld %s; "
         "--zero 1 does once a step",
         w->l->zero, w->l->pp, (long long)times,
         times < m ? "groups of micro-batches" : "micro-batches");
}

static void utilization(const warner *w)
{
    if (w->c->mfu <= 1) return;
    warn(w, "mfu",
         "%.0f %% of the peak is more than there is: a wrong peak or a wrong count",
         100 * w->c->mfu);
}

void weft_plan_warnings(const weft_cost_model *q, const weft_layout *l,
                        const weft_cost *c, weft_warning_fn *each, void *ctx)
{
    warner w = {q, l, c, each, ctx};
    memory(&w);
    tp_across_nodes(&w);
    tp_of_narrow_model(&w);
    few_micro_batches(&w);
    few_tokens(&w);
    sharded_pipeline(&w);
    utilization(&w);
}
