/* SPDX-License-Identifier: Apache-2.0 */
/* What a rank that fails, stops or disagrees does to the others, over loop. */
#define _POSIX_C_SOURCE 200809L
#include <ctype.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "comm/cases.h"
#include "comm/comm_impl.h"

typedef weft_status rank_fn(weft_comm *c, void *ctx);

/* The last message, every duration ("0.3 s") as "T s": how long it took depends on what else
 * the machine does. */
static const char *timeless(char *out)
{
    const char *in = weft_status_message();
    char *to = out;
    while (*in) {
        size_t n = strspn(in, "0123456789.");
        if (n && !strncmp(in + n, " s", 2) && !isalpha((unsigned char)in[n + 2])) {
            *to++ = 'T';
            in += n;
        } else {
            memcpy(to, in, n ? n : 1);
            to += n ? n : 1;
            in += n ? n : 1;
        }
    }
    *to = '\0';
    return out;
}

static void says(const char *words)
{
    char text[1024];
    if (!strstr(timeless(text), words))
        fail_msg("\"%s\" does not say \"%s\"", weft_status_message(), words);
}

/* Fails with st, in bounded time; returns how long it took. */
static double run_fails(int n, double timeout_s, rank_fn *fn, void *ctx, weft_status st)
{
    weft_comm_options o = {.timeout_s = timeout_s};
    double from = wf_now_s();
    weft_status got = weft_loop_run(n, &o, fn, ctx);
    double took = wf_now_s() - from;
    if (got != st) fail_msg("%s: %s", weft_status_name(got), weft_status_message());
    assert_true(took < 2 * timeout_s + 8);
    return took;
}

/* ---- timeouts ---------------------------------------------------------------------- */

static weft_status rank_2_computes(weft_comm *c, void *ctx)
{
    weft_event ev;
    char buf[8];
    (void)ctx;
    weft_comm_note(c, 3, "F2.0");
    if (weft_comm_rank(c) == 2) wf_sleep_s(0.6);
    if (weft_comm_rank(c) != 1) return WEFT_OK;
    WF_TRY(weft_recv(c, WEFT_FOR_ACT, 2, 17, buf, 8, &ev));
    return weft_wait(c, &ev);
}

static void a_silent_rank_is_named_with_what_it_does(void **state)
{
    (void)state;
    run_fails(4, 0.3, rank_2_computes, NULL, WEFT_E_TIMEOUT);
    says("rank 1, step 3, op F2.0: waited T s for rank 2 (act, tag 17); rank 2 is at "
         "step 3, op F2.0, computing for T s");
}

static weft_status ranks_2_and_3_miss(weft_comm *c, void *ctx)
{
    weft_group *g;
    weft_event ev;
    double v = 1;
    (void)ctx;
    WF_TRY(everyone(c, "tp", &g));
    weft_comm_note(c, 5, "B0.1");
    if (weft_comm_rank(c) >= 2) {
        wf_sleep_s(0.6);
        weft_group_destroy(g);
        return WEFT_OK;
    }
    weft_status st = weft_all_reduce(g, WEFT_FOR_F_MLP, &v, 1, WEFT_F64, WEFT_SUM, &ev);
    if (!st) st = weft_wait(c, &ev);
    weft_group_destroy(g);
    return st;
}

static void members_missing_from_a_collective_are_named(void **state)
{
    (void)state;
    run_fails(4, 0.3, ranks_2_and_3_miss, NULL, WEFT_E_TIMEOUT);
    says(", step 5, op B0.1: waited T s for ranks 2, 3 (f_mlp over tp) of ranks 0, "
         "1, 2, "
         "3; rank 2 is at step 5, op B0.1, computing");
    says("; rank 3 is at step 5");
}

/* 0 waits for 1, 1 for 2, 2 computes; 0 began first. */
static weft_status chain(weft_comm *c, void *ctx)
{
    weft_event ev;
    char buf[8];
    int me = weft_comm_rank(c);
    (void)ctx;
    weft_comm_note(c, me, "F0.0");
    wf_sleep_s(me == 2 ? 1.2 : 0.2 * me);
    if (me == 2) return WEFT_OK;
    WF_TRY(weft_recv(c, WEFT_FOR_ACT_GRAD, me + 1, 4, buf, 8, &ev));
    return weft_wait(c, &ev);
}

static void a_chain_of_waits_is_followed_to_its_end(void **state)
{
    (void)state;
    run_fails(3, 0.5, chain, NULL, WEFT_E_TIMEOUT);
    says("rank 0, step 0, op F0.0: waited T s for rank 1 (act_grad, tag 4); rank 1 is "
         "at "
         "step 1, op F0.0, waiting for rank 2 (act_grad, tag 4) for T s; rank 2 is at "
         "step 2, op F0.0, computing");
}

/* ---- one rank fails ---------------------------------------------------------------- */

enum { BIG = 300000 };

typedef struct outcome {
    weft_status st[8];
    char words[8][256];
} outcome;

static weft_status wait_for_ever(weft_comm *c, weft_group *g, float *buf)
{
    weft_event a, b;
    char byte;
    WF_TRY(weft_all_reduce(g, WEFT_FOR_DP_GRAD, buf, BIG, WEFT_F32, WEFT_SUM, &a));
    WF_TRY(weft_recv(c, WEFT_FOR_ACT, weft_comm_rank(c), 1, &byte, 1, &b));
    return weft_wait(c, &b);
}

/* Every rank frees its buffers after its failure, while others may be in the middle of the
 * all-reduce over them: the address sanitizer sees a missing pin. */
static weft_status rank_2_sees_nan(weft_comm *c, void *ctx)
{
    outcome *o = ctx;
    int me = weft_comm_rank(c);
    float *buf = calloc(BIG, sizeof *buf);
    weft_group *g;
    weft_event ev;

    WF_TRY(everyone(c, "dp", &g));
    weft_status st;
    if (me == 2) {
        st = weft_all_reduce(g, WEFT_FOR_DP_GRAD, buf, BIG, WEFT_F32, WEFT_SUM, &ev);
        if (!st) st = WF_FAIL(WEFT_E_NUMERIC, "loss is nan");
    } else {
        st = wait_for_ever(c, g, buf);
    }
    weft_comm_abort(c, st, weft_status_message(), 0);
    free(buf);
    o->st[me] = st;
    snprintf(o->words[me], sizeof o->words[me], "%s", weft_status_message());
    weft_group_destroy(g);
    return st;
}

static void the_first_failure_reaches_every_rank_and_the_caller(void **state)
{
    (void)state;
    for (int times = 0; times < 20; times++) {
        outcome o;
        memset(&o, 0, sizeof o);
        double took = run_fails(4, 30, rank_2_sees_nan, &o, WEFT_E_NUMERIC);
        says("rank 2: loss is nan");
        assert_true(took < 5);
        for (int r = 0; r < 4; r++) {
            if (r == 2) continue;
            assert_int_equal(o.st[r], WEFT_E_PEER);
            assert_string_equal(o.words[r], "rank 2: loss is nan");
        }
    }
}

/* All have arrived, nobody has worked, one leaves: its buffer must not be read any more. */
static weft_status leave_before_work(weft_comm *c, void *ctx)
{
    float *buf = calloc(BIG, sizeof *buf);
    weft_group *g;
    weft_event ev;
    WF_TRY(everyone(c, "dp", &g));
    weft_status st =
        weft_all_reduce(g, WEFT_FOR_DP_GRAD, buf, BIG, WEFT_F32, WEFT_SUM, &ev);
    wf_sleep_s(weft_comm_rank(c) == 1 ? 0.05 : 0.15);
    if (!st && weft_comm_rank(c) == 1) st = WF_FAIL(WEFT_E_NUMERIC, "no");
    if (!st) st = weft_wait(c, &ev);
    if (ctx) weft_comm_abort(c, st, weft_status_message(), 0);
    weft_group_destroy(g); /* without the call above this takes the operation back */
    free(buf);
    return st;
}

static void the_buffer_of_a_rank_that_left_is_not_touched(void **state)
{
    (void)state;
    for (int aborts = 0; aborts < 2; aborts++) {
        run_fails(3, 5, leave_before_work, aborts ? state : NULL, WEFT_E_NUMERIC);
        says("rank 1: no");
    }
}

/* The block has come, the receiver has not waited yet, the sender leaves with its arena. */
static weft_status leave_after_sending(weft_comm *c, void *ctx)
{
    weft_arena *a;
    weft_event ev;
    void *p;
    (void)ctx;
    WF_TRY(weft_arena_create(0, &a));
    weft_status st;
    if (weft_comm_rank(c) == 0) {
        st = weft_recv_block(c, WEFT_FOR_ACT, 1, 0, a, WEFT_ACT, 1000, &ev);
        wf_sleep_s(0.2);
        if (!st) st = weft_wait(c, &ev);
        if (st != WEFT_E_PEER) st = WF_FAIL(WEFT_E_INVALID, "the block was taken");
    } else {
        wf_sleep_s(0.1);
        st = weft_arena_take(a, WEFT_COMM, 1000, &p);
        if (!st) st = weft_send_block(c, WEFT_FOR_ACT, 0, 0, a, p, 1000, &ev);
        if (!st) st = WF_FAIL(WEFT_E_NUMERIC, "no");
    }
    weft_comm_abort(c, st, weft_status_message(), 0);
    weft_arena_destroy(a);
    return st;
}

static void a_block_of_a_rank_that_left_is_not_taken(void **state)
{
    (void)state;
    run_fails(2, 5, leave_after_sending, NULL, WEFT_E_NUMERIC);
    says("rank 1: no");
}

static weft_status hangs(weft_comm *c, void *ctx)
{
    (void)ctx;
    if (weft_comm_rank(c) == 1) wf_sleep_s(3);
    return weft_comm_rank(c) == 0 ? WF_FAIL(WEFT_E_NUMERIC, "no") : WEFT_OK;
}

static void a_rank_that_computes_on_is_left_behind(void **state)
{
    (void)state;
    double took = run_fails(2, 0.3, hangs, NULL, WEFT_E_NUMERIC);
    says("rank 0: no; rank 1 has not come back from computing");
    assert_true(took < 2);
    wf_sleep_s(3); /* its world is its own until it ends */
}

/* ---- disagreement ------------------------------------------------------------------ */

static weft_status wrong_size(weft_comm *c, void *ctx)
{
    weft_event s, r;
    char buf[16] = {0};
    (void)ctx;
    if (weft_comm_rank(c) == 0) {
        WF_TRY(weft_send(c, WEFT_FOR_ACT, 1, 6, buf, 16, &s));
        return weft_wait(c, &s);
    }
    WF_TRY(weft_recv(c, WEFT_FOR_ACT, 0, 6, buf, 8, &r));
    return weft_wait(c, &r);
}

static weft_status wrong_form(weft_comm *c, void *ctx)
{
    weft_event s, r;
    char buf[8] = {0};
    weft_arena *a;
    (void)ctx;
    if (weft_comm_rank(c) == 0) {
        WF_TRY(weft_send(c, WEFT_FOR_ACT, 1, 6, buf, 8, &s));
        return weft_wait(c, &s);
    }
    WF_TRY(weft_arena_create(0, &a));
    weft_status st = weft_recv_block(c, WEFT_FOR_ACT, 0, 6, a, WEFT_ACT, 8, &r);
    if (!st) st = weft_wait(c, &r);
    weft_arena_destroy(a);
    return st;
}

static weft_status wrong_collective(weft_comm *c, void *ctx)
{
    weft_group *g;
    weft_event ev;
    double v[4] = {0};
    int n = weft_comm_rank(c) ? 3 : 4;
    weft_purpose why = n == 3 ? WEFT_FOR_F_MLP : WEFT_FOR_G_MLP;
    (void)ctx;
    WF_TRY(everyone(c, "tp", &g));
    weft_status st = weft_all_reduce(g, why, v, n, WEFT_F64, WEFT_SUM, &ev);
    if (!st) st = weft_wait(c, &ev);
    weft_comm_abort(c, st, weft_status_message(), 0);
    weft_group_destroy(g);
    return st;
}

static void ranks_that_disagree_are_told_in_numbers(void **state)
{
    (void)state;
    run_fails(2, 5, wrong_size, NULL, WEFT_E_MISMATCH);
    says("rank 1 expects 8 bytes (act, tag 6), rank 0 sent 16");
    run_fails(2, 5, wrong_form, NULL, WEFT_E_MISMATCH);
    says("rank 1 receives a block (act, tag 6), rank 0 sent from its buffer");
    run_fails(2, 5, wrong_collective, NULL, WEFT_E_MISMATCH);
    says("group tp: rank ");
    says("24 bytes");
    says("32 bytes");
}

static weft_status small_arena(weft_comm *c, void *ctx)
{
    weft_arena *a;
    weft_event s, r;
    void *p;
    (void)ctx;
    WF_TRY(weft_arena_create(weft_comm_rank(c) ? 1000 : 100000, &a));
    weft_status st = WEFT_OK;
    if (weft_comm_rank(c) == 0) {
        st = weft_arena_take(a, WEFT_COMM, 5000, &p);
        if (!st) st = weft_send_block(c, WEFT_FOR_ACT, 1, 0, a, p, 5000, &s);
        if (!st) st = weft_recv(c, WEFT_FOR_ACT, 1, 1, &p, 1, &r);
    } else {
        st = weft_recv_block(c, WEFT_FOR_ACT, 0, 0, a, WEFT_ACT, 5000, &r);
    }
    if (!st) st = weft_wait(c, &r);
    weft_comm_abort(c, st, weft_status_message(), 0);
    weft_arena_destroy(a);
    return st;
}

static void a_block_too_large_for_the_receiver_is_out_of_memory(void **state)
{
    (void)state;
    run_fails(2, 5, small_arena, NULL, WEFT_E_NOMEM);
    says("rank 1: out of memory: 5000 bytes asked for activations");
}

/* ---- injected faults --------------------------------------------------------------- */

static weft_status one_step(weft_comm *c, weft_group *g, int step)
{
    weft_event ev;
    double v = 1;
    weft_comm_note(c, step, "F0.0");
    WF_TRY(weft_all_reduce(g, WEFT_FOR_DP_GRAD, &v, 1, WEFT_F64, WEFT_SUM, &ev));
    return weft_wait(c, &ev);
}

static weft_status steps(weft_comm *c, void *ctx)
{
    weft_group *g;
    weft_status st = WEFT_OK;
    (void)ctx;
    WF_TRY(everyone(c, "dp", &g));
    for (int step = 0; step < 5 && !st; step++)
        st = one_step(c, g, step);
    weft_group_destroy(g);
    return st;
}

static void inject(const char *text, weft_status st, const char *words)
{
    setenv("WEFT_FAULT", text, 1);
    run_fails(4, 0.4, steps, NULL, st);
    unsetenv("WEFT_FAULT");
    says(words);
}

static void each_injected_fault_ends_the_run_with_its_words(void **state)
{
    weft_comm_options o = {.timeout_s = 5};
    (void)state;
    inject("rank:2,step:3,kind:alloc", WEFT_E_NOMEM,
           "rank 2, step 3: out of memory (injected by WEFT_FAULT)");
    inject("rank:1,step:0,kind:exit", WEFT_E_PEER,
           "rank 1, step 0: ended (injected by WEFT_FAULT)");
    inject("rank:2,step:3,kind:stop", WEFT_E_TIMEOUT,
           ", step 3, op F0.0: waited T s for rank 2 (dp_grad over dp)");
    says("rank 2 is at step 3, op F0.0, computing for");
    says("rank 2 has not come back");
    inject("rank:2,step:4,kind:cut", WEFT_E_TIMEOUT, "step 4, op F0.0: waited T s");
    setenv("WEFT_FAULT", "rank:7,step:3,kind:stop", 1);
    assert_int_equal(weft_loop_run(4, &o, steps, NULL), WEFT_OK);
    unsetenv("WEFT_FAULT");
}

static void a_fault_that_cannot_be_read_names_what_is_wrong(void **state)
{
    static const char *const bad[][2] = {
        {"rank:2,step:3,kind:stpo", "no kind \"stpo\", nearest is stop"},
        {"rank:x,step:3,kind:stop", "rank \"x\" is not a number from 0"},
        {"rank:-1,step:3,kind:stop", "rank \"-1\" is not a number from 0"},
        {"rank:2,kind:stop", "the step is missing"},
        {"step:2,kind:stop", "the rank is missing"},
        {"rank:2,step:1", "the kind is missing"},
        {"rank:2,step:1,color:red", "no field \"color\""},
        {"stop", "no field \"stop\""},
    };
    (void)state;
    for (int i = 0; i < 8; i++) {
        weft_comm *c;
        setenv("WEFT_FAULT", bad[i][0], 1);
        assert_int_equal(weft_comm_self(NULL, &c), WEFT_E_INVALID);
        unsetenv("WEFT_FAULT");
        says(bad[i][1]);
        says("needed is rank:R,step:S,kind:stop|exit|alloc|cut");
    }
}

/* ---- status files ------------------------------------------------------------------ */

static void in_child(const char *dir)
{
    weft_comm_options o = {.timeout_s = 5, .status_dir = dir};
    weft_comm *c;
    if (weft_comm_self(&o, &c)) _exit(1);
    weft_comm_note(c, 7, "B3.1");
    abort();
}

static void the_status_file_of_a_killed_rank_tells_where_it_was(void **state)
{
    char dir[] = "/tmp/weft_test_XXXXXX", path[64], text[256];
    (void)state;
    assert_non_null(mkdtemp(dir));
    pid_t pid = fork();
    if (pid == 0) in_child(dir);
    waitpid(pid, NULL, 0);
    assert_int_equal(weft_board_read(dir, 0, text, sizeof text), WEFT_OK);
    if (!strstr(text, "is at step 7, op B3.1, computing for") ||
        !strstr(text, "its process is gone"))
        fail_msg("%s", text);
    assert_int_equal(weft_board_read(dir, 1, text, sizeof text), WEFT_E_IO);
    says("no status of rank 1");
    snprintf(path, sizeof path, "%s/rank-0.status", dir);
    unlink(path);
    rmdir(dir);
}

static weft_status look_around(weft_comm *c, void *ctx)
{
    char text[256];
    weft_group *g;
    WF_TRY(everyone(c, "dp", &g));
    weft_comm_note(c, 2, "W1.0");
    WF_TRY(weft_barrier(g));
    for (int r = 0; r < weft_comm_size(c); r++) {
        WF_TRY(weft_board_read(ctx, r, text, sizeof text));
        CLAIM(strstr(text, "is at step 2, op W1.0"), "%s", text);
    }
    WF_TRY(weft_barrier(g));
    weft_group_destroy(g);
    return WEFT_OK;
}

static void status_files_are_there_while_it_runs_and_gone_after(void **state)
{
    char dir[] = "/tmp/weft_test_XXXXXX";
    (void)state;
    assert_non_null(mkdtemp(dir));
    weft_comm_options o = {.timeout_s = 20, .status_dir = dir};
    if (weft_loop_run(3, &o, look_around, dir)) fail_msg("%s", weft_status_message());
    assert_int_equal(rmdir(dir), 0); /* it is empty */
    o.status_dir = "/proc/no/such";
    assert_int_equal(weft_loop_run(3, &o, look_around, dir), WEFT_E_IO);
    says("status directory /proc/no/such");
}

/* ---- the rest ---------------------------------------------------------------------- */

static float noisy(int rank, int64_t i)
{
    return (float)((rank * 7919 + i * 104729) % 9973) * 1e-3f +
           1.0f / (float)(rank + 3);
}

static weft_status sum_noise(weft_comm *c, void *ctx)
{
    enum { N = 70001 };
    float *buf = malloc(N * sizeof *buf);
    int n = weft_comm_size(c);
    weft_group *g;
    weft_event ev;
    (void)ctx;
    WF_TRY(everyone(c, "dp", &g));
    for (int64_t i = 0; i < N; i++)
        buf[i] = noisy(weft_comm_rank(c), i);
    WF_TRY(weft_all_reduce(g, WEFT_FOR_DP_GRAD, buf, N, WEFT_F32, WEFT_SUM, &ev));
    WF_TRY(weft_wait(c, &ev));
    for (int64_t i = 0; i < N; i++) {
        float sum = noisy(0, i);
        for (int r = 1; r < n; r++)
            sum += noisy(r, i);
        CLAIM(!memcmp(&sum, &buf[i], sizeof sum),
              "element %lld: %.9g, in rank order %.9g", (long long)i, (double)buf[i],
              (double)sum);
    }
    free(buf);
    weft_group_destroy(g);
    return WEFT_OK;
}

static void a_sum_has_the_bits_of_rank_order(void **state)
{
    weft_comm_options o = {.timeout_s = 30};
    (void)state;
    for (int n = 2; n <= 8; n++)
        if (weft_loop_run(n, &o, sum_noise, NULL))
            fail_msg("%s", weft_status_message());
}

static weft_status max_with_nan(weft_comm *c, void *ctx)
{
    int n = weft_comm_size(c);
    double d[8];
    float f[8];
    weft_group *g;
    weft_event a, b;
    (void)ctx;
    WF_TRY(everyone(c, "tp", &g));
    for (int i = 0; i < n; i++) { /* element i: only rank i has the NaN */
        d[i] = i == weft_comm_rank(c) ? NAN : 1;
        f[i] = i == weft_comm_rank(c) ? NAN : 1;
    }
    WF_TRY(weft_all_reduce(g, WEFT_FOR_CE_MAX, d, n, WEFT_F64, WEFT_MAX, &a));
    WF_TRY(weft_all_reduce(g, WEFT_FOR_CE_MAX, f, n, WEFT_F32, WEFT_MAX, &b));
    WF_TRY(weft_wait(c, &a));
    WF_TRY(weft_wait(c, &b));
    for (int i = 0; i < n; i++)
        CLAIM(isnan(d[i]) && isnan(f[i]), "the NaN of rank %d is lost", i);
    weft_group_destroy(g);
    return WEFT_OK;
}

static void a_maximum_keeps_the_nan_of_any_rank(void **state)
{
    weft_comm_options o = {.timeout_s = 30};
    (void)state;
    if (weft_loop_run(4, &o, max_with_nan, NULL)) fail_msg("%s", weft_status_message());
}

static void asking_to_stop_shows_in_a_poll(void **state)
{
    int status;
    (void)state;
    pid_t pid = fork(); /* the request is for the whole process and for good */
    if (pid == 0) {
        weft_comm *c;
        if (weft_comm_self(NULL, &c) || weft_comm_poll(c)) _exit(1);
        weft_comm_ask_stop();
        _exit(weft_comm_poll(c) == WEFT_E_CANCELLED ? 0 : 2);
    }
    waitpid(pid, &status, 0);
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_silent_rank_is_named_with_what_it_does),
        cmocka_unit_test(members_missing_from_a_collective_are_named),
        cmocka_unit_test(a_chain_of_waits_is_followed_to_its_end),
        cmocka_unit_test(the_first_failure_reaches_every_rank_and_the_caller),
        cmocka_unit_test(the_buffer_of_a_rank_that_left_is_not_touched),
        cmocka_unit_test(a_block_of_a_rank_that_left_is_not_taken),
        cmocka_unit_test(a_rank_that_computes_on_is_left_behind),
        cmocka_unit_test(ranks_that_disagree_are_told_in_numbers),
        cmocka_unit_test(a_block_too_large_for_the_receiver_is_out_of_memory),
        cmocka_unit_test(each_injected_fault_ends_the_run_with_its_words),
        cmocka_unit_test(a_fault_that_cannot_be_read_names_what_is_wrong),
        cmocka_unit_test(the_status_file_of_a_killed_rank_tells_where_it_was),
        cmocka_unit_test(status_files_are_there_while_it_runs_and_gone_after),
        cmocka_unit_test(a_sum_has_the_bits_of_rank_order),
        cmocka_unit_test(a_maximum_keeps_the_nan_of_any_rank),
        cmocka_unit_test(asking_to_stop_shows_in_a_poll),
    };
    return cmocka_run_group_tests_name("comm faults", tests, NULL, NULL);
}
