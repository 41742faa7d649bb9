/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/layout.h>

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "layout/fields.h"
#include "layout/split.h"

void weft_layout_defaults(weft_layout *l)
{
    wf_field_defaults(wf_layout_table(), l);
}

weft_status weft_layout_set(weft_layout *l, const char *field, const char *value)
{
    return wf_field_set(wf_layout_table(), l, field, value);
}

weft_status weft_layout_plan_set(weft_layout *l, const char *field, const char *value)
{
    return wf_field_set(wf_layout_plan_table(), l, field, value);
}

/* ---- the missing degree ---------------------------------------------------------- */

/* Product of the given degrees; every factor is at most 2^20, two at a time fit. */
static int64_t product(const weft_layout *l)
{
    const int32_t d[] = {l->tp, l->cp, l->pp, l->dp};
    int64_t n = 1;
    for (int i = 0; i < 4; i++)
        if (d[i] > 0 && n <= INT_MAX) n *= d[i];
    return n;
}

/* "--tp 3 * --pp 2", the given ones. */
static const char *given_text(const weft_layout *l, char *buf, size_t size)
{
    static const char *const name[] = {"tp", "cp", "pp", "dp"};
    const int32_t d[] = {l->tp, l->cp, l->pp, l->dp};
    int n = 0;

    buf[0] = 0;
    for (int i = 0; i < 4; i++) {
        int shown = d[i] && (i != 1 || d[i] > 1);
        if (shown && n >= 0 && (size_t)n < size)
            n += snprintf(buf + n, size - (size_t)n, "%s--%s %d", n ? " * " : "",
                          name[i], d[i]);
    }
    return buf;
}

static weft_status does_not_divide(const weft_layout *l, int64_t given, int world)
{
    char degrees[96], total[32] = "", nearest[48] = "";
    int64_t below = world / given * given;

    given_text(l, degrees, sizeof degrees);
    if (strchr(degrees, '*'))
        snprintf(total, sizeof total, " = %lld", (long long)given);
    if (below) snprintf(nearest, sizeof nearest, "%lld and ", (long long)below);
    return WF_FAIL(WEFT_E_INVALID,
                   "%s%s does not divide the %d rank%s; %s%lld ranks would do", degrees,
                   total, world, world == 1 ? "" : "s", nearest,
                   (long long)(below + given));
}

/* Which degree takes what is left of the world. With dp free, tp and pp not given are 1. */
static weft_status free_degree(weft_layout *l, int64_t left, int32_t **degree,
                               const char **name)
{
    if (!l->dp) {
        if (!l->tp) l->tp = 1;
        if (!l->pp) l->pp = 1;
        *degree = &l->dp;
        *name = "dp";
    } else if (!l->tp && !l->pp && left > 1) {
        return WF_FAIL(
            WEFT_E_INVALID,
            "--tp and --pp are both missing: %lld ranks per replica (--dp %d) can be "
            "shared in several ways; give one of them",
            (long long)left, l->dp);
    } else if (!l->tp || !l->pp) {
        if (!l->tp && !l->pp) l->tp = 1; /* of one rank nothing can be shared */
        *degree = l->tp ? &l->pp : &l->tp;
        *name = l->tp ? "pp" : "tp";
    }
    return WEFT_OK;
}

static weft_status wrong_world(const weft_layout *l, int64_t given, int world)
{
    char degrees[96], hint[48] = "";
    int64_t rest = given / l->dp;

    if (world % rest == 0)
        snprintf(hint, sizeof hint, "; --dp %lld fits", (long long)(world / rest));
    return WF_FAIL(WEFT_E_MISMATCH, "%s = %lld ranks, but there are %d%s",
                   given_text(l, degrees, sizeof degrees), (long long)given, world,
                   hint);
}

weft_status weft_layout_resolve(weft_layout *l, int world, const char **derived)
{
    weft_layout next = *l;
    int32_t *degree = NULL;
    const char *name = NULL;

    if (world < 0) return WF_FAIL(WEFT_E_INVALID, "a world of %d ranks", world);
    if (next.tp < 0 || next.cp < 0 || next.pp < 0 || next.dp < 0)
        return WF_FAIL(WEFT_E_INVALID,
                       "--tp %d --cp %d --pp %d --dp %d: degrees are at least 1",
                       next.tp, next.cp, next.pp, next.dp);
    if (!next.cp) next.cp = 1;
    if (!world) {
        if (!next.tp) next.tp = 1;
        if (!next.pp) next.pp = 1;
        if (!next.dp) next.dp = 1;
    } else {
        int64_t given = product(&next);
        if (next.tp && next.pp && next.dp) {
            if (given != world) return wrong_world(&next, given, world);
        } else {
            if (world % given) return does_not_divide(&next, given, world);
            WF_TRY(free_degree(&next, world / given, &degree, &name));
            *degree = (int32_t)(world / given);
        }
    }
    *l = next;
    if (derived) *derived = name;
    return WEFT_OK;
}

/* ---- what a checked layout means ------------------------------------------------- */

int weft_layout_world(const weft_layout *l)
{
    int64_t n = product(l);
    return n > INT_MAX ? INT_MAX : (int)n;
}

int wf_placement_is_auto(const weft_layout *l)
{
    return !strcmp(l->placement, "auto");
}

static weft_placement_kind own_placement(const weft_layout *l)
{
    return weft_schedule_kind_placement(weft_schedule_kind_find(l->schedule), l->vpp);
}

weft_schedule_options weft_layout_schedule_options(const weft_layout *l)
{
    weft_schedule_options opt = {.group = l->group};

    if (wf_placement_is_auto(l))
        opt.placement = own_placement(l);
    else if (weft_placement_find(l->placement, &opt.placement) != WEFT_OK)
        opt.placement = WEFT_PLACE_SINGLE; /* none in a checked layout */
    return opt;
}

int wf_layout_is_placed(const weft_layout *l)
{
    const weft_schedule_kind *k = weft_schedule_kind_find(l->schedule);
    return l->vpp > 1 && weft_schedule_kind_placements(k) && !wf_placement_is_auto(l) &&
           weft_layout_schedule_options(l).placement != own_placement(l);
}

weft_status weft_layout_shape(const weft_layout *l, weft_schedule *out)
{
    weft_schedule_options opt = weft_layout_schedule_options(l);
    return weft_schedule_shape(l->schedule, l->pp, (int)weft_layout_n_micro(l), l->vpp,
                               &opt, out);
}

int64_t weft_layout_n_micro(const weft_layout *l)
{
    int64_t per_micro;
    if (wf_mul_i64(l->micro_batch, l->dp, &per_micro) || per_micro < 1) return 0;
    return l->global_batch / per_micro;
}

weft_status weft_layout_mesh(const weft_layout *l, weft_mesh *out)
{
    int degree[WEFT_MAX_AXES] = {0};
    degree[WEFT_TP] = l->tp;
    degree[WEFT_CP] = l->cp;
    degree[WEFT_PP] = l->pp;
    degree[WEFT_DP] = l->dp;
    return weft_mesh_make(degree, l->order, out);
}

int64_t weft_layout_padded_vocab(const weft_layout *l, const weft_arch *a)
{
    int64_t unit = l->vocab_multiple * l->tp;
    return (a->vocab + unit - 1) / unit * unit;
}

void weft_layout_shard_size(const weft_layout *l, const weft_arch *a,
                            const weft_tensor_info *t, int64_t size[2])
{
    size[0] = t->size[0];
    size[1] = t->size[1];
    if (t->tp_dim < 0) return;
    int64_t whole = t->is_vocab ? weft_layout_padded_vocab(l, a) : t->size[t->tp_dim];
    size[t->tp_dim] = whole / l->tp;
}

void weft_layout_write_json(const weft_layout *l, weft_writer *out)
{
    wf_json j = wf_json_begin(out);
    wf_json_object(&j);
    wf_field_put_json(wf_layout_table(), l, &j);
    wf_json_put_i64(&j, "world", weft_layout_world(l));
    wf_json_put_i64(&j, "n_micro", weft_layout_n_micro(l));
    wf_json_end_object(&j);
}

void weft_layout_write_text(const weft_layout *l, weft_writer *out)
{
    weft_print(out, "tp=%d", l->tp);
    if (l->sp && l->tp > 1) weft_print(out, "+sp");
    if (l->cp > 1) weft_print(out, " cp=%d %s", l->cp, l->cp_comm);
    weft_print(out, " pp=%d dp=%d", l->pp, l->dp);
    if (l->ep > 1) weft_print(out, " ep=%d", l->ep);
    if (l->zero) weft_print(out, " zero=%d", l->zero);
    if (l->replicate > 1) weft_print(out, " replicate=%d", l->replicate);
    weft_print(out, " vpp=%d %s", l->vpp, l->schedule);
    if (wf_layout_is_placed(l)) weft_print(out, " placement=%s", l->placement);
    weft_print(out, " m=%lld", (long long)weft_layout_n_micro(l));
    if (strcmp(l->recompute, "none")) weft_print(out, " recompute=%s", l->recompute);
    if (!wf_stages_even(l)) weft_print(out, " stage-layers=%s", l->stage_layers);
}
