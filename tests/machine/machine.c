/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/machine.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* after the headers that it needs */
#include <cmocka.h>

#include "claim.h"
#include "machine/fields.h"

static weft_machine given(const char *text)
{
    weft_machine m;
    if (weft_machine_parse(text, &m)) fail_msg("%s: %s", text, weft_status_message());
    return m;
}

static unsigned next(unsigned *seed, unsigned n)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % n;
}

/* ---- presets and text ------------------------------------------------------------ */

static void every_preset_is_sound_and_has_at_most_eight_constants(void **state)
{
    int per_device = wf_machine_table()->n - wf_machine_first_constant();
    for (int i = 0; i < weft_machine_preset_count(); i++) {
        const weft_machine *m = weft_machine_preset_at(i);
        if (weft_machine_check(m)) fail_msg("%s: %s", m->name, weft_status_message());
        assert_true(per_device + m->n_tiers <= 8); /* of a tier: its efficiency */
        assert_true(strlen(m->source) > 0 && strlen(m->fitted) > 0);
        assert_true(m->reserve_bytes > 1073741824.0); /* case 28 */
        assert_true(m->flops_per_s[WEFT_MATH_BF16] > 1e14);
        for (int j = 0; j < i; j++)
            assert_string_not_equal(m->name, weft_machine_preset_at(j)->name);
    }
}

static void case_23_peaks_are_dense(void **state)
{
    assert_true(given("h100").flops_per_s[WEFT_MATH_BF16] == 989e12);
    assert_true(given("h200").flops_per_s[WEFT_MATH_BF16] == 989e12);
    assert_true(given("a100-80").flops_per_s[WEFT_MATH_BF16] == 312e12);
}

static void a_shape_says_nodes_and_ranks(void **state)
{
    weft_machine m = given("h100:8x8");
    assert_int_equal(weft_machine_ranks(&m), 64);
    m = given("a100-80:2048x4,network=12.5GB/s,memory=76GiB,op-overhead=4us");
    assert_int_equal(weft_machine_ranks(&m), 8192);
    assert_int_equal(m.tier[0].ranks, 4);
    assert_true(m.tier[1].bytes_per_s == 12.5e9);
    assert_true(m.memory_bytes == 76 * 1073741824.0);
    assert_true(m.op_overhead_s == 4e-6);
    m = given("gb200:18x4"); /* links of a rack reach past the box */
    assert_int_equal(m.tier[0].ranks, 72);
}

static void what_is_wrong_with_a_machine_is_named(void **state)
{
    static const struct {
        const char *text, *words;
    } bad[] = {
        {"h10", "nearest is h100"},
        {"", "machine '' is unknown"},
        {"h100:8", "nodes x ranks of a node are needed"},
        {"h100:0x8", "1 .. 16777216 of each"},
        {"h100:8x", "a value is missing"},
        {"h100:16777216x16777216", "more than 2147483647 ranks"},
        {"h100,memry=80GiB", "did you mean memory?"},
        {"h100,memory=-1", "below 0"},
        {"h100,network=fast", "'fast' is not a number"},
        {"h100,memory", "field=value is needed"},
        {"h100,scaleup-ranks=0", "no multiple of the 1"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        weft_machine m;
        assert_int_equal(weft_machine_parse(bad[i].text, &m), WEFT_E_INVALID);
        if (!strstr(weft_status_message(), bad[i].words))
            fail_msg("%s: '%s' lacks '%s'", bad[i].text, weft_status_message(),
                     bad[i].words);
    }
}

static void devices_of_run_tables_are_found(void **state)
{
    static const struct {
        const char *device;
        double gb;
        const char *name;
    } rows[] = {{"A100 80GB SXM", 80, "a100-80"},
                {"A100 40GB SXM", 40, "a100-40"},
                {"A100 SXM (repo says A100)", 0, "a100-80"},
                {"H100 96GB HBM2e, 500 W (Grand Teton)", 96, "h100-96"},
                {"H100 80GB SXM", 80, "h100"},
                {"GB200 (NVL72)", 186, "gb200"},
                {"V100 32GB SXM3 (DGX-2)", 32, "v100"},
                {"MI250X", 64, "mi250x"}};
    weft_machine m;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        MUST(weft_machine_find(rows[i].device, rows[i].gb * 1e9, &m));
        assert_string_equal(m.name, rows[i].name);
    }
    assert_int_equal(weft_machine_find("TPU v4", 0, &m), WEFT_E_INVALID);
}

/* ---- tiers ----------------------------------------------------------------------- */

/* All groups of ranks: base + i * stride, base running over those whose coordinate on the
 * axis is 0. Does every one lie within a domain? */
static int groups_fit(int world, int stride, int size, int domain)
{
    for (int base = 0; base < world; base++) {
        if (base / stride % size) continue;
        if (base / domain != (base + stride * (size - 1)) / domain) return 0;
    }
    return 1;
}

static weft_machine three_tiers(int domain, int outer)
{
    weft_machine m = given("h100:1024x8");
    m.n_tiers = 3;
    m.tier[2] = m.tier[1];
    m.tier[0].ranks = domain;
    m.tier[1].ranks = outer;
    return m;
}

static void no_group_leaves_a_domain_of_its_tier(void **state)
{
    unsigned seed = 7;
    for (int i = 0; i < 20000; i++) {
        int domain = 1 + (int)next(&seed, 16),
            outer = domain * (1 + (int)next(&seed, 4));
        weft_machine m = three_tiers(domain, outer);
        int stride = 1 + (int)next(&seed, 12), size = 2 + (int)next(&seed, 12);
        int tier = weft_machine_tier(&m, stride, size);
        int world = stride * size * (1 + (int)next(&seed, 6));
        if (tier == 0) assert_true(groups_fit(world, stride, size, domain));
        if (tier == 1) assert_true(groups_fit(world, stride, size, outer));
    }
}

static void of_powers_of_two_the_tier_is_the_innermost_that_holds_all(void **state)
{
    int seen[3] = {0};
    for (int d = 0; d < 5; d++)
        for (int o = d; o < 8; o++)
            for (int s = 0; s < 6; s++)
                for (int n = 1; n < 6; n++) {
                    weft_machine m = three_tiers(1 << d, 1 << o);
                    int stride = 1 << s, size = 1 << n, world = 4 * stride * size;
                    int want = groups_fit(world, stride, size, 1 << d)   ? 0
                               : groups_fit(world, stride, size, 1 << o) ? 1
                                                                         : 2;
                    assert_int_equal(weft_machine_tier(&m, stride, size), want);
                    seen[want]++;
                }
    assert_true(seen[0] > 20 && seen[1] > 20 && seen[2] > 20);
}

/* ---- collectives ----------------------------------------------------------------- */

static void one_rank_sends_nothing(void **state)
{
    weft_machine m = given("h100:8x8");
    for (int c = 0; c < WEFT_N_COLLS; c++)
        assert_true(weft_machine_collective_s(&m, (weft_collective)c, 1e9, 3, 1) == 0);
}

/* hardware.csv and vTrain's table: bus bandwidth of 8 A100 by size. */
static void all_reduce_is_near_what_was_measured_on_eight_a100(void **state)
{
    static const double size[] = {1048576, 4194304, 16777216, 67108864, 1073741824};
    static const double bus[] = {19.8e9, 76.6e9, 126e9, 202e9, 229e9};
    weft_machine m = given("a100-80");
    for (int i = 0; i < 5; i++) {
        double s = weft_machine_collective_s(&m, WEFT_COLL_ALL_REDUCE, size[i], 1, 8);
        double got = 2.0 * 7 / 8 * size[i] / s;
        if (fabs(got / bus[i] - 1) > (i == 1 ? 0.3 : 0.1))
            fail_msg("%.0f bytes: %.3g GB/s, measured %.3g", size[i], got / 1e9,
                     bus[i] / 1e9);
    }
}

static void without_latency_a_ring_takes_its_bytes(void **state)
{
    weft_machine m = given("h100:4x8");
    m.tier[0].alpha_s = m.tier[1].alpha_s = 0;
    m.tier[0].efficiency = m.tier[1].efficiency = 1;
    for (int k = 2; k <= 8; k *= 2) {
        double s = weft_machine_collective_s(&m, WEFT_COLL_ALL_REDUCE, 1e9, 1, k);
        assert_float_equal(s, 2.0 * (k - 1) / k * 1e9 / 450e9, 1e-12);
        assert_float_equal(
            s,
            weft_machine_collective_s(&m, WEFT_COLL_ALL_GATHER, 1e9, 1, k) +
                weft_machine_collective_s(&m, WEFT_COLL_REDUCE_SCATTER, 1e9, 1, k),
            1e-12);
    }
    /* 32 ranks next to each other: eight links leave each box; four that are 8 apart: one */
    double near = weft_machine_collective_s(&m, WEFT_COLL_ALL_GATHER, 1e9, 1, 32);
    assert_float_equal(near, 31.0 / 32 * 1e9 / (8 * 50e9), 1e-12);
    double far = weft_machine_collective_s(&m, WEFT_COLL_ALL_GATHER, 1e9, 8, 4);
    assert_float_equal(far, 3.0 / 4 * 1e9 / 50e9, 1e-12);
}

/* Four axes of powers of two over 16 boxes of 8, in any order; a group is two of them. */
enum { AXES = 4, RANKS = 128, BOX = 8 };
typedef struct four_axes {
    int size[AXES], stride[AXES]; /* in the order of their strides */
} four_axes;

static four_axes any_axes(unsigned *seed)
{
    four_axes x = {.size = {1, 1, 1, 1}};
    for (int n = 1; n < RANKS; n *= 2)
        x.size[next(seed, AXES)] *= 2;
    for (int i = 0, n = 1; i < AXES; n *= x.size[i++])
        x.stride[i] = n;
    return x;
}

/* Which group of the axes a and b a rank is in. */
static int group_of(const four_axes *x, int rank, int a, int b)
{
    return rank - rank / x->stride[a] % x->size[a] * x->stride[a] -
           rank / x->stride[b] % x->size[b] * x->stride[b];
}

/* Seconds that the links of the fullest box need for what its groups lack, when all gather
 * `bytes` at once. */
static double box_s(const four_axes *x, int a, int b, double bytes, double link)
{
    double k = (double)x->size[a] * x->size[b], most = 0;
    for (int box = 0; box < RANKS / BOX; box++) {
        int members[RANKS] = {0};
        double in = 0;
        for (int r = box * BOX; r < (box + 1) * BOX; r++)
            members[group_of(x, r, a, b)]++;
        for (int g = 0; g < RANKS; g++)
            if (members[g]) in += (k - members[g]) / k * bytes;
        if (in > most) most = in;
    }
    return most / (BOX * link);
}

/* All groups of the two axes gather at once, and share the links of their boxes. */
static void no_box_takes_in_more_than_its_links_carry(void **state)
{
    unsigned seed = 17;
    int across = 0;
    weft_machine m = given("h100:16x8");
    m.tier[0].alpha_s = m.tier[1].alpha_s = 0;
    m.tier[0].efficiency = m.tier[1].efficiency = 1;
    for (int i = 0; i < 5000; i++) {
        four_axes x = any_axes(&seed);
        int a = (int)next(&seed, AXES - 1);
        int b = a + 1 + (int)next(&seed, (unsigned)(AXES - 1 - a));
        double k = (double)x.size[a] * x.size[b];
        double s = weft_machine_group_s(&m, WEFT_COLL_ALL_GATHER, 1e9,
                                        (weft_span){x.stride[a], x.size[a]},
                                        (weft_span){x.stride[b], x.size[b]});
        double least = box_s(&x, a, b, 1e9, 50e9);
        double inside = (k - 1) / k * 1e9 / 450e9;
        assert_true(s >= least * (1 - 1e-12));
        assert_true(s <= 2 * least || s <= inside * (1 + 1e-12));
        across += least > inside;
    }
    assert_true(across > 1000);
}

static void without_a_switch_bandwidth_follows_the_group(void **state)
{
    weft_machine m = given("mi300x");
    m.tier[0].alpha_s = 0;
    m.tier[0].efficiency = 1;
    for (int k = 2; k <= 8; k++) {
        double s = weft_machine_collective_s(&m, WEFT_COLL_ALL_GATHER, 1e9, 1, k);
        double links = (k == 2 || k == 4 || k == 8) ? k - 1 : 0;
        if (links > 0)
            assert_float_equal(s, (k - 1.0) / k * 1e9 / (448e9 * links / 7), 1e-12);
    }
}

static void more_bandwidth_or_less_latency_is_never_slower(void **state)
{
    unsigned seed = 11;
    for (int i = 0; i < 5000; i++) {
        weft_machine m = given("a100-80:64x8"), fast = m;
        int c = (int)next(&seed, WEFT_N_COLLS), tier = (int)next(&seed, 2);
        int stride = 1 << next(&seed, 5), size = 1 + (int)next(&seed, 16);
        double bytes = ldexp(1 + next(&seed, 100), (int)next(&seed, 24));
        fast.tier[tier].bytes_per_s *= 2;
        if (next(&seed, 2)) fast.tier[tier].alpha_s /= 2;
        double a =
            weft_machine_collective_s(&m, (weft_collective)c, bytes, stride, size);
        double b =
            weft_machine_collective_s(&fast, (weft_collective)c, bytes, stride, size);
        assert_true(b <= a);
        assert_true(size == 1 || a > 0);
    }
}

/* ---- matmuls --------------------------------------------------------------------- */

static void a_matmul_takes_at_least_its_flops_at_the_peak(void **state)
{
    unsigned seed = 3;
    for (int p = 0; p < weft_machine_preset_count(); p++)
        for (int i = 0; i < 500; i++) {
            const weft_machine *m = weft_machine_preset_at(p);
            double rows = 1 + next(&seed, 8192), n = 1 + next(&seed, 8192),
                   k = 1 + next(&seed, 8192), batch = 1 + next(&seed, 8);
            double s = weft_machine_gemm_s(m, WEFT_MATH_BF16, batch, rows, n, k);
            assert_true(s >= 2 * batch * rows * n * k / m->flops_per_s[WEFT_MATH_BF16]);
            /* ten times the batch: at least nine times as long, at most ten */
            double ten = weft_machine_gemm_s(m, WEFT_MATH_BF16, 10 * batch, rows, n, k);
            assert_true(ten <= 10 * s * (1 + 1e-9));
            assert_true(ten >= s * (1 - 1e-9));
        }
}

static void partly_filled_waves_cost_a_whole_one(void **state)
{
    weft_machine m = given("a100-80");
    /* 108 units: 109 tiles take two waves */
    double one = weft_machine_gemm_s(&m, WEFT_MATH_BF16, 1, 128.0 * 108, 256, 4096);
    double more = weft_machine_gemm_s(&m, WEFT_MATH_BF16, 1, 128.0 * 109, 256, 4096);
    assert_true(more > 1.2 * one); /* smaller tiles soften it */
    assert_true(more <= 2.01 * one);
}

static void what_was_measured_goes_first(void **state)
{
    weft_machine m = given("a100-80");
    m.n_gemms = 2;
    m.gemm[0] = (weft_gemm_point){WEFT_MATH_BF16, 1024, 1024, 1024, 1e12};
    m.gemm[1] = (weft_gemm_point){WEFT_MATH_BF16, 4096, 4096, 4096, 2e12};
    double s = weft_machine_gemm_s(&m, WEFT_MATH_BF16, 1, 1024, 1024, 1024);
    assert_float_equal(s, 2.0 * 1024 * 1024 * 1024 / 1e12, 1e-9);
    double between = 2.0 * 2048 * 2048 * 2048 /
                     weft_machine_gemm_s(&m, WEFT_MATH_BF16, 1, 2048, 2048, 2048);
    assert_true(between > 1.4e12 && between < 1.6e12);
    m.tier[0].measured[WEFT_COLL_ALL_REDUCE] = (weft_alpha_beta){1e-3, 1e9};
    s = weft_machine_collective_s(&m, WEFT_COLL_ALL_REDUCE, 1e9, 1, 2);
    assert_float_equal(s, 2e-3 + 1, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_preset_is_sound_and_has_at_most_eight_constants),
        cmocka_unit_test(case_23_peaks_are_dense),
        cmocka_unit_test(a_shape_says_nodes_and_ranks),
        cmocka_unit_test(what_is_wrong_with_a_machine_is_named),
        cmocka_unit_test(devices_of_run_tables_are_found),
        cmocka_unit_test(no_group_leaves_a_domain_of_its_tier),
        cmocka_unit_test(of_powers_of_two_the_tier_is_the_innermost_that_holds_all),
        cmocka_unit_test(one_rank_sends_nothing),
        cmocka_unit_test(all_reduce_is_near_what_was_measured_on_eight_a100),
        cmocka_unit_test(without_latency_a_ring_takes_its_bytes),
        cmocka_unit_test(no_box_takes_in_more_than_its_links_carry),
        cmocka_unit_test(without_a_switch_bandwidth_follows_the_group),
        cmocka_unit_test(more_bandwidth_or_less_latency_is_never_slower),
        cmocka_unit_test(a_matmul_takes_at_least_its_flops_at_the_peak),
        cmocka_unit_test(partly_filled_waves_cost_a_whole_one),
        cmocka_unit_test(what_was_measured_goes_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
