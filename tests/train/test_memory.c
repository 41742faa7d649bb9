/* SPDX-License-Identifier: Apache-2.0 */
/* Activation memory of a stage follows the schedule's count of micro-batches in flight:
 * high-water marks of the arenas, whose slopes are one micro-batch's bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "train/lab.h"

enum { P = 4, MAX_RANKS = 8, STEPS = 20 };
static const char arch[] = "layers=16,hidden=16,heads=4,ffn=48,vocab=64,positions=8";

/* What a rank used. */
typedef struct mark {
    int64_t peak[WEFT_N_TAGS], before[WEFT_N_TAGS], after[WEFT_N_TAGS];
    int64_t step_2[WEFT_N_TAGS]; /* peaks of the second step */
} mark;

typedef struct job {
    weft_train_config c;
    weft_data *data;
    int steps;
    mark rank[MAX_RANKS];
} job;

static void read_all(const weft_arena *a, int64_t (*what)(const weft_arena *, weft_tag),
                     int64_t out[WEFT_N_TAGS])
{
    for (int t = 0; t < WEFT_N_TAGS; t++)
        out[t] = what(a, (weft_tag)t);
}

static weft_status on_engine(weft_engine *e, weft_comm *comm, void *ctx)
{
    job *j = ctx;
    mark *m = &j->rank[weft_comm_rank(comm)];
    weft_arena *a = weft_engine_arena(e);
    weft_step_result r;

    read_all(a, weft_arena_used, m->before);
    for (int i = 1; i <= j->steps; i++) {
        weft_arena_reset_peak(a);
        WF_TRY(weft_engine_step(e, &r));
        read_all(a, weft_arena_peak, i == 2 ? m->step_2 : m->peak);
    }
    if (j->steps == 2) memcpy(m->peak, m->step_2, sizeof m->peak);
    read_all(a, weft_arena_used, m->after);
    return WEFT_OK;
}

static void open_job(job *j, const char *layout)
{
    *j = (job){.steps = 2};
    lab_base(&j->c, arch);
    MUST(weft_data_random(j->c.arch.vocab, 8, 300, 7, 1, &j->data));
    lab_layout(&j->c, layout);
}

static void run(job *j)
{
    if (lab_engines(&j->c, j->data, NULL, on_engine, j))
        fail_msg("%s: %s", lab_text(&j->c.layout), weft_status_message());
}

static void close_job(job *j)
{
    weft_data_destroy(j->data);
}

/* Peaks of one tag, tp rank 0 of each pipeline rank. */
static void peaks(const char *layout, weft_tag tag, int64_t out[P])
{
    job j;
    open_job(&j, layout);
    run(&j);
    for (int s = 0; s < P; s++)
        out[s] = j.rank[s * j.c.layout.tp].peak[tag];
    close_job(&j);
}

/* Bytes that a stage keeps of one micro-batch from its forward to its backward, from the
 * shapes: f64, T tokens, h hidden; n, f and H are a TP rank's heads' width, MLP width and
 * heads. */
static int64_t kept(int layers, int first, int last, int tp)
{
    int64_t B = 2, S = 8, T = B * S, h = 16, n = h / tp, f = 48 / tp, H = 4 / tp;
    int64_t block = T * h           /* input                     */
                    + 3 * T * h     /* both norms' outputs, the stream between */
                    + 4 * T         /* their means and deviations */
                    + 3 * T * n     /* q, k, v                   */
                    + B * H * S * S /* probabilities             */
                    + T * n         /* heads' output             */
                    + 2 * T * f;    /* MLP before and after GELU */
    int64_t head = 2 * T * h        /* last norm's input, output */
                   + 2 * T;         /* its mean and deviation    */
    int64_t ids = T * 4;            /* tokens or targets         */

    return (layers * block + last * head) * 8 + (first + last) * ids;
}

static int64_t kept_by(int s, int tp)
{
    return kept(4, s == 0, s == P - 1, tp);
}

static const char *with_m(const char *format, int m)
{
    static char text[128];
    snprintf(text, sizeof text, format, m);
    return text;
}

/* The peak at m micro-batches is that at one plus (in flight - 1) micro-batches. */
static void follows(const char *format, int tp, int most,
                    int (*in_flight)(int s, int m))
{
    int64_t one[P], now[P];

    peaks(with_m(format, 1), WEFT_ACT, one);
    for (int m = 2; m <= most; m++) {
        peaks(with_m(format, m), WEFT_ACT, now);
        for (int s = 0; s < P; s++) {
            int64_t want = one[s] + (in_flight(s, m) - 1) * kept_by(s, tp);
            if (now[s] != want)
                fail_msg("m %d, stage %d: %lld bytes, not %lld (one micro-batch %lld)",
                         m, s, (long long)now[s], (long long)want,
                         (long long)kept_by(s, tp));
        }
    }
}

static int all_of_them(int s, int m)
{
    (void)s;
    return m;
}

static int p_minus_s(int s, int m)
{
    return m < P - s ? m : P - s;
}

static void gpipe_holds_m_micro_batches_on_every_stage(void **state)
{
    (void)state;
    follows("pp=4 schedule=gpipe micro_batch=2 m=%d", 1, 8, all_of_them);
}

static void one_f_one_b_holds_p_minus_s_of_them_whatever_m(void **state)
{
    (void)state;
    follows("pp=4 schedule=1f1b micro_batch=2 m=%d", 1, 10, p_minus_s);
}

static void under_tensor_parallelism_a_micro_batch_is_a_shard(void **state)
{
    (void)state;
    follows("tp=2 pp=4 schedule=gpipe micro_batch=2 m=%d", 2, 4, all_of_them);
    follows("tp=2 pp=4 schedule=1f1b micro_batch=2 m=%d", 2, 6, p_minus_s);
}

static void over_the_stages_1f1b_falls_by_one_micro_batch_each(void **state)
{
    int64_t at[P];
    (void)state;
    peaks("pp=4 schedule=1f1b micro_batch=2 m=8", WEFT_ACT, at);
    print_message("peaks of 1f1b: %lld %lld %lld %lld bytes, one micro-batch %lld\n",
                  (long long)at[0], (long long)at[1], (long long)at[2],
                  (long long)at[3], (long long)kept_by(1, 1));
    /* the middle stages hold the same things; the first also tokens */
    assert_true(at[1] - at[2] == kept_by(1, 1));
    peaks("pp=4 schedule=gpipe micro_batch=2 m=8", WEFT_ACT, at);
    assert_true(at[1] == at[2]);
}

/* Chunks of two layers; ranks 1 and 2 hold no end of the model. */
static void interleaving_holds_the_closed_forms_count_of_chunks(void **state)
{
    int64_t chunk = kept(2, 0, 0, 1), first[P], at[P];
    weft_schedule s, base;
    (void)state;
    MUST(weft_schedule_make("interleaved", P, 4, 2, NULL, &base));
    peaks("pp=4 vpp=2 schedule=interleaved micro_batch=2 m=4", WEFT_ACT, first);
    for (int m = 8; m <= 16; m += 4) {
        MUST(weft_schedule_make("interleaved", P, m, 2, NULL, &s));
        peaks(with_m("pp=4 vpp=2 schedule=interleaved micro_batch=2 m=%d", m), WEFT_ACT,
              at);
        for (int r = 1; r <= 2; r++) {
            int64_t more =
                weft_schedule_closed_peak(&s, r) - weft_schedule_closed_peak(&base, r);
            assert_true(at[r] - first[r] == more * chunk);
        }
        assert_int_equal(weft_schedule_closed_peak(&s, 1), 9); /* case 36 */
        assert_int_equal(weft_schedule_closed_peak(&s, 2), 7);
        assert_true(at[1] - at[2] == 2 * chunk);
        weft_schedule_clear(&s);
    }
    weft_schedule_clear(&base);
}

/* [T, V/tp] and the three numbers a token of the loss; V is 64. */
static void logits_are_kept_by_the_last_stage_alone(void **state)
{
    int64_t at[P], each = (16 * 64 + 3 * 16) * 8;
    (void)state;
    peaks("pp=4 schedule=1f1b micro_batch=2 m=6", WEFT_LOGITS, at);
    assert_true(at[0] == 0 && at[1] == 0 && at[2] == 0 && at[3] == each);
    peaks("pp=4 schedule=gpipe micro_batch=2 m=6", WEFT_LOGITS, at);
    assert_true(at[0] == 0 && at[1] == 0 && at[2] == 0 && at[3] == 6 * each);
}

static const char *const layouts[] = {"pp=4 m=6 micro_batch=2",
                                      "pp=2 tp=2 dp=2 m=4",
                                      "pp=4 vpp=2 m=4 schedule=interleaved",
                                      "pp=2 dp=3 m=5 schedule=gpipe",
                                      "pp=4 vpp=2 m=8 schedule=dualpipe",
                                      "pp=2 vpp=4 dp=2 m=4 schedule=bitpipe"};
enum { N_LAYOUTS = sizeof layouts / sizeof *layouts };

/* Case 113: nothing of a step is kept, and step 20 needs what step 2 needed. */
static void a_step_leaves_nothing_and_the_twentieth_needs_no_more(void **state)
{
    (void)state;
    for (int i = 0; i < N_LAYOUTS; i++) {
        job j;
        open_job(&j, layouts[i]);
        j.steps = STEPS;
        run(&j);
        for (int r = 0; r < weft_layout_world(&j.c.layout); r++)
            for (int t = 0; t < WEFT_N_TAGS; t++) {
                const mark *m = &j.rank[r];
                assert_true(m->peak[t] == m->step_2[t]);
                assert_true(m->after[t] == m->before[t]);
            }
        close_job(&j);
    }
}

/* Case 52. */
static void no_class_grows_with_m_under_1f1b(void **state)
{
    job few, many;
    (void)state;
    open_job(&few, "pp=4 m=8 micro_batch=2");
    open_job(&many, "pp=4 m=64 micro_batch=2");
    run(&few);
    run(&many);
    for (int r = 0; r < P; r++)
        for (int t = 0; t < WEFT_N_TAGS; t++)
            assert_true(few.rank[r].peak[t] == many.rank[r].peak[t]);
    close_job(&few);
    close_job(&many);
}

/* Under split backwards a W may come long after its I, but with the order's own bound on
 * how long: nothing of it grows with the number of micro-batches, nor does the buffer that
 * their weight gradients are added up in. */
static void split_weight_gradients_do_not_grow_with_m(void **state)
{
    static const char *const kinds[] = {
        "pp=4 schedule=zb-h1",
        "pp=4 schedule=zb-h2",
        "pp=4 schedule=zb-auto",
        "pp=4 vpp=2 schedule=zb-auto",
        "pp=4 vpp=2 schedule=interleaved-zb",
        "pp=4 vpp=2 schedule=zb-v",
        "pp=4 vpp=2 schedule=v-half",
        "pp=4 vpp=2 schedule=v-min",
        "pp=4 vpp=2 schedule=1f1b-v",
        "pp=4 vpp=2 schedule=dualpipe",
        "pp=4 vpp=2 schedule=dualpipev",
    };
    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        job few, many;
        char layout[96];
        snprintf(layout, sizeof layout, "%s m=16", kinds[k]);
        open_job(&few, layout);
        snprintf(layout, sizeof layout, "%s m=64", kinds[k]);
        open_job(&many, layout);
        run(&few);
        run(&many);
        for (int r = 0; r < P; r++)
            for (int t = 0; t < WEFT_N_TAGS; t++)
                if (few.rank[r].peak[t] != many.rank[r].peak[t])
                    fail_msg("%s, rank %d, %s: %lld bytes with 16, %lld with 64",
                             kinds[k], r, weft_tag_name((weft_tag)t),
                             (long long)few.rank[r].peak[t],
                             (long long)many.rank[r].peak[t]);
        close_job(&few);
        close_job(&many);
    }
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Versions of the weights that a stage of pipedream needs at once: the first p - s
 * micro-batches share one, each later forward sees its own, and one is the newest. No more
 * than p - s of them are ever in flight, which is what the schedule says; short steps need
 * fewer. */
static int versions_of(int s, int m)
{
    int ahead = P - s, later = m > ahead ? m - ahead : 0;
    return least(least(ahead, m), later + 2);
}

/* At the peak so many, and one between steps; gradients and optimizer state once. */
static void pipedream_holds_p_minus_s_versions_of_the_weights(void **state)
{
    (void)state;
    for (int m = 1; m <= 9; m++)
        for (int t = 0; t < WEFT_N_DTYPES; t++) {
            job j;
            weft_schedule s;
            open_job(&j, with_m("pp=4 schedule=pipedream m=%d", m));
            j.c.arch.tied = 0;
            j.c.dtype = (weft_dtype)t;
            MUST(weft_layout_shape(&j.c.layout, &s));
            run(&j);
            for (int r = 0; r < P; r++) {
                const mark *x = &j.rank[r];
                int versions = versions_of(r, m);
                weft_rank_bytes b;
                weft_train_rank_bytes(&j.c, r, &b);
                if (x->peak[WEFT_PARAM] != versions * x->before[WEFT_PARAM])
                    fail_msg("m %d, stage %d: %lld bytes, %lld are one version", m, r,
                             (long long)x->peak[WEFT_PARAM],
                             (long long)x->before[WEFT_PARAM]);
                int said = weft_schedule_weight_copies(&s, r);
                assert_true(versions <= said);
                assert_true(m < 2 * (P - r) - 2 || versions == said);
                assert_true(b.params == said * x->before[WEFT_PARAM]);
                for (int tag = 0; tag < WEFT_N_TAGS; tag++)
                    assert_true(x->after[tag] == x->before[tag]);
                assert_true(x->peak[WEFT_GRAD] == x->before[WEFT_GRAD]);
                assert_true(x->peak[WEFT_OPTIM] == x->before[WEFT_OPTIM]);
            }
            close_job(&j);
        }
}

/* Peaks of ACT while held-out batches are evaluated. */
static weft_status on_evaluation(weft_engine *e, weft_comm *comm, void *ctx)
{
    job *j = ctx;
    weft_arena *a = weft_engine_arena(e);
    double loss;

    weft_arena_reset_peak(a);
    WF_TRY(weft_engine_evaluate(e, 1, &loss));
    read_all(a, weft_arena_peak, j->rank[weft_comm_rank(comm)].peak);
    return WEFT_OK;
}

/* Of a looped order that runs all forwards of a chunk first, an evaluation would hold the
 * outputs of m of them: it runs the kind "forward" instead. */
static void an_evaluation_holds_no_more_with_more_micro_batches(void **state)
{
    static const char *const kinds[] = {
        "pp=4 schedule=gpipe m=%d", "pp=4 vpp=2 schedule=looped-bfs m=%d",
        "pp=4 vpp=2 schedule=interleaved m=%d", "pp=4 vpp=2 schedule=zb-v m=%d",
        "pp=4 vpp=2 schedule=chimera m=%d"};
    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        int64_t act[2][P];
        for (int i = 0; i < 2; i++) {
            job j;
            open_job(&j, with_m(kinds[k], i ? 32 : 16));
            if (lab_engines(&j.c, j.data, NULL, on_evaluation, &j))
                fail_msg("%s: %s", kinds[k], weft_status_message());
            for (int r = 0; r < P; r++)
                act[i][r] = j.rank[r].peak[WEFT_ACT];
            close_job(&j);
        }
        for (int r = 0; r < P; r++)
            if (act[0][r] != act[1][r])
                fail_msg("%s, rank %d: %lld bytes with 16, %lld with 32", kinds[k], r,
                         (long long)act[0][r], (long long)act[1][r]);
    }
}

/* Case 135: bytes per rank equal the plan's number exactly. */
static void a_rank_holds_the_bytes_that_the_dry_run_announces(void **state)
{
    (void)state;
    for (int i = 0; i < N_LAYOUTS; i++)
        for (int t = 0; t < WEFT_N_DTYPES; t++)
            for (int o = 0; o < 2; o++) {
                job j;
                open_job(&j, layouts[i]);
                j.c.dtype = (weft_dtype)t;
                j.c.optimizer = o ? WEFT_SGD : WEFT_ADAMW;
                run(&j);
                for (int r = 0; r < weft_layout_world(&j.c.layout); r++) {
                    weft_rank_bytes b;
                    weft_train_rank_bytes(&j.c, r, &b);
                    assert_true(b.params == j.rank[r].before[WEFT_PARAM]);
                    assert_true(b.grads == j.rank[r].before[WEFT_GRAD]);
                    assert_true(b.optimizer == j.rank[r].before[WEFT_OPTIM]);
                }
                close_job(&j);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpipe_holds_m_micro_batches_on_every_stage),
        cmocka_unit_test(one_f_one_b_holds_p_minus_s_of_them_whatever_m),
        cmocka_unit_test(under_tensor_parallelism_a_micro_batch_is_a_shard),
        cmocka_unit_test(over_the_stages_1f1b_falls_by_one_micro_batch_each),
        cmocka_unit_test(interleaving_holds_the_closed_forms_count_of_chunks),
        cmocka_unit_test(logits_are_kept_by_the_last_stage_alone),
        cmocka_unit_test(a_step_leaves_nothing_and_the_twentieth_needs_no_more),
        cmocka_unit_test(no_class_grows_with_m_under_1f1b),
        cmocka_unit_test(split_weight_gradients_do_not_grow_with_m),
        cmocka_unit_test(pipedream_holds_p_minus_s_versions_of_the_weights),
        cmocka_unit_test(an_evaluation_holds_no_more_with_more_micro_batches),
        cmocka_unit_test(a_rank_holds_the_bytes_that_the_dry_run_announces)};
    return cmocka_run_group_tests_name("memory of a stage", tests, NULL, NULL);
}
