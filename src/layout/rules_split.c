/* SPDX-License-Identifier: Apache-2.0 */
#include "layout/rule.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "layout/fields.h"

/* tp | hidden needs no rule of its own: hidden = heads * head_dim and tp | heads. */

static void set_tp(weft_layout *l, int64_t x)
{
    l->tp = (int32_t)x;
}

/* ---- range ----------------------------------------------------------------------- */

static weft_status range(const weft_layout *l, const weft_arch *a)
{
    return wf_field_check(wf_layout_plan_table(), l);
}

static int range_holds(const weft_layout *l, const weft_arch *a)
{
    return range(l, a) == WEFT_OK;
}

/* ---- world and order ------------------------------------------------------------- */

static int world_holds(const weft_layout *l, const weft_arch *a)
{
    int64_t n = (int64_t)l->tp * l->cp; /* each below 2^21 */
    return n <= INT_MAX && (n *= l->pp) <= INT_MAX && n * l->dp <= INT_MAX;
}

static weft_status world_broken(const weft_layout *l, const weft_arch *a)
{
    return WF_FAIL(WEFT_E_INVALID,
                   "--tp %d * --cp %d * --pp %d * --dp %d are more than %d ranks",
                   l->tp, l->cp, l->pp, l->dp, INT_MAX);
}

static int order_holds(const weft_layout *l, const weft_arch *a)
{
    weft_mesh mesh;
    return weft_layout_mesh(l, &mesh) == WEFT_OK;
}

static weft_status order_broken(const weft_layout *l, const weft_arch *a)
{
    weft_mesh mesh;
    weft_status st = weft_layout_mesh(l, &mesh);
    return WF_FAIL(st, "%s; tp,cp,pp,dp is the usual one", weft_status_message());
}

/* After a list of values. */
static const char *verb(const char *values)
{
    return strchr(values, ' ') ? "do" : "does";
}

/* ---- tensor parallelism ---------------------------------------------------------- */

static weft_status tp_broken(const weft_layout *l, const weft_arch *a, const char *rule,
                             int64_t found, const char *what)
{
    char legal[WF_LEGAL];
    wf_legal q = {l, a, rule, set_tp, l->tp, 1, a->heads, 1, 8};
    wf_legal_text(&q, legal);
    return WF_FAIL(WEFT_E_INVALID, "--tp %d does not divide %lld %s; %s %s", l->tp,
                   (long long)found, what, legal, verb(legal));
}

static int heads_hold(const weft_layout *l, const weft_arch *a)
{
    return a->heads % l->tp == 0;
}

static weft_status heads_broken(const weft_layout *l, const weft_arch *a)
{
    return tp_broken(l, a, "tp-heads", a->heads, "heads");
}

static int kv_heads_hold(const weft_layout *l, const weft_arch *a)
{
    return a->kv_heads % l->tp == 0;
}

static weft_status kv_heads_broken(const weft_layout *l, const weft_arch *a)
{
    return tp_broken(l, a, "tp-kv-heads", a->kv_heads,
                     "kv_heads (they are not replicated)");
}

static int ffn_holds(const weft_layout *l, const weft_arch *a)
{
    return a->ffn % l->tp == 0;
}

static weft_status ffn_broken(const weft_layout *l, const weft_arch *a)
{
    return tp_broken(l, a, "tp-ffn", a->ffn, "columns of the MLP (ffn)");
}

const wf_rule wf_rules_split[] = {
    {"range", "every option is given and in its range", range_holds, range},
    {"world", "tp * cp * pp * dp fits 32 bits", world_holds, world_broken},
    {"order", "order names every axis once", order_holds, order_broken},
    {"tp-heads", "tp divides heads", heads_hold, heads_broken},
    {"tp-kv-heads", "tp divides kv_heads", kv_heads_hold, kv_heads_broken},
    {"tp-ffn", "tp divides ffn", ffn_holds, ffn_broken},
    {NULL, NULL, NULL, NULL},
};
