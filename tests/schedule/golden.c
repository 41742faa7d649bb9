/* SPDX-License-Identifier: Apache-2.0 */
/* Orders recorded from public generators: those of our kinds op for op, all of them through
 * check, lowering and eval. */
#include <jansson.h>
#include <stdio.h>

#include "support.h"

/* kind: ours that must give the same ops; NULL: feed the recorded ones. */
static const struct golden {
    const char *file, *kind;
} goldens[] = {
    {"pytorch_gpipe", "gpipe"},
    {"pytorch_1f1b", "1f1b"},
    {"megatron_1f1b", "1f1b"},
    {"deepspeed_1f1b", "1f1b"},
    {"megatron_interleaved_1f1b", "interleaved"},
    {"pytorch_interleaved_1f1b", "interleaved"},
    {"alpa_eager_1f1b", "eager-1f1b"},
    {"bitpipe", "bitpipe"},
    {"chimera", "chimera"},
    {"deepseek_dualpipe", "dualpipe"},
    {"deepseek_dualpipev", "dualpipev"},
    {"own_zb_h2", "zb-h2"},
    {"pytorch_dualpipev", "dualpipev"},
    {"pytorch_interleaved_zero_bubble", "interleaved-zb"},
    {"pytorch_looped_bfs", "looped-bfs"},
    {"pytorch_zbv", "zb-v"},
    {"sail_1f1b_v", NULL},
    {"sail_grouped_interleaved_1f1b", NULL},
    {"sail_v_half", NULL},
    {"sail_v_min", NULL},
    {"sail_zb_auto", NULL},
    {"sail_zb_h1_light", NULL},
    {"sail_zbv", NULL},
    {"sail_zbv_handcrafted", "zb-v"},
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

/* The recorded lists as one text, which also tries the reader on 170,000 foreign ops. */
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

static void run_case(const struct golden *g, const json_t *c,
                     weft_placement_kind placement)
{
    weft_schedule s = recorded(c, placement);
    if (g->kind) {
        weft_schedule own =
            made_group(g->kind, s.p, s.m, s.v, (int)integer(c, "group"));
        assert_int_equal(own.placement, placement);
        assert_same_ops(&own, &s);
        weft_schedule_clear(&own);
    }
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
        print_message("%-32s %3zu cases%s\n", goldens[i].file, n,
                      goldens[i].kind ? ", op for op" : "");
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
