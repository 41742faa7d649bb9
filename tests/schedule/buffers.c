/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers for messages, against all runs of a schedule: every set of places that its ranks
 * can be at is visited, whatever their ops take. */
#include <stdio.h>

#include "support.h"

enum { MAX_P = 4, MAX_STATES = 300000 };

/* A SEND or WAIT: the only ops that ranks see of each other. */
typedef struct step {
    int sends, peer;
    int64_t at; /* op of the schedule                    */
    int mate;   /* number of the other one in peer's list */
    int number; /* SEND: which of the rank's              */
} step;

typedef struct runs {
    const weft_schedule *s;
    int n[MAX_P];
    step *list[MAX_P];
    int64_t n_states;
    uint8_t *seen;
    int64_t *todo, n_todo;
} runs;

/* Of the message that the op sends or takes: the stage that takes it. */
static int taker(const weft_schedule *s, int rank, const weft_op *op)
{
    int stage = weft_schedule_stage(s, rank, op->chunk);
    if (op->kind == WEFT_OP_WAIT) return stage;
    return op->flags & WEFT_OPF_GRAD ? stage - 1 : stage + 1;
}

static int giver_rank(const weft_schedule *s, int stage, const weft_op *op)
{
    int rank, chunk;
    weft_schedule_holder(s, op->flags & WEFT_OPF_GRAD ? stage + 1 : stage - 1,
                         op->micro, &rank, &chunk);
    return rank;
}

static int taker_rank(const weft_schedule *s, int stage, const weft_op *op)
{
    int rank, chunk;
    weft_schedule_holder(s, stage, op->micro, &rank, &chunk);
    return rank;
}

static void list_steps(runs *x)
{
    const weft_schedule *s = x->s;

    for (int r = 0; r < s->p; r++) {
        int sent = 0;
        x->n[r] = 0;
        x->list[r] = calloc((size_t)(s->first[r + 1] - s->first[r] + 1), sizeof(step));
        for (int64_t i = s->first[r]; i < s->first[r + 1]; i++) {
            const weft_op *op = &s->op[i];
            if (op->kind != WEFT_OP_SEND && op->kind != WEFT_OP_WAIT) continue;
            int to = taker(s, r, op), sends = op->kind == WEFT_OP_SEND;
            x->list[r][x->n[r]++] =
                (step){.sends = sends,
                       .peer = sends ? taker_rank(s, to, op) : giver_rank(s, to, op),
                       .at = i,
                       .mate = -1,
                       .number = sends ? sent++ : 0};
        }
    }
}

static int is_same(const weft_schedule *s, int r, const weft_op *a, int q,
                   const weft_op *b)
{
    return a->micro == b->micro && a->flags == b->flags &&
           taker(s, r, a) == taker(s, q, b);
}

static void pair_steps(runs *x)
{
    const weft_schedule *s = x->s;

    for (int r = 0; r < s->p; r++)
        for (int i = 0; i < x->n[r]; i++) {
            step *a = &x->list[r][i];
            for (int k = 0; k < x->n[a->peer]; k++) {
                const step *b = &x->list[a->peer][k];
                if (b->sends != a->sends &&
                    is_same(s, r, &s->op[a->at], a->peer, &s->op[b->at]))
                    a->mate = k;
            }
            assert_true(a->mate >= 0);
        }
}

/* 0: too many states. */
static int runs_open(runs *x, const weft_schedule *s)
{
    *x = (runs){.s = s};
    list_steps(x);
    pair_steps(x);
    x->n_states = 1;
    for (int r = 0; r < s->p; r++)
        if (x->n_states <= MAX_STATES) x->n_states *= x->n[r] + 1;
    if (x->n_states > MAX_STATES) return 0;
    x->seen = calloc((size_t)x->n_states, 1);
    x->todo = calloc((size_t)x->n_states, sizeof *x->todo);
    return 1;
}

static void runs_close(runs *x)
{
    for (int r = 0; r < x->s->p; r++)
        free(x->list[r]);
    free(x->seen);
    free(x->todo);
}

static int64_t number_of(const runs *x, const int *at)
{
    int64_t n = 0;
    for (int r = 0; r < x->s->p; r++)
        n = n * (x->n[r] + 1) + at[r];
    return n;
}

static void places_of(const runs *x, int64_t n, int *at)
{
    for (int r = x->s->p - 1; r >= 0; r--) {
        at[r] = (int)(n % (x->n[r] + 1));
        n /= x->n[r] + 1;
    }
}

/* Has the message of rank r's SEND number k been taken? */
static int was_taken(const runs *x, const int *at, int r, int k)
{
    for (int i = 0; i < at[r]; i++) {
        const step *a = &x->list[r][i];
        if (a->sends && a->number == k) return at[a->peer] > a->mate;
    }
    return 0;
}

/* in_turn: buffers of each rank whose SENDs wait for them; NULL: no SEND waits. */
static int can_go(const runs *x, const int *at, int r, const weft_buffers *in_turn)
{
    if (at[r] == x->n[r]) return 0;
    const step *a = &x->list[r][at[r]];
    if (!a->sends) return at[a->peer] > a->mate;
    if (!in_turn || a->number < in_turn[r].sends) return 1;
    return was_taken(x, at, r, a->number - (int)in_turn[r].sends);
}

static void reach(runs *x, const int *at)
{
    int64_t n = number_of(x, at);
    if (!x->seen[n]) x->todo[x->n_todo++] = n;
    x->seen[n] = 1;
}

typedef void state_fn(void *ctx, const runs *x, const int *at);

/* Returns how many states no rank can leave, but the last. */
static int64_t visit_all(runs *x, const weft_buffers *in_turn, state_fn *fn, void *ctx)
{
    int at[MAX_P] = {0};
    int64_t stuck = 0;

    memset(x->seen, 0, (size_t)x->n_states);
    x->n_todo = 0;
    reach(x, at);
    while (x->n_todo) {
        int moves = 0, done = 1;
        places_of(x, x->todo[--x->n_todo], at);
        if (fn) fn(ctx, x, at);
        for (int r = 0; r < x->s->p; r++) {
            done &= at[r] == x->n[r];
            if (!can_go(x, at, r, in_turn)) continue;
            moves = 1;
            at[r]++;
            reach(x, at);
            at[r]--;
        }
        stuck += !moves && !done;
    }
    return stuck;
}

/* ---- a step --------------------------------------------------------------------------- */

typedef struct step_claim {
    const weft_buffers *b;
    const int32_t *of_send;
    int64_t most[MAX_P];
} step_claim;

static void count_state(void *ctx, const runs *x, const int *at)
{
    step_claim *c = ctx;

    for (int r = 0; r < x->s->p; r++) {
        uint64_t taken = 0;
        int64_t n = 0;
        for (int i = 0; i < at[r]; i++) {
            const step *a = &x->list[r][i];
            if (!a->sends || at[a->peer] > a->mate) continue;
            int32_t k = c->of_send[a->at];
            assert_true(k >= 0 && k < c->b[r].sends && k < 64);
            assert_false(taken >> k & 1); /* no two of them in one buffer */
            taken |= (uint64_t)1 << k;
            n++;
        }
        if (n > c->most[r]) c->most[r] = n;
    }
}

/* 0: too large. */
static int check_step(const weft_schedule *s)
{
    weft_buffers b[MAX_P];
    weft_schedule low;
    runs x;

    assert_ok(weft_schedule_lower(s, &low));
    int32_t *of_send = calloc((size_t)low.first[s->p], sizeof *of_send);
    assert_ok(weft_schedule_buffers(&low, NULL, b, of_send));
    int small = runs_open(&x, &low);
    if (small) {
        step_claim c = {.b = b, .of_send = of_send};
        assert_int_equal(visit_all(&x, NULL, count_state, &c), 0);
        for (int r = 0; r < s->p; r++)
            if (c.most[r] != b[r].sends)
                fail_msg(
                    "%s p %d m %d v %d, rank %d: %lld buffers, %lld are used at once",
                    s->kind, s->p, s->m, s->v, r, (long long)b[r].sends,
                    (long long)c.most[r]);
    }
    runs_close(&x);
    free(of_send);
    weft_schedule_clear(&low);
    return small;
}

/* ---- an evaluation -------------------------------------------------------------------- */

static int64_t at_least_one(const runs *x, int r, int64_t n)
{
    for (int i = 0; i < x->n[r]; i++)
        if (x->list[r][i].sends) return n > 1 ? n : 1;
    return n;
}

/* Every run of it comes to its end; and what was added to the step's number was needed.
 * Returns how many ranks got more. */
static int check_forwards(const weft_schedule *s, int with_step)
{
    weft_buffers b[MAX_P], least[MAX_P] = {{0}};
    weft_schedule low, f, forward;
    int grown = 0;
    runs x;

    assert_ok(weft_schedule_lower(s, &low));
    assert_ok(weft_schedule_forwards(s, &f));
    assert_ok(weft_schedule_lower(&f, &forward));
    if (with_step) assert_ok(weft_schedule_buffers(&low, NULL, least, NULL));
    assert_ok(weft_schedule_buffers(with_step ? &low : NULL, &forward, b, NULL));
    if (runs_open(&x, &forward)) {
        assert_int_equal(visit_all(&x, b, NULL, NULL), 0);
        for (int r = 0; r < s->p; r++) {
            least[r].sends = at_least_one(&x, r, least[r].sends);
            assert_true(b[r].sends >= least[r].sends);
            grown += b[r].sends > least[r].sends;
        }
        if (grown) assert_true(visit_all(&x, least, NULL, NULL) > 0);
    }
    runs_close(&x);
    weft_schedule_clear(&low);
    weft_schedule_clear(&f);
    weft_schedule_clear(&forward);
    return grown;
}

/* ---- all kinds ------------------------------------------------------------------------ */

typedef void small_fn(const weft_schedule *s, int *count);

static void each_small(small_fn *fn, int *count)
{
    for (int k = 0; k < weft_schedule_kind_count(); k++) {
        const weft_schedule_kind *kind = weft_schedule_kind_at(k);
        const char *name = weft_schedule_kind_name(kind);
        if (!weft_schedule_kind_trains(kind) || !strcmp(name, "optimal")) continue;
        for (int p = 2; p <= MAX_P; p++)
            for (int m = 1; m <= 2 * p + 1; m++)
                for (int v = 1; v <= 4; v++) {
                    if (weft_schedule_applicable(name, p, m, v, NULL)) continue;
                    weft_schedule s = made(name, p, m, v);
                    fn(&s, count);
                    weft_schedule_clear(&s);
                }
    }
}

static void one_step(const weft_schedule *s, int *count)
{
    *count += check_step(s);
}

static void one_evaluation(const weft_schedule *s, int *count)
{
    count[0] += check_forwards(s, 1);
    count[1] += check_forwards(s, 0);
}

static void a_step_has_as_many_as_some_run_of_it_uses_at_once(void **state)
{
    int n = 0;
    (void)state;
    each_small(one_step, &n);
    print_message("%d schedules, every state of every run\n", n);
    assert_true(n > 200);
}

static void so_has_any_order(void **state)
{
    uint64_t seed = 1;
    int n = 0;
    (void)state;
    for (int i = 0; i < 200; i++) {
        weft_placement_kind where = (weft_placement_kind)(i % 5);
        static const int chunks[] = {1, 2, 2, 2, 4};
        int p = where == WEFT_PLACE_BIDIRV ? 2 : 2 + i / 5 % 2;
        if (where == WEFT_PLACE_BIDIR) p = 2;
        weft_schedule s = random_order(where, p, 2 + i % 2, chunks[where], &seed);
        n += check_step(&s);
        check_forwards(&s, 1);
        weft_schedule_clear(&s);
    }
    assert_true(n > 150);
}

static void evaluations_wait_for_their_buffers_and_come_to_their_end(void **state)
{
    int grown[2] = {0, 0};
    (void)state;
    each_small(one_evaluation, grown);
    print_message("ranks with more than the step's: %d; than one: %d\n", grown[0],
                  grown[1]);
    assert_true(grown[1] > 0);
}

/* ---- numbers that one can see --------------------------------------------------------- */

static void sends_are(const char *kind, int p, int m, const int *want)
{
    weft_buffers b[8];
    weft_schedule s = made(kind, p, m, 1), low;

    assert_ok(weft_schedule_lower(&s, &low));
    assert_ok(weft_schedule_buffers(&low, NULL, b, NULL));
    for (int r = 0; r < p; r++)
        if (b[r].sends != want[r])
            fail_msg("%s, rank %d: %lld, not %d", kind, r, (long long)b[r].sends,
                     want[r]);
    weft_schedule_clear(&s);
    weft_schedule_clear(&low);
}

/* The first stage of gpipe may be through with its forwards before the second begins. That
 * of 1f1b runs p of them ahead; then each gradient that comes tells of a forward taken. */
static void gpipe_runs_ahead_by_m_and_1f1b_by_p(void **state)
{
    (void)state;
    sends_are("gpipe", 2, 9, (const int[]){9, 9});
    sends_are("1f1b", 2, 9, (const int[]){2, 2});
    sends_are("1f1b", 2, 1, (const int[]){1, 1});
    sends_are("1f1b", 4, 1, (const int[]){1, 1, 1, 1});
}

static void they_do_not_grow_with_m_where_activations_do_not(void **state)
{
    (void)state;
    static const char *const kinds[] = {"1f1b", "zb-h1", "zb-h2", "pipedream"};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        weft_buffers few[4], many[4];
        for (int i = 0; i < 2; i++) {
            weft_schedule s = made(kinds[k], 4, i ? 64 : 16, 1), low;
            assert_ok(weft_schedule_lower(&s, &low));
            assert_ok(weft_schedule_buffers(&low, NULL, i ? many : few, NULL));
            weft_schedule_clear(&s);
            weft_schedule_clear(&low);
        }
        for (int r = 0; r < 4; r++)
            assert_int_equal(few[r].sends, many[r].sends);
    }
}

static void an_order_that_is_not_lowered_is_refused(void **state)
{
    weft_buffers b[2];
    weft_schedule s = made("1f1b", 2, 2, 1);
    (void)state;
    assert_fails(weft_schedule_buffers(&s, NULL, b, NULL), WEFT_E_INVALID, "lowered");
    weft_schedule_clear(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_has_as_many_as_some_run_of_it_uses_at_once),
        cmocka_unit_test(so_has_any_order),
        cmocka_unit_test(evaluations_wait_for_their_buffers_and_come_to_their_end),
        cmocka_unit_test(gpipe_runs_ahead_by_m_and_1f1b_by_p),
        cmocka_unit_test(they_do_not_grow_with_m_where_activations_do_not),
        cmocka_unit_test(an_order_that_is_not_lowered_is_refused)};
    return cmocka_run_group_tests_name("buffers", tests, NULL, NULL);
}
