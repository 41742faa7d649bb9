/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "support.h"

static const int chunks_of[] = {1, 3, 2, 2, 4}; /* by placement */

static void describe(const weft_schedule *s, int r, char *text)
{
    static const char *const name[16] = {"F", "B",           "I",     "W",
                                         "R", [8] = "post ", "send ", "wait "};
    for (int64_t i = s->first[r]; i < s->first[r + 1]; i++) {
        const weft_op *o = &s->op[i];
        text += sprintf(text, "%s%s%u.%u ", name[o->kind],
                        o->kind < 8                ? ""
                        : o->flags & WEFT_OPF_GRAD ? "B"
                                                   : "F",
                        o->micro, o->chunk);
    }
}

static void assert_lowered(const weft_schedule *s, int r, const char *expected)
{
    char text[1024];
    describe(s, r, text);
    assert_string_equal(text, expected);
}

static void receives_are_posted_one_op_ahead(void **state)
{
    weft_schedule s = made("1f1b", 3, 2, 1), low;
    assert_ok(weft_schedule_lower(&s, &low));
    assert_true(low.lowered);
    assert_lowered(&low, 0,
                   "F0.0 send F0.0 post B0.0 F1.0 send F1.0 post B1.0 wait B0.0 B0.0 "
                   "wait B1.0 B1.0 ");
    assert_lowered(
        &low, 1,
        "post F0.0 post F1.0 wait F0.0 F0.0 send F0.0 post B0.0 wait F1.0 F1.0 "
        "send F1.0 post B1.0 wait B0.0 B0.0 send B0.0 wait B1.0 B1.0 send B1.0 ");
    assert_lowered(
        &low, 2,
        "post F0.0 wait F0.0 F0.0 post F1.0 B0.0 send B0.0 wait F1.0 F1.0 B1.0 "
        "send B1.0 ");
    weft_schedule again;
    assert_fails(weft_schedule_lower(&low, &again), WEFT_E_INVALID, "lowered already");
    weft_schedule_clear(&low);
    weft_schedule_clear(&s);
}

static void assert_comm_stands_around_ops(const weft_schedule *s,
                                          const weft_schedule *low)
{
    for (int r = 0; r < s->p; r++) {
        int64_t k = s->first[r];
        for (int64_t i = low->first[r]; i < low->first[r + 1]; i++) {
            const weft_op *o = &low->op[i];
            if (o->kind < WEFT_OP_N_COMPUTE) {
                assert_memory_equal(o, &s->op[k], sizeof *o);
                k++;
            } else if (o->kind == WEFT_OP_WAIT) { /* right before its op */
                assert_int_equal(o->chunk, o[1].chunk);
                assert_int_equal(o->micro, o[1].micro);
                assert_true(o[1].kind < WEFT_OP_N_COMPUTE);
            } else if (o->kind == WEFT_OP_SEND) { /* after its op, receives apart */
                const weft_op *made_by = o - 1;
                while (made_by->kind == WEFT_OP_POST_RECV)
                    made_by--;
                assert_int_equal(o->chunk, made_by->chunk);
                assert_int_equal(o->micro, made_by->micro);
            } else { /* no later than before the op before its own */
                int64_t j = k;
                while (s->op[j].chunk != o->chunk || s->op[j].micro != o->micro ||
                       (s->op[j].kind == WEFT_OP_F) == !!(o->flags & WEFT_OPF_GRAD) ||
                       s->op[j].kind == WEFT_OP_W)
                    j++;
                assert_true(j > k || k == s->first[r]);
            }
        }
        assert_int_equal(k, s->first[r + 1]);
    }
}

/* The theorem: any order without a cycle has a lowered form that passes even when ranks
 * stand in every send. */
static void any_order_without_a_cycle_is_lowered_without_a_deadlock(void **state)
{
    uint64_t seed = 11;
    for (int i = 0; i < 1500; i++) {
        weft_placement_kind place = (weft_placement_kind)(i % 5);
        int p = 1 + (int)random_below(&seed, 6), m = 1 + (int)random_below(&seed, 8);
        weft_schedule s = random_order(place, p, m, chunks_of[place], &seed), low;
        weft_schedule_report a, b;
        assert_ok(weft_schedule_check(&s, 0, &a));
        assert_ok(weft_schedule_lower(&s, &low));
        for (int k = 1; k <= 3; k++) {
            assert_ok(weft_schedule_check(&low, k, &b));
            assert_int_equal(a.p2p_messages, b.p2p_messages);
            assert_int_equal(b.n_ops, a.n_ops + 3 * a.p2p_messages);
            assert_memory_equal(a.peak_in_flight, b.peak_in_flight,
                                (size_t)p * sizeof(int64_t));
            weft_schedule_report_clear(&b);
        }
        assert_comm_stands_around_ops(&s, &low);
        weft_schedule_report_clear(&a);
        weft_schedule_clear(&low);
        free(s.first);
        free(s.op);
    }
}

static void every_generated_schedule_is_lowered_without_a_deadlock(void **state)
{
    int cases = 0;
    for (int i = 0; i < weft_schedule_kind_count(); i++) {
        const char *kind = weft_schedule_kind_name(weft_schedule_kind_at(i));
        for (int p = 1; p <= 6; p++) {
            for (int m = 1; m <= 13; m++) {
                for (int v = 0; v <= 4; v++) {
                    for (int group = 0; group <= m; group++) {
                        weft_schedule s, low;
                        weft_schedule_options opt = {.group = group};
                        if (weft_schedule_make(kind, p, m, v, &opt, &s) != WEFT_OK)
                            continue;
                        assert_ok(weft_schedule_lower(&s, &low));
                        assert_ok(weft_schedule_check(&low, 1, NULL));
                        assert_ok(weft_schedule_check(&low, 0, NULL));
                        assert_comm_stands_around_ops(&s, &low);
                        weft_schedule_clear(&low);
                        weft_schedule_clear(&s);
                        cases++;
                    }
                }
            }
        }
    }
    assert_true(cases > 800);
}

static int64_t receives_posted_early(const weft_schedule *s, const weft_schedule *low)
{
    int64_t early = 0;
    for (int r = 0; r < s->p; r++) {
        int64_t k = s->first[r];
        for (int64_t i = low->first[r]; i < low->first[r + 1]; i++) {
            const weft_op *o = &low->op[i];
            k += o->kind < WEFT_OP_N_COMPUTE;
            if (o->kind != WEFT_OP_POST_RECV) continue;
            int64_t j = k;
            while (s->op[j].chunk != o->chunk || s->op[j].micro != o->micro ||
                   (s->op[j].kind == WEFT_OP_F) == !!(o->flags & WEFT_OPF_GRAD))
                j++;
            early += j > k + 1;
        }
    }
    return early;
}

/* Rank 1 of two sends group after group of chunk 0's results before rank 0 comes to them:
 * one op ahead would be too late for a group larger than p. */
static void only_where_needed_is_a_receive_posted_earlier(void **state)
{
    static const struct {
        const char *kind;
        int p, m, v, group, early;
    } row[] = {{"gpipe", 8, 32, 1, 0, 0},
               {"1f1b", 8, 32, 1, 0, 0},
               {"forward", 8, 32, 1, 0, 0},
               {"interleaved", 4, 16, 2, 4, 0},
               {"interleaved", 2, 16, 2, 16, 1}};
    for (int i = 0; i < 5; i++) {
        weft_schedule s =
            made_group(row[i].kind, row[i].p, row[i].m, row[i].v, row[i].group);
        weft_schedule low;
        assert_ok(weft_schedule_lower(&s, &low));
        assert_int_equal(receives_posted_early(&s, &low) > 0, row[i].early);
        weft_schedule_clear(&low);
        weft_schedule_clear(&s);
    }
}

/* The rules once more, by sweeps over plain lists of messages. Returns 1 when every rank
 * comes through and every message is the one its receive was posted for. */
typedef struct message {
    int chunk;
    uint32_t micro;
} message;

static int peer_of(const weft_schedule *s, int r, const weft_op *o, int step,
                   message *there)
{
    int stage = weft_schedule_stage(s, r, o->chunk) + step, rank, chunk;
    weft_schedule_holder(s, stage, o->micro, &rank, &chunk);
    *there = (message){chunk, o->micro};
    return rank;
}

enum { MAX_P = 4, MAX_MESSAGES = 64 };

typedef struct mail {
    int n_sent, n_posted;
    message sent[MAX_MESSAGES], posted[MAX_MESSAGES];
} mail;

static int paired(const mail *b)
{
    return b->n_sent < b->n_posted ? b->n_sent : b->n_posted;
}

static int swept_rendezvous(const weft_schedule *s, int limit)
{
    mail box[MAX_P][MAX_P][2];
    int64_t at[MAX_P];
    int begun[MAX_P] = {0}, through = 0;
    memset(box, 0, sizeof box);
    for (int r = 0; r < s->p; r++)
        at[r] = s->first[r];
    for (int moved = 1; moved;) {
        moved = 0;
        for (int r = 0; r < s->p; r++) {
            if (at[r] == s->first[r + 1]) continue;
            const weft_op *o = &s->op[at[r]];
            int grad = !!(o->flags & WEFT_OPF_GRAD), step = grad ? -1 : 1, pass = 1;
            message there, here = {o->chunk, o->micro};
            if (o->kind == WEFT_OP_SEND) {
                int to = peer_of(s, r, o, step, &there);
                mail *b = box[r][to];
                if (!begun[r]) {
                    b[grad].sent[b[grad].n_sent++] = there;
                    begun[r] = moved = 1;
                }
                pass =
                    b[0].n_sent - paired(&b[0]) + b[1].n_sent - paired(&b[1]) < limit;
                if (pass) begun[r] = 0;
            } else if (o->kind == WEFT_OP_POST_RECV) {
                mail *b = &box[peer_of(s, r, o, -step, &there)][r][grad];
                b->posted[b->n_posted++] = here;
            } else if (o->kind == WEFT_OP_WAIT) {
                mail *b = &box[peer_of(s, r, o, -step, &there)][r][grad];
                pass = 0;
                for (int i = 0; i < paired(b); i++)
                    pass |= !memcmp(&b->posted[i], &here, sizeof here);
            }
            at[r] += pass;
            moved |= pass;
        }
    }
    for (int r = 0; r < s->p; r++) {
        through += at[r] == s->first[r + 1];
        for (int to = 0; to < s->p; to++)
            for (int g = 0; g < 2; g++)
                for (int i = 0; i < paired(&box[r][to][g]); i++)
                    if (memcmp(&box[r][to][g].sent[i], &box[r][to][g].posted[i],
                               sizeof(message)))
                        return 0;
    }
    return through == s->p;
}

/* Moves comm ops about: POST_RECV and SEND, never past the op or WAIT they belong to. */
static void shuffle_comm(weft_schedule *s, uint64_t *seed)
{
    int64_t i = random_below(seed, (uint32_t)s->first[s->p] - 1);
    int r = 0;
    while (s->first[r + 1] <= i)
        r++;
    if (i + 1 == s->first[r + 1]) return;
    weft_op *a = &s->op[i], *b = a + 1, o = *a;
    if (a->kind < WEFT_OP_N_COMPUTE && b->kind < WEFT_OP_N_COMPUTE) return;
    if (a->chunk == b->chunk && a->micro == b->micro) return;
    *a = *b;
    *b = o;
}

static void lowered_mutants_are_refused_exactly_where_a_sweep_stops(void **state)
{
    uint64_t seed = 12;
    int good = 0, stuck = 0, mispaired = 0;
    for (int i = 0; i < 4000; i++) {
        weft_placement_kind place = (weft_placement_kind)(i % 4);
        int p = 2 + (int)random_below(&seed, 3), m = 1 + (int)random_below(&seed, 4);
        weft_schedule s = random_order(place, p, m, chunks_of[place], &seed), low;
        assert_ok(weft_schedule_lower(&s, &low));
        for (int k = (int)random_below(&seed, 60); k > 0; k--)
            shuffle_comm(&low, &seed);
        for (int k = 1; k <= 3; k++) {
            weft_status st = weft_schedule_check(&low, k, NULL);
            const char *words = weft_status_message();
            if (st != WEFT_OK &&
                (strstr(words, "messages:") || strstr(words, "order:")))
                continue; /* broken before anything runs */
            int expected = swept_rendezvous(&low, k);
            if ((st == WEFT_OK) != expected)
                fail_msg("K=%d: the sweep says %d, the check %s", k, expected, words);
            good += expected;
            stuck += st != WEFT_OK && strstr(words, "deadlock:") != NULL;
            mispaired += st != WEFT_OK && strstr(words, "pairing:") != NULL;
        }
        weft_schedule_clear(&low);
        free(s.first);
        free(s.op);
    }
    assert_true(good > 1000 && stuck > 300 && mispaired > 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(receives_are_posted_one_op_ahead),
        cmocka_unit_test(any_order_without_a_cycle_is_lowered_without_a_deadlock),
        cmocka_unit_test(every_generated_schedule_is_lowered_without_a_deadlock),
        cmocka_unit_test(only_where_needed_is_a_receive_posted_earlier),
        cmocka_unit_test(lowered_mutants_are_refused_exactly_where_a_sweep_stops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
