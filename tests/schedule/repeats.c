/* SPDX-License-Identifier: Apache-2.0 */
/* Searched orders of many micro-batches: their steady part is found once and written
 * again, which must not show. */
#include "support.h"

/* ---- against the order of fewer ------------------------------------------------- */

static int same_op(const weft_op *a, const weft_op *b, int later)
{
    return a->kind == b->kind && a->chunk == b->chunk &&
           a->micro + (uint32_t)later == b->micro;
}

/* Is `b` what `a` is, with the ops of `later` micro-batches at one place in between? */
static int is_longer(const weft_schedule *a, const weft_schedule *b, int r, int later)
{
    const weft_op *from = &a->op[a->first[r]], *to = &b->op[b->first[r]];
    int64_t n = a->first[r + 1] - a->first[r], more = b->first[r + 1] - b->first[r] - n;
    int64_t i = 0;
    while (i < n && same_op(&from[i], &to[i], 0))
        i++;
    for (; i < n; i++)
        if (!same_op(&from[i], &to[i + more], later)) return 0;
    return 1;
}

static void one_more_micro_batch_is_one_more_period(void **state)
{
    static const char *const kinds[] = {"v-half", "v-min", "1f1b-v"};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        for (int p = 2; p <= 13; p++) {
            weft_schedule s = made(kinds[k], p, 4 * p, 0);
            for (int m = 4 * p + 1; m <= 8 * p; m++) {
                weft_schedule next = made(kinds[k], p, m, 0);
                assert_ok(weft_schedule_check(&next, 0, NULL));
                for (int r = 0; r < p; r++)
                    if (!is_longer(&s, &next, r, 1))
                        fail_msg("%s p=%d: m=%d is not m=%d and a period on rank %d",
                                 kinds[k], p, m, m - 1, r);
                weft_schedule_clear(&s);
                s = next;
            }
            weft_schedule_clear(&s);
        }
    }
}

/* Chunk forwards of 1, backwards of 2. */
static void one_f_one_b_v_waits_as_its_file_says(void **state)
{
    static const int less[] = {8, 5, 7};
    for (int p = 4; p <= 32; p++) {
        for (int m = p; m <= 4 * p; m += 1 + p / 5) {
            weft_schedule s = made("1f1b-v", p, m, 0);
            weft_eval e = timed(&s, 2, 4); /* two chunks a stage */
            assert_near(e.makespan, 6.0 * m + 5 * p - less[p % 3]);
            weft_eval_clear(&e);
            weft_schedule_clear(&s);
        }
    }
}

/* ---- against an order that is gone through -------------------------------------- */

static weft_schedule in_units_of(double unit, int p, int m, weft_schedule_options o)
{
    weft_schedule s;
    o.tf *= unit;
    o.ti *= unit;
    o.tw *= unit;
    o.latency *= unit;
    assert_ok(weft_schedule_make("zb-auto", p, m, 0, &o, &s));
    return s;
}

/* Times of which sums may be rounded are not taken for equal across a period, so that an
 * order with waits of the same length is gone through to its end; in units of a power of two
 * the roundings are none. */
static void an_order_does_not_depend_on_the_unit_of_its_times(void **state)
{
    uint64_t seed = 5;
    for (int i = 0; i < 400; i++) {
        int p = 2 + (int)random_below(&seed, 8);
        int m = 1 + (int)random_below(&seed, 16 * (uint32_t)p);
        weft_schedule_options o = {.tf = 1 + random_below(&seed, 6),
                                   .ti = 1 + random_below(&seed, 6),
                                   .tw = random_below(&seed, 6),
                                   .latency = random_below(&seed, 3) / 4.0,
                                   .mem_limit = p + random_below(&seed, (uint32_t)p)};
        if (random_below(&seed, 2)) o.placement = WEFT_PLACE_V;
        weft_schedule s = in_units_of(1, p, m, o), fine = in_units_of(0x1p-40, p, m, o);
        assert_ok(weft_schedule_check(&s, 0, NULL));
        if (memcmp(s.op, fine.op, (size_t)s.first[p] * sizeof *s.op))
            fail_msg("p=%d m=%d, case %d: the orders differ", p, m, i);
        weft_schedule_clear(&s);
        weft_schedule_clear(&fine);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_more_micro_batch_is_one_more_period),
        cmocka_unit_test(one_f_one_b_v_waits_as_its_file_says),
        cmocka_unit_test(an_order_does_not_depend_on_the_unit_of_its_times),
    };
    return cmocka_run_group_tests_name("repeats", tests, NULL, NULL);
}
