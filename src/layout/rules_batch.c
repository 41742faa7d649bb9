/* SPDX-License-Identifier: Apache-2.0 */
#include "layout/rule.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "layout/split.h"
#include "schedule/kind.h"

/* ---- schedule -------------------------------------------------------------------- */

/* A kind without backward passes draws evaluation; no layout trains with it. */
static int trains(const weft_schedule_kind *k)
{
    return k && !k->forward_only;
}

static int schedule_holds(const weft_layout *l, const weft_arch *a)
{
    return trains(weft_schedule_kind_find(l->schedule));
}

static weft_status schedule_broken(const weft_layout *l, const weft_arch *a)
{
    const weft_schedule_kind *k;
    weft_status st = weft_schedule_kind_require(l->schedule, &k);
    if (st != WEFT_OK) return WF_FAIL(st, "--schedule: %s", weft_status_message());
    return WF_FAIL(WEFT_E_INVALID,
                   "--schedule %s has no backward passes and cannot train; 1f1b does",
                   l->schedule);
}

/* Can the schedule run pp ranks of vpp chunks at all, with a number of micro-batches that
 * suits it?  Multiples of pp suit every kind; some want at least 2 pp. */
static int vpp_holds(const weft_layout *l, const weft_arch *a)
{
    weft_schedule_options opt = weft_layout_schedule_options(l);

    opt.group = 0; /* a rule of its own */
    for (int64_t m = l->pp; m <= 4 * (int64_t)l->pp; m *= 2)
        if (!weft_schedule_applicable(l->schedule, l->pp, (int)m, l->vpp, &opt))
            return 1;
    return 0;
}

static void set_vpp(weft_layout *l, int64_t x)
{
    l->vpp = (int32_t)x;
}

/* Training kinds that take this pp and vpp, "gpipe 1f1b". */
static const char *other_kinds(const weft_layout *l, const weft_arch *a, char *buf,
                               int size)
{
    int n = 0;
    buf[0] = 0;
    for (int i = 0; i < weft_schedule_kind_count() && n < size - 20; i++) {
        const weft_schedule_kind *k = weft_schedule_kind_at(i);
        weft_layout other = *l;
        snprintf(other.schedule, sizeof other.schedule, "%s",
                 weft_schedule_kind_name(k));
        if (trains(k) && vpp_holds(&other, a))
            n += snprintf(buf + n, (size_t)(size - n), "%s%s", n ? " " : "",
                          other.schedule);
    }
    return buf;
}

static weft_status vpp_broken(const weft_layout *l, const weft_arch *a)
{
    char why[256], vpp[WF_LEGAL], kinds[128];
    wf_legal q = {l, a, "vpp-schedule", set_vpp, l->vpp, 1, 255, 1, 4};

    other_kinds(l, a, kinds, sizeof kinds);
    wf_legal_text(&q, vpp);
    vpp_holds(l, a); /* leaves the schedule's own words */
    snprintf(why, sizeof why, "%s", weft_status_message());
    return WF_FAIL(WEFT_E_INVALID, "--schedule %s with --pp %d --vpp %d: %s%s%s%s%s",
                   l->schedule, l->pp, l->vpp, why, *vpp ? "; legal here: --vpp " : "",
                   vpp, *kinds ? "; with this --vpp: --schedule " : "", kinds);
}

/* ---- placement -------------------------------------------------------------------- */

/* The placement of a kind that takes none, with this pp and vpp; 0 where it cannot run with
 * them: that is a rule of its own. */
static int fixed_placement(const weft_layout *l, weft_placement_kind *out)
{
    for (int64_t m = l->pp; m <= 4 * (int64_t)l->pp; m *= 2) {
        weft_schedule shape;
        if (weft_schedule_shape(l->schedule, l->pp, (int)m, l->vpp, NULL, &shape))
            continue;
        *out = shape.placement;
        return 1;
    }
    return 0;
}

static int placement_holds(const weft_layout *l, const weft_arch *a)
{
    const weft_schedule_kind *k = weft_schedule_kind_find(l->schedule);
    weft_placement_kind said, own;

    if (wf_placement_is_auto(l)) return 1;
    if (weft_placement_find(l->placement, &said) != WEFT_OK) return 0;
    if (k->places) return k->places >> said & 1;
    return !fixed_placement(l, &own) || said == own;
}

/* "single, loop, v" */
static const char *placements_of(const weft_schedule_kind *k, char *buf, size_t size)
{
    int n = 0;
    buf[0] = 0;
    for (int i = 0; weft_placement_name((weft_placement_kind)i); i++)
        if (k->places >> i & 1 && n < (int)size)
            n += snprintf(buf + n, size - (size_t)n, "%s%s", n ? ", " : "",
                          weft_placement_name((weft_placement_kind)i));
    return buf;
}

static weft_status placement_broken(const weft_layout *l, const weft_arch *a)
{
    const weft_schedule_kind *k = weft_schedule_kind_find(l->schedule);
    weft_placement_kind said, own = WEFT_PLACE_SINGLE;
    char names[64];

    if (weft_placement_find(l->placement, &said) != WEFT_OK)
        return WF_FAIL(WEFT_E_INVALID, "--placement: %s, and auto, the schedule's own",
                       weft_status_message());
    if (k->places)
        return WF_FAIL(WEFT_E_INVALID,
                       "--placement %s: --schedule %s takes %s, and auto", l->placement,
                       l->schedule, placements_of(k, names, sizeof names));
    fixed_placement(l, &own);
    return WF_FAIL(WEFT_E_INVALID,
                   "--placement %s: --schedule %s with --vpp %d has its own, %s; "
                   "--placement auto is right for it (zb-auto and optimal take one)",
                   l->placement, l->schedule, l->vpp, weft_placement_name(own));
}

static int group_holds(const weft_layout *l, const weft_arch *a)
{
    return !l->group || weft_schedule_kind_find(l->schedule)->least_group;
}

static weft_status group_broken(const weft_layout *l, const weft_arch *a)
{
    return WF_FAIL(
        WEFT_E_INVALID,
        "--group %d: --schedule %s has no groups of micro-batches; --group 0 does",
        l->group, l->schedule);
}

/* ---- batch ----------------------------------------------------------------------- */

static void set_global(weft_layout *l, int64_t x)
{
    l->global_batch = x;
}

static int64_t per_micro(const weft_layout *l)
{
    return l->micro_batch * l->dp; /* below 2^31 and 2^21 */
}

/* "--global-batch 252 (18 micro-batches) or 266 (19)": the nearest legal ones. */
static const char *near_batches(const weft_layout *l, const weft_arch *a,
                                const char *rule, char *buf, int size)
{
    int64_t unit = per_micro(l), value[WF_LEGAL_MAX];
    wf_legal q = {l,    a,    rule, set_global, l->global_batch / unit * unit,
                  unit, 1e15, unit, 1};
    int n = wf_legal_values(&q, value), used = 0;

    buf[0] = 0;
    for (int i = 0; i < n; i++)
        used +=
            snprintf(buf + used, (size_t)(size - used), "%s%lld (%lld%s)",
                     i ? " or " : "; legal here: --global-batch ", (long long)value[i],
                     (long long)(value[i] / unit), i ? "" : " per replica");
    return buf;
}

static int batch_holds(const weft_layout *l, const weft_arch *a)
{
    return l->global_batch % per_micro(l) == 0;
}

static weft_status batch_broken(const weft_layout *l, const weft_arch *a)
{
    char near[128];
    return WF_FAIL(
        WEFT_E_INVALID,
        "--global-batch %lld is not a multiple of --micro-batch %lld * --dp %d = "
        "%lld%s",
        (long long)l->global_batch, (long long)l->micro_batch, l->dp,
        (long long)per_micro(l), near_batches(l, a, "batch", near, sizeof near));
}

static int takes_m(const weft_layout *l)
{
    int64_t m = weft_layout_n_micro(l);
    weft_schedule_options opt = weft_layout_schedule_options(l);
    return m <= INT_MAX &&
           !weft_schedule_applicable(l->schedule, l->pp, (int)m, l->vpp, &opt);
}

static int micro_holds(const weft_layout *l, const weft_arch *a)
{
    return takes_m(l);
}

/* The schedule's own words; making it says the most, and fails before any op. */
static void why_not(const weft_layout *l, int m, char *why, size_t size)
{
    weft_schedule_options opt = weft_layout_schedule_options(l);
    weft_schedule s;

    if (weft_schedule_make(l->schedule, l->pp, m, l->vpp, &opt, &s) == WEFT_OK)
        weft_schedule_clear(&s);
    snprintf(why, size, "%s", weft_status_message());
}

static weft_status micro_broken(const weft_layout *l, const weft_arch *a)
{
    char why[512], near[128] = "";
    int64_t m = weft_layout_n_micro(l);

    if (m > INT_MAX)
        return WF_FAIL(
            WEFT_E_INVALID,
            "--global-batch %lld makes %lld micro-batches, more than %d; a larger "
            "--micro-batch or --dp makes fewer",
            (long long)l->global_batch, (long long)m, INT_MAX);
    /* with --group the schedule's words name the legal groups already */
    if (!l->group) near_batches(l, a, "micro-schedule", near, sizeof near);
    why_not(l, (int)m, why, sizeof why);
    return WF_FAIL(
        WEFT_E_INVALID,
        "--global-batch %lld / (--micro-batch %lld * --dp %d) = %lld micro-batches "
        "for --schedule %s: %s%s",
        (long long)l->global_batch, (long long)l->micro_batch, l->dp, (long long)m,
        l->schedule, why, near);
}

/* ---- sequence and sizes ---------------------------------------------------------- */

static int seq_holds(const weft_layout *l, const weft_arch *a)
{
    return l->seq <= a->positions;
}

static weft_status seq_broken(const weft_layout *l, const weft_arch *a)
{
    return WF_FAIL(
        WEFT_E_INVALID,
        "--seq %lld is longer than the model's %lld positions; --seq %lld is the most",
        (long long)l->seq, (long long)a->positions, (long long)a->positions);
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int vocab_fits(const weft_layout *l, const weft_arch *a)
{
    int64_t bytes; /* weights, gradients and optimizer state are 16 bytes a parameter */
    return !wf_mul_i64(weft_layout_padded_vocab(l, a), 16 * a->hidden, &bytes);
}

/* Bytes of the largest matrix that one sequence needs, 8 a value; -1 beyond 64 bits. */
static int64_t sequence_bytes(const weft_layout *l, const weft_arch *a)
{
    int64_t widest =
        larger(3 * a->hidden, larger(a->ffn, weft_layout_padded_vocab(l, a)));
    int64_t scores, bytes;
    if (wf_mul_i64(a->heads, l->seq, &scores)) return -1;
    if (wf_mul_i64(larger(widest, scores), 8 * l->seq, &bytes)) return -1;
    return bytes;
}

static int sizes_hold(const weft_layout *l, const weft_arch *a)
{
    int64_t x, sequence = sequence_bytes(l, a);
    return vocab_fits(l, a) && sequence > 0 && l->micro_batch <= INT64_MAX / sequence &&
           !wf_mul_i64(l->global_batch, l->seq, &x);
}

static weft_status sizes_broken(const weft_layout *l, const weft_arch *a)
{
    int64_t sequence = sequence_bytes(l, a);

    if (!vocab_fits(l, a))
        return WF_FAIL(
            WEFT_E_INVALID,
            "--vocab-multiple %lld * --tp %d pads %lld rows to %lld, whose bytes pass "
            "64 bits; --vocab-multiple 128 is usual",
            (long long)l->vocab_multiple, l->tp, (long long)a->vocab,
            (long long)weft_layout_padded_vocab(l, a));
    if (sequence < 0)
        return WF_FAIL(
            WEFT_E_INVALID,
            "--seq %lld needs matrices whose bytes pass 64 bits; --seq 1024 is usual",
            (long long)l->seq);
    if (l->micro_batch > INT64_MAX / sequence)
        return WF_FAIL(
            WEFT_E_INVALID,
            "--micro-batch %lld needs matrices whose bytes pass 64 bits (--seq %lld); "
            "--micro-batch %lld is the most",
            (long long)l->micro_batch, (long long)l->seq,
            (long long)(INT64_MAX / sequence));
    return WF_FAIL(
        WEFT_E_INVALID,
        "--global-batch %lld * --seq %lld tokens pass 64 bits; --global-batch %lld is "
        "the most",
        (long long)l->global_batch, (long long)l->seq, (long long)(INT64_MAX / l->seq));
}

const wf_rule wf_rules_batch[] = {
    {"schedule", "schedule is a kind that trains", schedule_holds, schedule_broken},
    {"placement-schedule", "placement is auto or one that the schedule has",
     placement_holds, placement_broken},
    {"vpp-schedule", "schedule takes pp ranks of vpp chunks, placed as placement says",
     vpp_holds, vpp_broken},
    {"group-schedule", "group is for schedules that have groups", group_holds,
     group_broken},
    {"batch", "micro_batch * dp divides global_batch", batch_holds, batch_broken},
    {"micro-schedule", "schedule takes m = global_batch / (micro_batch * dp)",
     micro_holds, micro_broken},
    {"seq", "seq is at most positions", seq_holds, seq_broken},
    {"sizes", "tokens of a step and bytes of every matrix fit 64 bits", sizes_hold,
     sizes_broken},
    {NULL, NULL, NULL, NULL},
};
