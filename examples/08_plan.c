/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A 70B model on 64 GPUs. First the lesson's back of an envelope for the layouts that one
 * would write down, with what to watch out for; then the same model by all its layouts of
 * 8 tensor-parallel ranks, the best of each kind first.
 *
 *     cc 08_plan.c $(pkg-config --cflags --libs weft) && ./a.out
 */
#include <stdio.h>
#include <stdlib.h>
#include <weft.h>

static void check(weft_status st)
{
    if (st == WEFT_OK) return;
    fprintf(stderr, "%s\n", weft_status_message());
    exit(1);
}

static void say(void *ctx, const char *rule, const char *text)
{
    printf("    watch out (%s)\n", rule);
}

/* One layout on the back of an envelope. */
static void weigh(const weft_cost_model *q, int tp, int pp, int zero)
{
    weft_layout l;
    weft_envelope e;
    weft_cost c;

    weft_layout_defaults(&l);
    l.tp = tp;
    l.pp = pp;
    l.dp = 64 / tp / pp;
    l.zero = zero;
    l.global_batch = 256;
    l.seq = 4096;
    check(weft_layout_plan_check(&l, &q->arch));
    check(weft_envelope_make(q, &l, &e));
    weft_envelope_cost(q, &l, &e, &c);
    printf("tp %d pp %d dp %d zero %d: %.1f GB, bubble %.1f %%, tp ratio %.2f, step "
           "%.2f s\n",
           tp, pp, l.dp, zero, e.total_bytes / 1e9, 100 * e.bubble, e.ratio_tp,
           e.step_s);
    weft_plan_warnings(q, &l, &c, say, NULL);
}

/* All layouts with tp 8, simulated where they may be the best. */
static void search(const weft_cost_model *q)
{
    weft_plan_options o;
    weft_plan p;

    weft_plan_defaults(&o);
    o.given.tp = 8;
    o.given.cp = 1;
    o.fixed = 1u << WEFT_DIM_TP | 1u << WEFT_DIM_CP;
    o.given.global_batch = 256;
    o.given.seq = 4096;
    check(weft_plan_make(q, &o, &p));
    printf("all with tp 8: %d sets of degrees fit\n", p.n_rows);
    for (int i = 1; i < p.n_rows; i++) {
        double slower = p.row[i].cost.step_time_s / p.row[0].cost.step_time_s;
        if (slower < 0.99)
            printf("  row %d should not be faster by more than the tie\n", i);
    }
    printf("plain data parallelism: %s\n",
           *p.plain_dp.why_not ? "does not fit" : "fits");
    weft_plan_clear(&p);
}

int main(void)
{
    weft_arch a;
    weft_machine m;
    weft_cost_options how;
    weft_cost_model q;

    check(weft_arch_parse("layers=80,hidden=8192,heads=64,positions=4096", &a));
    check(weft_machine_parse("h100:8x8", &m));
    weft_cost_defaults(&how);
    how.params = 70e9;
    how.achieved_flops_per_s = 400e12;
    check(weft_cost_prepare(&a, &m, &how, &q));
    weigh(&q, 8, 8, 0);
    weigh(&q, 8, 4, 1);
    weigh(&q, 8, 1, 3);
    weigh(&q, 16, 4, 0);

    how.params = how.achieved_flops_per_s = 0; /* the whole model of cost now */
    check(weft_cost_prepare(&a, &m, &how, &q));
    search(&q);
    return 0;
}
