/* SPDX-License-Identifier: Apache-2.0 */
/* Verify must see every single collective that is left out or runs twice: mutants of a
 * TP 2 x PP 2 x DP 2 run, in which each of them acts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "train/lab.h"

enum { STEPS = 3 };
enum { NONE, DROP, DOUBLE }; /* as weft_tamper() */
static const char *const modes[] = {"as it is", "left out", "run twice"};

static const weft_purpose collectives[] = {
    WEFT_FOR_F_ATTN, WEFT_FOR_G_ATTN,  WEFT_FOR_F_MLP,  WEFT_FOR_G_MLP,
    WEFT_FOR_EMBED,  WEFT_FOR_HEAD,    WEFT_FOR_CE_MAX, WEFT_FOR_CE_SUM,
    WEFT_FOR_TIED,   WEFT_FOR_DP_GRAD, WEFT_FOR_NORM,   WEFT_FOR_LOSS};
enum { N_COLLECTIVES = sizeof collectives / sizeof *collectives };

/* Mutants that compute the same as the program, and why. */
static const struct {
    weft_purpose why;
    int mode;
    const char *reason;
} equivalent[] = {
    {WEFT_FOR_CE_MAX, DOUBLE, "the maximum of a maximum is the maximum"},
};
enum { N_EQUIVALENT = sizeof equivalent / sizeof *equivalent };

/* Logits of the first are small, of the second around 1000. */
static const char *const models[] = {
    "layers=4,hidden=12,heads=6,vocab=21,positions=4",
    "layers=4,hidden=12,heads=6,vocab=21,positions=4,init_std=20"};

typedef struct lab {
    lab_verify v;
    weft_data *data;
    weft_reference *ref;
    weft_purpose why;
    int mode, killed, alike;
    double loss; /* of the first step */
} lab;

static void tamper(weft_comm *comm, void *ctx)
{
    const lab *l = ctx;
    weft_tamper(comm, l->why, l->mode);
}

static void open_reference(lab *l)
{
    weft_reference_destroy(l->ref);
    l->ref = NULL;
    MUST(weft_reference_create(&l->v.cfg, l->data, STEPS, &l->ref));
    l->v.ref = l->ref;
}

/* A run that clips at half the norm of its first step, so that the norm acts. */
static void open_lab(lab *l, const char *model)
{
    *l = (lab){.mode = NONE};
    l->v.before = tamper;
    l->v.ctx = l;
    lab_base(&l->v.cfg, model);
    lab_layout(&l->v.cfg, "tp=2 pp=2 dp=2 m=4");
    MUST(weft_data_random(l->v.cfg.arch.vocab, 4, 64, 7, 1, &l->data));
    l->v.data = l->data;
    open_reference(l);
    MUST(lab_verify_run(&l->v));
    assert_true(l->v.report.equal);
    l->v.cfg.clip_grad = l->v.report.norm_ref / 2;
    l->loss = l->v.report.loss_ref;
    weft_verify_report_clear(&l->v.report);
    open_reference(l);
}

static void close_lab(lab *l)
{
    weft_reference_destroy(l->ref);
    weft_data_destroy(l->data);
}

/* 1: the run differs from the unsplit one, or fails. */
static int is_killed(lab *l, weft_purpose why, int mode, char where[128])
{
    l->why = why;
    l->mode = mode;
    if (lab_verify_run(&l->v) != WEFT_OK) {
        snprintf(where, 128, "%s", weft_status_message());
        return 1;
    }
    int equal = l->v.report.equal;
    snprintf(where, 128, "%s, %.1e of what is allowed", l->v.report.worst_at,
             l->v.report.worst);
    weft_verify_report_clear(&l->v.report);
    return !equal;
}

static const char *reason_of(weft_purpose why, int mode)
{
    for (int i = 0; i < N_EQUIVALENT; i++)
        if (equivalent[i].why == why && equivalent[i].mode == mode)
            return equivalent[i].reason;
    return NULL;
}

/* Returns 1 when the mutant fares as it should. */
static int try_mutant(lab *l, weft_purpose why, int mode)
{
    char where[128];
    const char *reason = reason_of(why, mode);
    int killed = is_killed(l, why, mode, where);

    print_message("  %-8s %-9s  %s: %s\n", weft_purpose_name(why), modes[mode],
                  killed   ? "killed"
                  : reason ? "equivalent"
                           : "SURVIVES",
                  killed   ? where
                  : reason ? reason
                           : where);
    l->killed += killed;
    l->alike += !killed && reason;
    return killed == !reason;
}

static void kill_all(const char *model, double least_loss)
{
    lab l;
    char where[128];
    int wrong = 0;

    open_lab(&l, model);
    assert_true(l.loss > least_loss);
    if (is_killed(&l, WEFT_FOR_CONTROL, NONE, where))
        fail_msg("the program itself: %s", where);
    for (int i = 0; i < N_COLLECTIVES; i++)
        for (int mode = DROP; mode <= DOUBLE; mode++)
            wrong += !try_mutant(&l, collectives[i], mode);
    print_message("mutation score: %d of %d killed, %d equivalent\n", l.killed,
                  2 * N_COLLECTIVES - N_EQUIVALENT, l.alike);
    close_lab(&l);
    assert_int_equal(wrong, 0);
}

static void every_collective_left_out_or_run_twice_is_seen(void **state)
{
    (void)state;
    kill_all(models[0], 0);
}

static void also_where_logits_are_around_a_thousand(void **state)
{
    (void)state;
    kill_all(models[1], 500);
}

/* Without clipping the norm is only reported, and that is seen too. */
static void a_norm_that_nothing_uses_is_seen(void **state)
{
    lab l;
    char where[128];
    (void)state;
    open_lab(&l, models[0]);
    l.v.cfg.clip_grad = 0;
    open_reference(&l);
    assert_true(is_killed(&l, WEFT_FOR_NORM, DROP, where));
    assert_true(is_killed(&l, WEFT_FOR_NORM, DOUBLE, where));
    close_lab(&l);
}

/* Each axis alone: a collective must not be saved by another axis. */
static void each_axis_alone_kills_its_own(void **state)
{
    static const struct {
        const char *layout;
        weft_purpose why[8];
        int n;
    } axes[] = {{"tp=2 m=2",
                 {WEFT_FOR_F_ATTN, WEFT_FOR_G_ATTN, WEFT_FOR_F_MLP, WEFT_FOR_G_MLP,
                  WEFT_FOR_EMBED, WEFT_FOR_HEAD, WEFT_FOR_CE_SUM, WEFT_FOR_NORM},
                 8},
                {"pp=2 m=2", {WEFT_FOR_TIED, WEFT_FOR_NORM, WEFT_FOR_LOSS}, 3},
                {"dp=2 m=2", {WEFT_FOR_DP_GRAD, WEFT_FOR_LOSS}, 2}};
    (void)state;
    for (size_t a = 0; a < sizeof axes / sizeof *axes; a++) {
        lab l;
        char where[128];
        open_lab(&l, models[0]);
        lab_layout(&l.v.cfg, axes[a].layout);
        open_reference(&l);
        for (int i = 0; i < axes[a].n; i++)
            for (int mode = DROP; mode <= DOUBLE; mode++)
                if (!is_killed(&l, axes[a].why[i], mode, where))
                    fail_msg("%s: %s %s survives", axes[a].layout,
                             weft_purpose_name(axes[a].why[i]), modes[mode]);
        close_lab(&l);
    }
}

/* A message that is never sent ends in a time-out that says who waits for what. */
static void a_lost_message_between_stages_is_an_error(void **state)
{
    static const weft_purpose lost[] = {WEFT_FOR_ACT, WEFT_FOR_ACT_GRAD};
    lab l;
    char where[128];
    (void)state;
    open_lab(&l, models[0]);
    lab_timeout_s = 0.5;
    for (int i = 0; i < 2; i++) {
        assert_true(is_killed(&l, lost[i], DROP, where));
        if (!strstr(where, weft_purpose_name(lost[i]))) fail_msg("%s", where);
        print_message("  %s\n", where);
    }
    lab_timeout_s = 120;
    close_lab(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_collective_left_out_or_run_twice_is_seen),
        cmocka_unit_test(also_where_logits_are_around_a_thousand),
        cmocka_unit_test(a_norm_that_nothing_uses_is_seen),
        cmocka_unit_test(each_axis_alone_kills_its_own),
        cmocka_unit_test(a_lost_message_between_stages_is_an_error)};
    return cmocka_run_group_tests_name("mutants of collectives", tests, NULL, NULL);
}
