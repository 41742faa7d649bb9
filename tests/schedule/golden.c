/* SPDX-License-Identifier: Apache-2.0 */
/* Orders recorded from public generators: those of our kinds op for op, all of them
 * through check, lowering and eval. */
#include <jansson.h>
#include <stdio.h>

#include "support.h"

typedef enum relation {
    SAME_OPS,   /* ours, op for op                                        */
    SAME_KINDS, /* ours in the order of kinds, a B standing for I W       */
    NO_WORSE    /* ours by makespan and peak, in the times it was made for */
} relation;

static const struct golden {
    const char *file, *kind;
    relation relation;
} goldens[] = {
    {"pytorch_gpipe", "gpipe", SAME_OPS},
    {"pytorch_1f1b", "1f1b", SAME_OPS},
    {"megatron_1f1b", "1f1b", SAME_OPS},
    {"deepspeed_1f1b", "1f1b", SAME_OPS},
    {"megatron_interleaved_1f1b", "interleaved", SAME_OPS},
    {"pytorch_interleaved_1f1b", "interleaved", SAME_OPS},
    {"alpa_eager_1f1b", "eager-1f1b", SAME_OPS},
    {"bitpipe", "bitpipe", SAME_OPS},
    {"chimera", "chimera", SAME_OPS},
    {"deepseek_dualpipe", "dualpipe", SAME_OPS},
    {"deepseek_dualpipev", "dualpipev", SAME_OPS},
    {"own_zb_h2", "zb-h2", SAME_OPS},
    {"pytorch_dualpipev", "dualpipev", SAME_OPS},
    {"pytorch_interleaved_zero_bubble", "interleaved-zb", SAME_OPS},
    {"pytorch_looped_bfs", "looped-bfs", SAME_OPS},
    {"pytorch_zbv", "zb-v", SAME_OPS},
    {"sail_zbv_handcrafted", "zb-v", SAME_OPS},
    {"sail_zb_h1_light", "zb-h1", SAME_KINDS},
    {"sail_1f1b_v", "1f1b-v", NO_WORSE},
    {"sail_grouped_interleaved_1f1b", "interleaved-zb", NO_WORSE},
    {"sail_v_half", "v-half", NO_WORSE},
    {"sail_v_min", "v-min", NO_WORSE},
    {"sail_zb_auto", "zb-auto", NO_WORSE},
    {"sail_zbv", "zb-auto", NO_WORSE},
};

static const struct cost_set {
    const char *name;
    double f, b, i, w, latency;
} cost_sets[] = {
    {"unit", 1, 2, 1, 1, 0}, {"asym", 5, 10, 6, 4, 0}, {"asym_comm1", 5, 10, 6, 4, 1}};

static int64_t integer(const json_t *c, const char *name)
{
    json_t *x = json_object_get(c, name);
    return json_is_integer(x) ? json_integer_value(x) : 0;
}

/* The recorded lists as one text, which also tries the reader on 170,000 foreign
 * ops. */
static weft_schedule recorded(const json_t *c, weft_placement_kind placement)
{
    weft_text text = {0};
    weft_writer out = weft_text_writer(&text);
    size_t r, i;
    json_t *row, *op;
    json_array_foreach(json_object_get(c, "ops"), r, row)
    {
        json_array_foreach(row, i, op) weft_print(&out, "%s ", json_string_value(op));
        weft_print(&out, "\n");
    }
    assert_ok(weft_writer_status(&out));
    weft_schedule s = parsed(text.s, placement);
    weft_text_clear(&text);
    assert_int_equal(s.p, integer(c, "p"));
    assert_int_equal(s.m, integer(c, "m"));
    assert_int_equal(s.v, integer(c, "v"));
    return s;
}

static void assert_same_ops(const weft_schedule *a, const weft_schedule *b)
{
    assert_int_equal(a->first[a->p], b->first[b->p]);
    for (int r = 0; r <= a->p; r++)
        assert_int_equal(a->first[r], b->first[r]);
    for (int64_t i = 0; i < a->first[a->p]; i++)
        assert_memory_equal(&a->op[i], &b->op[i], sizeof *a->op);
}

static int has_pairs(const weft_schedule *s)
{
    int pairs = 0;
    for (int64_t i = 0; i < s->first[s->p]; i++)
        pairs |= s->op[i].flags & WEFT_OPF_PAIR;
    return pairs;
}

static void compare_time(const weft_schedule *s, const json_t *c,
                         const struct cost_set *k, const double *dur, int serial)
{
    char name[32];
    weft_eval e;
    snprintf(name, sizeof name, "%s%s", k->name,
             serial && has_pairs(s) ? "_serial" : "");
    assert_ok(weft_schedule_eval(
        s,
        &(weft_costs){.dur = dur,
                      .latency = k->latency,
                      .overlap = serial ? WEFT_OVERLAP_SERIAL : WEFT_OVERLAP_ATOMIC},
        NULL, NULL, &e));
    json_t *total = json_object_get(json_object_get(c, "makespan"), name);
    json_t *span = json_object_get(json_object_get(c, "span"), name);
    assert_true(json_is_number(total) && json_is_number(span));
    assert_near(e.makespan, json_number_value(total));
    assert_near(e.span, json_number_value(span));
    if (k == cost_sets) assert_near(e.ideal, (double)integer(c, "busy_unit"));
    assert_int_equal(e.p2p_messages, integer(c, "p2p_messages"));
    weft_eval_clear(&e);
}

static void compare_times(const weft_schedule *s, const json_t *c)
{
    double *dur = malloc((size_t)(s->p * s->v) * WEFT_OP_N_COMPUTE * sizeof *dur);
    for (int i = 0; i < 3; i++) {
        const struct cost_set *k = &cost_sets[i];
        weft_costs_uniform(s, k->f, k->b, k->i, k->w, 1, dur);
        compare_time(s, c, k, dur, 0);
        compare_time(s, c, k, dur, 1);
    }
    free(dur);
}

static void compare_peaks(const weft_schedule *s, const json_t *c)
{
    weft_schedule_report report;
    assert_ok(weft_schedule_check(s, 0, &report));
    json_t *at_i = json_object_get(c, "peak_free_at_I");
    json_t *at_w = json_object_get(c, "peak_free_at_W");
    assert_int_equal(json_array_size(at_i), s->p);
    for (size_t r = 0; r < (size_t)s->p; r++) {
        assert_int_equal(report.peak_in_flight[r],
                         json_integer_value(json_array_get(at_i, r)));
        assert_int_equal(report.peak_in_flight_w[r],
                         json_integer_value(json_array_get(at_w, r)));
    }
    assert_int_equal(report.p2p_messages, integer(c, "p2p_messages"));
    weft_schedule_report_clear(&report);
}

static void lower_and_check(const weft_schedule *s)
{
    weft_schedule low;
    assert_ok(weft_schedule_lower(s, &low));
    assert_ok(weft_schedule_check(&low, 1, NULL));
    weft_schedule_clear(&low);
}

/* The order of kinds, with a B as I W. W's are not numbered alike. */
static void assert_same_kinds(const weft_schedule *own, const weft_schedule *s)
{
    for (int r = 0; r < s->p; r++) {
        const weft_op *o = &own->op[own->first[r]];
        for (int64_t i = s->first[r]; i < s->first[r + 1]; i++) {
            const weft_op *x = &s->op[i];
            int both = x->kind == WEFT_OP_B;
            assert_int_equal(o->kind, both ? WEFT_OP_I : x->kind);
            if (x->kind != WEFT_OP_W) assert_int_equal(o->micro, x->micro);
            if (both) assert_int_equal((++o)->kind, WEFT_OP_W);
            o++;
        }
        assert_ptr_equal(o, &own->op[own->first[r + 1]]);
    }
}

/* Makespan in the times of one op that the case was made for; memory in units of which
 * an activation takes two until I, and one from there to W. */
typedef struct worth {
    double makespan;
    int64_t at_i, at_w, halves;
} worth;

static void count_peak(int64_t *held, int64_t by, int64_t *most)
{
    *held += by;
    if (*held > *most) *most = *held;
}

static worth worth_of(const weft_schedule *s, const struct cost_set *k)
{
    worth w = {0};
    double *dur = malloc((size_t)(s->p * s->v) * WEFT_OP_N_COMPUTE * sizeof *dur);
    weft_costs_uniform(s, k->f, k->b, k->i, k->w, 1, dur);
    weft_eval e;
    assert_ok(weft_schedule_eval(s, &(weft_costs){.dur = dur, .latency = k->latency},
                                 NULL, NULL, &e));
    w.makespan = e.makespan;
    weft_eval_clear(&e);
    free(dur);
    for (int r = 0; r < s->p; r++) {
        int64_t at_i = 0, at_w = 0, halves = 0;
        for (int64_t i = s->first[r]; i < s->first[r + 1]; i++) {
            int kind = s->op[i].kind, f = kind == WEFT_OP_F, b = kind == WEFT_OP_B;
            int split_i = kind == WEFT_OP_I, split_w = kind == WEFT_OP_W;
            count_peak(&at_i, f - b - split_i, &w.at_i);
            count_peak(&at_w, f - b - split_w, &w.at_w);
            count_peak(&halves, 2 * f - 2 * b - split_i - split_w, &w.halves);
        }
    }
    return w;
}

static struct cost_set made_for(const json_t *c)
{
    const json_t *k = json_object_get(c, "cost");
    if (!k) return cost_sets[0];
    struct cost_set own = {.f = (double)integer(k, "F"),
                           .i = (double)integer(k, "I"),
                           .w = (double)integer(k, "W"),
                           .latency = (double)integer(k, "comm")};
    own.b = own.i + own.w;
    return own;
}

static void assert_no_worse(const weft_schedule *own, const weft_schedule *s,
                            const struct cost_set *k, int limited)
{
    worth a = worth_of(own, k), b = worth_of(s, k);
    /* the automatic ones were given a limit in halves, the others hold whole ones */
    int fits =
        a.halves <= b.halves && (limited || (a.at_i <= b.at_i && a.at_w <= b.at_w));
    if (a.makespan <= b.makespan * (1 + 1e-12) && fits) return;
    fail_msg("%s p=%d m=%d v=%d group=%d F=%g I=%g W=%g: %.17g, recorded %.17g; memory "
             "%d/%d/%d, recorded %d/%d/%d",
             own->kind, s->p, s->m, s->v, own->group, k->f, k->i, k->w, a.makespan,
             b.makespan, (int)a.at_i, (int)a.at_w, (int)a.halves, (int)b.at_i,
             (int)b.at_w, (int)b.halves);
}

static weft_schedule own_for(const struct golden *g, const json_t *c,
                             const weft_schedule *s)
{
    struct cost_set k = made_for(c);
    weft_schedule_options opt = {.group = integer(c, "group") +
                                          integer(c, "interleave_group_size")};
    if (!strcmp(g->kind, "zb-auto")) { /* full-stage times */
        opt.mem_limit = (double)integer(c, "mem_limit_f");
        opt.tf = k.f * s->v, opt.ti = k.i * s->v, opt.tw = k.w * s->v;
        opt.latency = k.latency;
        opt.placement = s->placement;
    }
    weft_schedule own;
    if (weft_schedule_make(g->kind, s->p, s->m, s->v, &opt, &own) != WEFT_OK)
        fail_msg("%s p=%d m=%d v=%d: %s", g->kind, s->p, s->m, s->v,
                 weft_status_message());
    assert_int_equal(own.placement, s->placement);
    return own;
}

static void compare_own(const struct golden *g, const json_t *c, const weft_schedule *s)
{
    weft_schedule own = own_for(g, c, s);
    struct cost_set k = made_for(c);
    switch (g->relation) {
    case SAME_OPS: assert_same_ops(&own, s); break;
    case SAME_KINDS: assert_same_kinds(&own, s); break;
    case NO_WORSE: assert_no_worse(&own, s, &k, !strcmp(g->kind, "zb-auto")); break;
    }
    assert_ok(weft_schedule_check(&own, 1, NULL));
    weft_schedule_clear(&own);
}

static void run_case(const struct golden *g, const json_t *c,
                     weft_placement_kind placement)
{
    weft_schedule s = recorded(c, placement);
    compare_own(g, c, &s);
    compare_times(&s, c);
    compare_peaks(&s, c);
    lower_and_check(&s);
    weft_schedule_clear(&s);
}

static json_t *load(const char *file)
{
    char path[512];
    json_error_t error;
    snprintf(path, sizeof path, "%s/golden/%s.json", WEFT_SHARED_DIR, file);
    json_t *doc = json_load_file(path, 0, &error);
    if (!doc) fail_msg("%s: %s", path, error.text);
    return doc;
}

static void recorded_orders_agree(void **state)
{
    FILE *there = fopen(WEFT_SHARED_DIR "/golden/README.md", "r");
    if (!there) SKIP_NEEDS("shared", "the recorded schedules are not here");
    fclose(there);
    size_t cases = 0;
    for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++) {
        json_t *doc = load(goldens[i].file), *list = json_object_get(doc, "cases"), *c;
        weft_placement_kind placement;
        size_t n;
        assert_ok(weft_placement_find(
            json_string_value(json_object_get(doc, "placement")), &placement));
        assert_true(json_array_size(list) > 0);
        json_array_foreach(list, n, c) run_case(&goldens[i], c, placement);
        static const char *const words[] = {"op for op", "in the order of kinds",
                                            "makespan and peak no worse"};
        print_message("%-32s %3zu cases: %s %s\n", goldens[i].file, n, goldens[i].kind,
                      words[goldens[i].relation]);
        cases += n;
        json_decref(doc);
    }
    assert_true(cases > 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(recorded_orders_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
