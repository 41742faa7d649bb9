/* SPDX-License-Identifier: Apache-2.0 */
/* What binds the winner, why it beats another, and why another is not it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "layout/rule.h"
#include "plan/write.h"

static const char *const part_words[WF_N_PARTS] = {"compute",
                                                   "tensor-parallel communication",
                                                   "context-parallel communication",
                                                   "expert-parallel communication",
                                                   "messages between stages",
                                                   "data-parallel communication",
                                                   "bubble",
                                                   "recompute",
                                                   "optimizer"};

/* The part other than compute that takes longest. */
static int longest(const weft_time_parts *t)
{
    int best = 1;
    for (int i = 2; i < WF_N_PARTS; i++)
        if (wf_part(t, i) > wf_part(t, best)) best = i;
    return best;
}

static void put_binds(const weft_cost_model *q, const weft_plan_row *r,
                      weft_writer *out)
{
    const weft_cost *c = &r->cost;
    int i = longest(&c->time);

    wf_put_layout_words(&r->layout, out);
    weft_print(
        out,
        "\n  %.1f %% of the step is compute; of the rest %s takes most, %.1f %%\n"
        "  memory: %.1f of %.1f GB (%.0f %%) on stage %d\n",
        100 * c->time.compute / c->step_time_s, part_words[i],
        100 * wf_part(&c->time, i) / c->step_time_s, c->memory.total / 1e9,
        q->machine.memory_bytes / 1e9, 100 * c->memory.total / q->machine.memory_bytes,
        c->memory.stage);
}

/* Differences of more than 0.1 % of the step, the largest first. */
static void put_differences(const weft_cost *a, const weft_cost *b, weft_writer *out)
{
    int done[WF_N_PARTS] = {0};

    for (int k = 0; k < WF_N_PARTS; k++) {
        int best = -1;
        double most = 1e-3 * a->step_time_s;
        for (int i = 0; i < WF_N_PARTS; i++) {
            double d = fabs(wf_part(&b->time, i) - wf_part(&a->time, i));
            if (!done[i] && d > most) {
                most = d;
                best = i;
            }
        }
        if (best < 0) return;
        done[best] = 1;
        double d = wf_part(&b->time, best) - wf_part(&a->time, best);
        weft_print(out, "    %+8.3f s %s\n", d, part_words[best]);
    }
}

static void put_against(const weft_plan_row *a, const weft_plan_row *b,
                        weft_writer *out)
{
    double slower = b->cost.step_time_s / a->cost.step_time_s - 1;

    if (wf_same_layout(&a->layout, &b->layout)) {
        weft_print(out, "  that is the winner: %.3f s\n", b->cost.step_time_s);
        return;
    }
    if (slower >= 0)
        weft_print(out, "  %.3f s, %.1f %% slower than the winner's %.3f s:\n",
                   b->cost.step_time_s, 100 * slower, a->cost.step_time_s);
    else
        weft_print(out,
                   "  %.3f s, %.1f %% faster than the winner's %.3f s, within the tie, "
                   "but less simple:\n",
                   b->cost.step_time_s, -100 * slower, a->cost.step_time_s);
    put_differences(&a->cost, &b->cost, out);
    weft_print(out, "    %+8.1f GB of memory\n",
               (b->cost.memory.total - a->cost.memory.total) / 1e9);
}

void weft_plan_explain(const weft_cost_model *q, const weft_plan *p, weft_writer *out)
{
    if (!p->n_rows) {
        weft_print(out, "\nno layout fits: %s\n", p->why_none);
        return;
    }
    weft_print(out, "\nThe winner: ");
    put_binds(q, &p->row[0], out);
    if (p->n_rows < 2) return;
    weft_print(out, "The runner-up: ");
    wf_put_layout_words(&p->row[1].layout, out);
    weft_print(out, "\n");
    put_against(&p->row[0], &p->row[1], out);
    if (!*p->zero3.why_not) {
        weft_print(out, "ZeRO-3 alone: ");
        wf_put_layout_words(&p->zero3.layout, out);
        weft_print(out, "\n");
        put_against(&p->row[0], &p->zero3, out);
    }
}

/* ---- why not ------------------------------------------------------------------------ */

weft_status weft_plan_why_not(const weft_cost_model *q, const weft_plan *p,
                              const weft_plan_options *asked, weft_writer *out)
{
    weft_plan_options o = *asked;
    weft_plan other;

    o.top = 1;
    o.front = 0;
    WF_TRY(weft_plan_make(q, &o, &other));
    weft_print(out, "\nThe best of what is asked for");
    if (!other.n_rows) {
        weft_print(out, "\nnone: %s\n", other.why_none);
    } else if (!p->n_rows) {
        weft_print(out, ": ");
        wf_put_layout_words(&other.row[0].layout, out);
        weft_print(out, "\n");
    } else {
        weft_print(out, ": ");
        wf_put_layout_words(&other.row[0].layout, out);
        weft_print(out, "\n");
        put_against(&p->row[0], &other.row[0], out);
    }
    weft_plan_clear(&other);
    return WEFT_OK;
}
