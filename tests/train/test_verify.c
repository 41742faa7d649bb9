/* SPDX-License-Identifier: Apache-2.0 */
/* Split runs equal the unsplit one: loss, every gradient, every weight. `weft verify
 * --all-layouts 8` walks all layouts; this walks the covering sets.
 * --every N: only each N-th layout of them, for slow builds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/lab.h"

enum { WORLD = 8, MICROS = 8, STEPS = 3 };
static int every = 1;

static weft_verify_case *cases_of(const weft_arch *a, int covering, int *n)
{
    weft_verify_case *cases;
    MUST(weft_verify_cases(a, a->positions, WORLD, MICROS, covering, &cases, n));
    return cases;
}

/* The rules that matter to these models, stated again. kind: 1f1b, gpipe, interleaved */
static int legal(const weft_arch *a, int tp, int pp, int kind, int v, int m)
{
    if (tp * pp > WORLD || a->heads % tp || a->layers % (pp * v)) return 0;
    if (kind != 2) return v == 1;
    int group = m % pp == 0 ? pp : m / (m / pp > 1 ? m / pp : 1);
    return v > 1 && m % group == 0;
}

static int count_legal(const weft_arch *a)
{
    int n = 0;
    for (int tp = 1; tp <= WORLD; tp++)
        for (int pp = 1; tp * pp <= WORLD; pp++)
            for (int kind = 0; kind < 3; kind++)
                for (int v = 1; v <= a->layers; v++)
                    for (int m = 1; m <= MICROS; m++)
                        n += legal(a, tp, pp, kind, v, m) ? WORLD / (tp * pp) : 0;
    return n;
}

static void the_walk_holds_every_legal_layout_once(void **state)
{
    int total = 0;
    (void)state;
    for (int k = 0; k < LAB_MODELS; k++) {
        weft_train_config c;
        int n;
        lab_base(&c, lab_models[k]);
        weft_verify_case *cases = cases_of(&c.arch, 0, &n);
        for (int i = 0; i < n; i++) {
            MUST(weft_layout_check(&cases[i].layout, &c.arch));
            assert_int_equal(cases[i].world, weft_layout_world(&cases[i].layout));
            for (int j = 0; j < i; j++)
                assert_memory_not_equal(&cases[i].layout, &cases[j].layout,
                                        sizeof cases[i].layout);
        }
        print_message("%s: %d layouts\n", lab_models[k], n);
        assert_int_equal(n, count_legal(&c.arch));
        total += n;
        weft_verify_cases_free(cases);
    }
    print_message("%d layouts in all\n", total);
    assert_true(total >= 600);
}

enum { VALUES = 6 };

static int value(const weft_layout *l, int which)
{
    switch (which) {
    case 0: return l->tp;
    case 1: return l->pp;
    case 2: return l->dp;
    case 3: return l->vpp;
    case 4: return l->schedule[0]; /* 1, g or i */
    }
    return (int)weft_layout_n_micro(l);
}

static int shares(const weft_layout *a, const weft_layout *b, int i, int j)
{
    return value(a, i) == value(b, i) && value(a, j) == value(b, j);
}

static int is_covered(const weft_layout *l, int i, int j, const weft_verify_case *few,
                      int n)
{
    for (int k = 0; k < n; k++)
        if (shares(l, &few[k].layout, i, j)) return 1;
    return 0;
}

static void the_covering_set_holds_every_pair_of_values_that_occurs(void **state)
{
    (void)state;
    for (int k = 0; k < LAB_MODELS; k++) {
        weft_train_config c;
        int n, n_few;
        lab_base(&c, lab_models[k]);
        weft_verify_case *all = cases_of(&c.arch, 0, &n);
        weft_verify_case *few = cases_of(&c.arch, 1, &n_few);
        for (int a = 0; a < n; a++)
            for (int i = 0; i < VALUES; i++)
                for (int j = i + 1; j < VALUES; j++)
                    if (!is_covered(&all[a].layout, i, j, few, n_few))
                        fail_msg("%s: values %d and %d", lab_text(&all[a].layout), i,
                                 j);
        print_message("%s: %d of %d layouts cover all pairs\n", lab_models[k], n_few,
                      n);
        assert_true(n_few < n / 2);
        weft_verify_cases_free(all);
        weft_verify_cases_free(few);
    }
}

/* A walk over a covering set; the unsplit runs by global batch. */
typedef struct walk {
    lab_verify v;
    weft_data *data;
    weft_reference *ref[256];
    int steps, stride;
    double worst;
    int n;
} walk;

static void walk_open(walk *w, const char *arch, int steps)
{
    *w = (walk){.steps = steps, .stride = every};
    lab_base(&w->v.cfg, arch);
    MUST(weft_data_random(w->v.cfg.arch.vocab, w->v.cfg.arch.positions, 600, 7, 1,
                          &w->data));
    w->v.data = w->data;
}

static void walk_close(walk *w)
{
    for (int i = 0; i < 256; i++)
        weft_reference_destroy(w->ref[i]);
    weft_data_destroy(w->data);
}

/* The report of the layout in w->v.cfg; to be cleared. */
static void walk_case_open(walk *w)
{
    weft_reference **ref = &w->ref[w->v.cfg.layout.global_batch];

    if (!*ref) MUST(weft_reference_create(&w->v.cfg, w->data, w->steps, ref));
    w->v.ref = *ref;
    if (lab_verify_run(&w->v))
        fail_msg("%s: %s", lab_text(&w->v.cfg.layout), weft_status_message());
}

static void walk_case(walk *w, const weft_layout *l)
{
    w->v.cfg.layout = *l;
    walk_case_open(w);
    if (!w->v.report.equal)
        fail_msg("%s: %s differs by %.3g of what is allowed", lab_text(l),
                 w->v.report.worst_at, w->v.report.worst);
    w->worst = fmax(w->worst, w->v.report.worst);
    w->n++;
    weft_verify_report_clear(&w->v.report);
}

static void walk_covering(walk *w)
{
    int n;
    weft_verify_case *cases = cases_of(&w->v.cfg.arch, 1, &n);

    for (int i = 0; i < n; i += w->stride) {
        int far = i; /* slow builds: the next one with a small batch */
        while (every > 1 && far + 1 < n && cases[far].layout.global_batch > 8)
            far++;
        walk_case(w, &cases[far].layout);
    }
    weft_verify_cases_free(cases);
}

/* Slow builds: without finding the covering set of a deep model first. */
static void walk_few(walk *w)
{
    static const char *const few[] = {"tp=2 pp=2 dp=2 m=2",
                                      "tp=2 pp=4 vpp=2 m=4 schedule=interleaved",
                                      "tp=4 pp=2 m=3 schedule=gpipe"};

    for (size_t i = 0; i < sizeof few / sizeof *few; i++) {
        lab_layout(&w->v.cfg, few[i]);
        weft_layout l = w->v.cfg.layout;
        walk_case(w, &l);
    }
}

static void walk_all(walk *w)
{
    if (every > 1 && w->v.cfg.arch.layers > 6)
        walk_few(w);
    else
        walk_covering(w);
    print_message("%d layouts; largest difference %.3g of what is allowed\n", w->n,
                  w->worst);
}

static void check_model(const char *arch)
{
    walk w;
    walk_open(&w, arch, STEPS);
    walk_all(&w);
    walk_close(&w);
}

static void six_layers_and_an_odd_vocabulary_train_alike_however_split(void **state)
{
    (void)state;
    check_model(lab_models[1]);
}

static void twenty_four_layers_train_alike_however_split(void **state)
{
    (void)state;
    check_model(lab_models[0]);
}

static void an_output_layer_of_its_own_changes_nothing(void **state)
{
    walk w;
    (void)state;
    walk_open(&w, "layers=6,hidden=12,heads=6,vocab=53,positions=4,tied=0", STEPS);
    w.stride = 4 * every;
    walk_all(&w);
    walk_close(&w);
}

static void late(weft_comm *comm, void *ctx)
{
    (void)ctx;
    weft_tamper_jitter(comm, 2e-3, 17);
}

static void random_delays_of_up_to_2_ms_change_nothing(void **state)
{
    walk w;
    (void)state;
    walk_open(&w, lab_models[1], 1);
    w.v.before = late;
    w.stride = 2 * every;
    walk_all(&w);
    walk_close(&w);
}

/* Clip at half the norm: a norm that is off, or differs between ranks, shows. */
static void clipping_by_the_global_norm_is_alike(void **state)
{
    walk w;
    (void)state;
    walk_open(&w, lab_models[1], 1);
    lab_layout(&w.v.cfg, "m=8");
    walk_case_open(&w);
    double half = w.v.report.norm_ref / 2;
    weft_verify_report_clear(&w.v.report);
    walk_close(&w);
    walk_open(&w, lab_models[1], 2);
    w.v.cfg.clip_grad = half;
    w.stride = 2 * every;
    walk_all(&w);
    walk_close(&w);
}

/* No value that was summed reached 2^53, and few were clamped. */
static void check_exactness(const walk *w)
{
    double most = 0, top = 0;

    for (int i = 0; i < 256; i++) {
        double saturated, largest;
        if (!w->ref[i]) continue;
        weft_reference_exactness(w->ref[i], &saturated, &largest);
        assert_true(largest > 0 && largest < 9007199254740992.0);
        assert_true(saturated > 0 && saturated < 0.5);
        most = fmax(most, saturated);
        top = fmax(top, largest);
    }
    print_message("sums below %.3g, up to %.1f %% of the values clamped\n", top,
                  100 * most);
}

/* Norms, which are clamps without weights here, have no gradient; of the other tensors
 * (q, k and v apart) nearly all have one, or the bits that agree would be zeros. */
static void check_alive(walk *w)
{
    int norms = 4 * (int)w->v.cfg.arch.layers + 2, live = 0, rows;

    lab_layout(&w->v.cfg, "m=8");
    walk_case_open(w);
    rows = w->v.report.n_rows;
    for (int i = 0; i < rows; i++)
        live += w->v.report.row[i].grad_ref > 0;
    print_message("%d of %d tensors with weights have a gradient\n", live,
                  rows - norms);
    assert_true(live * 10 > (rows - norms) * 9);
    weft_verify_report_clear(&w->v.report);
}

static void in_integers_every_layout_agrees_to_the_bit(void **state)
{
    (void)state;
    for (int k = 0; k < LAB_MODELS; k++) {
        walk w;
        walk_open(&w, lab_models[k], 1);
        w.v.cfg.exact = 4;
        w.v.cfg.lr.lr = 1;
        w.v.tolerance = 1e-300; /* any difference at all */
        walk_all(&w);
        assert_true(w.worst == 0);
        check_exactness(&w);
        check_alive(&w);
        walk_close(&w);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest sets[] = {
        cmocka_unit_test(the_walk_holds_every_legal_layout_once),
        cmocka_unit_test(the_covering_set_holds_every_pair_of_values_that_occurs)};
    const struct CMUnitTest runs[] = {
        cmocka_unit_test(six_layers_and_an_odd_vocabulary_train_alike_however_split),
        cmocka_unit_test(twenty_four_layers_train_alike_however_split),
        cmocka_unit_test(an_output_layer_of_its_own_changes_nothing),
        cmocka_unit_test(random_delays_of_up_to_2_ms_change_nothing),
        cmocka_unit_test(clipping_by_the_global_norm_is_alike),
        cmocka_unit_test(in_integers_every_layout_agrees_to_the_bit)};
    int failed = 0;

    if (argc == 3 && !strcmp(argv[1], "--every"))
        every = atoi(argv[2]);
    else
        failed = cmocka_run_group_tests_name("sets of layouts", sets, NULL, NULL);
    return failed + cmocka_run_group_tests_name("split and unsplit", runs, NULL, NULL);
}
