/* SPDX-License-Identifier: Apache-2.0 */
#include "layout/rule.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/near.h"
#include "layout/split.h"

/* ---- context parallelism --------------------------------------------------------- */

static const char *const cp_words[] = {"ring", "allgather", "ulysses"};
enum { N_CP_WORDS = 3 };

static int is_ulysses(const weft_layout *l)
{
    return !strcmp(l->cp_comm, "ulysses");
}

static int cp_comm_holds(const weft_layout *l, const weft_arch *a)
{
    for (int i = 0; i < N_CP_WORDS; i++)
        if (!strcmp(l->cp_comm, cp_words[i])) return 1;
    return 0;
}

static weft_status cp_comm_broken(const weft_layout *l, const weft_arch *a)
{
    const char *near = wf_nearest_in(l->cp_comm, N_CP_WORDS, cp_words);
    return WF_FAIL(
        WEFT_E_INVALID, "--cp-comm '%s' is none of ring, allgather, ulysses%s%s%s",
        l->cp_comm, near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static void set_seq(weft_layout *l, int64_t x)
{
    l->seq = x;
}

/* Under a causal mask each rank takes a piece from the front and its mirror image from the
 * back, so that all have the same work: 2 cp pieces. */
static int64_t cp_pieces(const weft_layout *l)
{
    return l->cp == 1 ? 1 : is_ulysses(l) ? l->cp : 2 * (int64_t)l->cp;
}

static int cp_seq_holds(const weft_layout *l, const weft_arch *a)
{
    return l->seq % cp_pieces(l) == 0;
}

static weft_status seq_broken(const weft_layout *l, const weft_arch *a,
                              const char *rule, int64_t unit, const char *why)
{
    char legal[WF_LEGAL];
    int64_t from = l->seq / unit * unit;
    wf_legal q = {l, a, rule, set_seq, from, unit, 1 << 30, unit, 1};
    wf_legal_text(&q, legal);
    return WF_FAIL(WEFT_E_INVALID, "--seq %lld is not a multiple of %lld (%s)%s%s",
                   (long long)l->seq, (long long)unit, why,
                   *legal ? "; legal here: --seq " : "", legal);
}

static weft_status cp_seq_broken(const weft_layout *l, const weft_arch *a)
{
    return seq_broken(l, a, "cp-seq", cp_pieces(l),
                      is_ulysses(l) ? "one piece for each of --cp"
                                    : "two pieces for each of --cp");
}

static int cp_heads_hold(const weft_layout *l, const weft_arch *a)
{
    return l->cp == 1 || !is_ulysses(l) || a->heads % ((int64_t)l->tp * l->cp) == 0;
}

static weft_status cp_heads_broken(const weft_layout *l, const weft_arch *a)
{
    return WF_FAIL(WEFT_E_INVALID,
                   "--cp-comm ulysses: --tp %d * --cp %d does not divide %lld heads; "
                   "--cp-comm ring has no such need",
                   l->tp, l->cp, (long long)a->heads);
}

/* ---- sequence parallelism -------------------------------------------------------- */

static int64_t sp_unit(const weft_layout *l)
{
    return l->sp ? (int64_t)l->tp * l->cp : 1;
}

static int sp_seq_holds(const weft_layout *l, const weft_arch *a)
{
    return l->seq % sp_unit(l) == 0;
}

static weft_status sp_seq_broken(const weft_layout *l, const weft_arch *a)
{
    return seq_broken(l, a, "sp-seq", sp_unit(l),
                      "--sp: one piece for each of --tp and --cp");
}

/* ---- experts and shards ---------------------------------------------------------- */

static void set_ep(weft_layout *l, int64_t x)
{
    l->ep = (int32_t)x;
}

static int ep_holds(const weft_layout *l, const weft_arch *a)
{
    if (l->ep == 1) return 1;
    return a->experts > 0 && a->experts % l->ep == 0 && l->dp % l->ep == 0;
}

static weft_status ep_broken(const weft_layout *l, const weft_arch *a)
{
    char legal[WF_LEGAL];
    wf_legal q = {l, a, "ep", set_ep, l->ep, 1, l->dp, 1, 4};
    if (!a->experts)
        return WF_FAIL(WEFT_E_INVALID, "--ep %d: the model has no experts; --ep 1 does",
                       l->ep);
    wf_legal_text(&q, legal);
    return WF_FAIL(
        WEFT_E_INVALID, "--ep %d does not divide both %lld experts and --dp %d; %s %s",
        l->ep, (long long)a->experts, l->dp, legal, strchr(legal, ' ') ? "do" : "does");
}

static void set_replicate(weft_layout *l, int64_t x)
{
    l->replicate = (int32_t)x;
}

static int replicate_holds(const weft_layout *l, const weft_arch *a)
{
    return l->replicate == 1 || (l->zero > 0 && l->dp % l->replicate == 0);
}

static weft_status replicate_broken(const weft_layout *l, const weft_arch *a)
{
    char legal[WF_LEGAL];
    wf_legal q = {l, a, "replicate", set_replicate, l->replicate, 1, l->dp, 1, 4};
    if (!l->zero)
        return WF_FAIL(
            WEFT_E_INVALID,
            "--replicate %d with --zero 0: nothing is sharded; --zero 1, 2 or "
            "3 shards",
            l->replicate);
    wf_legal_text(&q, legal);
    return WF_FAIL(WEFT_E_INVALID, "--replicate %d does not divide --dp %d; %s %s",
                   l->replicate, l->dp, legal, strchr(legal, ' ') ? "do" : "does");
}

/* ---- recompute ------------------------------------------------------------------- */

static int recompute_holds(const weft_layout *l, const weft_arch *a)
{
    int64_t n;
    return wf_recompute_read(l, 0, NULL, &n) == WEFT_OK &&
           (n == 0 || n == wf_layout_stages(l));
}

static weft_status recompute_broken(const weft_layout *l, const weft_arch *a)
{
    int64_t n;
    WF_TRY(wf_recompute_read(l, 0, NULL, &n));
    return WF_FAIL(
        WEFT_E_INVALID,
        "--recompute %s lists %lld stages, but there are %lld (--pp %d * --vpp "
        "%d)",
        l->recompute, (long long)n, (long long)wf_layout_stages(l), l->pp, l->vpp);
}

const wf_rule wf_rules_plan[] = {
    {"cp-comm", "cp_comm is ring, allgather or ulysses", cp_comm_holds, cp_comm_broken},
    {"cp-heads", "with ulysses tp * cp divides heads", cp_heads_hold, cp_heads_broken},
    {"cp-seq", "2 * cp pieces divide seq (cp with ulysses)", cp_seq_holds,
     cp_seq_broken},
    {"sp-seq", "with sp, tp * cp divides seq", sp_seq_holds, sp_seq_broken},
    {"ep", "ep divides experts and dp", ep_holds, ep_broken},
    {"replicate", "replicate divides dp, and ZeRO shards something", replicate_holds,
     replicate_broken},
    {"recompute", "recompute is one word, or a list of one for each stage",
     recompute_holds, recompute_broken},
    {NULL, NULL, NULL, NULL},
};
