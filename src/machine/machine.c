/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/machine.h>

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/near.h"
#include "machine/fields.h"

static const char *const math_names[WEFT_N_MATHS] = {"f64", "f32", "bf16", "fp8",
                                                     "fp4"};
static const char *const coll_names[WEFT_N_COLLS] = {
    "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "p2p"};

const char *weft_math_name(weft_math math)
{
    return (unsigned)math < WEFT_N_MATHS ? math_names[math] : NULL;
}

weft_status weft_math_parse(const char *name, weft_math *out)
{
    for (int i = 0; i < WEFT_N_MATHS; i++)
        if (!strcmp(name, math_names[i])) {
            *out = (weft_math)i;
            return WEFT_OK;
        }
    if (!strcmp(name, "fp16")) {
        *out = WEFT_MATH_BF16;
        return WEFT_OK;
    }
    return WF_FAIL(WEFT_E_INVALID, "'%.20s' is no arithmetic; f64 f32 bf16 fp8 fp4 are",
                   name);
}

const char *weft_collective_name(weft_collective c)
{
    return (unsigned)c < WEFT_N_COLLS ? coll_names[c] : NULL;
}

void weft_machine_defaults(weft_machine *m)
{
    memset(m, 0, sizeof *m);
    wf_field_defaults(wf_machine_table(), m);
    m->n_tiers = 1;
    for (int i = 0; i < WEFT_MAX_TIERS; i++)
        wf_field_defaults(wf_tier_table(), &m->tier[i]);
}

int weft_machine_ranks(const weft_machine *m)
{
    int64_t n = (int64_t)m->nodes * m->ranks_per_node;
    return n > INT_MAX ? INT_MAX : (int)n;
}

/* ---- setting --------------------------------------------------------------------- */

weft_status weft_machine_set_tier(weft_machine *m, int tier, const char *field,
                                  const char *value)
{
    if (tier < 0 || tier >= WEFT_MAX_TIERS)
        return WF_FAIL(WEFT_E_INVALID, "tier %d: a machine has at most %d", tier,
                       WEFT_MAX_TIERS);
    return wf_field_set(wf_tier_table(), &m->tier[tier], field, value);
}

/* "scaleup-alpha" of the first tier, "network" the bandwidth of the last: which, and what
 * of it; -1 when the name is of no tier. */
static int tier_of(const weft_machine *m, const char *field, const char **what)
{
    static const char *const prefix[2] = {"scaleup", "network"};
    for (int i = 0; i < 2; i++) {
        size_t n = strlen(prefix[i]);
        if (strncmp(field, prefix[i], n)) continue;
        if (!field[n]) {
            *what = "bandwidth";
        } else if (field[n] == '-' || field[n] == '_') {
            *what = field + n + 1;
        } else {
            continue;
        }
        return i ? m->n_tiers - 1 : 0;
    }
    return -1;
}

weft_status weft_machine_set(weft_machine *m, const char *field, const char *value)
{
    const char *what;
    int tier = tier_of(m, field, &what);
    if (tier >= 0) return weft_machine_set_tier(m, tier, what, value);
    return wf_field_set(wf_machine_table(), m, field, value);
}

/* ---- checking -------------------------------------------------------------------- */

static weft_status check_tiers(const weft_machine *m)
{
    int64_t inner = 1;

    if (m->n_tiers < 1 || m->n_tiers > WEFT_MAX_TIERS)
        return WF_FAIL(WEFT_E_INVALID, "%d tiers of links; 1 .. %d are needed",
                       m->n_tiers, WEFT_MAX_TIERS);
    for (int i = 0; i < m->n_tiers; i++) {
        const weft_tier *t = &m->tier[i];
        weft_status st = wf_field_check(wf_tier_table(), t);
        if (st != WEFT_OK)
            return WF_FAIL(st, "tier %d (%s): %s", i, t->name, weft_status_message());
        if (i == m->n_tiers - 1 && t->ranks && t->ranks < weft_machine_ranks(m))
            return WF_FAIL(WEFT_E_INVALID,
                           "tier %d (%s) is the last and reaches %d of %d ranks; 0 "
                           "means all of them",
                           i, t->name, t->ranks, weft_machine_ranks(m));
        if (i < m->n_tiers - 1 && (t->ranks < 1 || t->ranks % inner))
            return WF_FAIL(WEFT_E_INVALID,
                           "tier %d (%s): domains of %d ranks are no multiple of the "
                           "%lld of the tier inside",
                           i, t->name, t->ranks, (long long)inner);
        inner = t->ranks;
    }
    return WEFT_OK;
}

static weft_status check_points(const weft_machine *m)
{
    if (m->n_gemms < 0 || m->n_gemms > WEFT_MAX_GEMM_POINTS)
        return WF_FAIL(WEFT_E_INVALID, "%d measured matmuls; 0 .. %d are possible",
                       m->n_gemms, WEFT_MAX_GEMM_POINTS);
    for (int i = 0; i < m->n_gemms; i++) {
        const weft_gemm_point *g = &m->gemm[i];
        if (g->math < 0 || g->math >= WEFT_N_MATHS || g->m < 1 || g->n < 1 ||
            g->k < 1 || !(g->flops_per_s > 0 && g->flops_per_s < 1e21))
            return WF_FAIL(WEFT_E_INVALID,
                           "measured matmul %d: sizes of at least 1 and a rate above 0 "
                           "are needed",
                           i);
    }
    return WEFT_OK;
}

weft_status weft_machine_check(const weft_machine *m)
{
    double peak = 0;

    WF_TRY(wf_field_check(wf_machine_table(), m));
    if ((int64_t)m->nodes * m->ranks_per_node > INT_MAX)
        return WF_FAIL(WEFT_E_INVALID, "%d nodes of %d ranks are more than %d ranks",
                       m->nodes, m->ranks_per_node, INT_MAX);
    for (int i = 0; i < WEFT_N_MATHS; i++)
        if (m->flops_per_s[i] > peak) peak = m->flops_per_s[i];
    if (peak <= 0 && !m->n_gemms)
        return WF_FAIL(WEFT_E_INVALID,
                       "machine %s has no peak: bf16, f32 or another rate is needed",
                       m->name);
    if (m->memory_bytes <= 0)
        return WF_FAIL(WEFT_E_INVALID, "machine %s has no memory", m->name);
    if (m->memory_bytes_per_s <= 0)
        return WF_FAIL(WEFT_E_INVALID,
                       "machine %s: memory_bandwidth is 0: a rate such as 3.35TB/s is "
                       "needed",
                       m->name);
    WF_TRY(check_tiers(m));
    return check_points(m);
}
