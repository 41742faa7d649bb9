/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/space.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "layout/rule.h"
#include "layout/split.h"
#include "schedule/kind.h"

int wf_is_fixed(const wf_space *s, weft_dim dim)
{
    return s->o->fixed >> dim & 1;
}

int wf_first_broken(const weft_layout *l, const weft_arch *a)
{
    int low = 0, high = weft_layout_rule_count() - 1;

    if (wf_rules_hold(l, a, -1)) return -1;
    while (low < high) { /* rules hold up to the first that does not */
        int middle = (low + high) / 2;
        if (wf_rules_hold(l, a, middle))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int is_legal(wf_space *s, const weft_layout *l)
{
    int rule = wf_first_broken(l, &s->q->arch);
    if (rule < 0) return 1;
    if (!s->rejected[rule]++) s->broke[rule] = *l;
    return 0;
}

/* ---- degrees ------------------------------------------------------------------------ */

typedef struct degree_list {
    wf_space *s;
    int64_t n, cap;
    wf_degrees *d;
} degree_list;

/* A layout of these degrees that breaks no other rule than theirs: one layer a stage is
 * not asked for, nor a batch. */
static weft_layout probe(const wf_space *s, const wf_degrees *d)
{
    weft_layout l = s->o->given;
    l.tp = d->tp;
    l.cp = d->cp;
    l.dp = d->dp;
    l.ep = d->ep;
    l.pp = l.vpp = l.replicate = 1;
    l.zero = l.sp = l.group = 0; /* a group is of the schedule */
    l.micro_batch = 1;
    if (!wf_is_fixed(s, WEFT_DIM_CP_COMM))
        snprintf(l.cp_comm, sizeof l.cp_comm, "allgather");
    snprintf(l.schedule, sizeof l.schedule, "1f1b");
    snprintf(l.recompute, sizeof l.recompute, "none");
    snprintf(l.placement, sizeof l.placement, "auto");
    snprintf(l.stage_layers, sizeof l.stage_layers, "even");
    snprintf(l.order, sizeof l.order, "tp,cp,pp,dp");
    return l;
}

static int allowed(const wf_space *s, weft_dim dim, int given, int value)
{
    return !wf_is_fixed(s, dim) || given == value;
}

static weft_status add_degrees(degree_list *x, const wf_degrees *d)
{
    wf_degrees now = *d;
    const weft_arch *a = &x->s->q->arch;
    int64_t most = a->experts > 1 ? a->experts : 1;

    for (now.ep = 1; now.ep <= most && now.ep <= now.dp; now.ep++) {
        if (now.dp % now.ep || most % now.ep) continue;
        if (!allowed(x->s, WEFT_DIM_EP, x->s->o->given.ep, now.ep)) continue;
        weft_layout l = probe(x->s, &now);
        if (!is_legal(x->s, &l)) continue;
        WF_TRY(wf_grow(&x->d, &x->cap, x->n + 1, sizeof *x->d));
        x->d[x->n++] = now;
    }
    return WEFT_OK;
}

static weft_status all_pp(degree_list *x, int tp, int cp, int left)
{
    const weft_layout *g = &x->s->o->given;
    for (int pp = 1; pp <= left; pp++) {
        if (left % pp || pp > x->s->q->arch.layers) continue;
        wf_degrees d = {tp, cp, pp, left / pp, 1};
        if (!allowed(x->s, WEFT_DIM_PP, g->pp, pp)) continue;
        if (!allowed(x->s, WEFT_DIM_DP, g->dp, d.dp)) continue;
        WF_TRY(add_degrees(x, &d));
    }
    return WEFT_OK;
}

static weft_status all_cp(degree_list *x, int tp, int left)
{
    for (int cp = 1; cp <= left; cp++) {
        if (left % cp || !allowed(x->s, WEFT_DIM_CP, x->s->o->given.cp, cp)) continue;
        wf_degrees d = {tp, cp, 1, 1, 1};
        weft_layout l = probe(x->s, &d);
        if (is_legal(x->s, &l)) WF_TRY(all_pp(x, tp, cp, left / cp));
    }
    return WEFT_OK;
}

int wf_space_shares_ranks(const wf_space *s)
{
    const weft_layout *g = &s->o->given;
    const int32_t degree[4] = {g->tp, g->cp, g->pp, g->dp};
    int64_t given = 1, world = weft_machine_ranks(&s->q->machine);
    int n = 0;

    for (int d = 0; d < 4; d++) { /* WEFT_DIM_TP and so on */
        if (!wf_is_fixed(s, (weft_dim)d)) continue;
        n++;
        if (degree[d] < 1 || degree[d] > world) return 0;
        given *= degree[d];
        if (given > world) return 0;
    }
    return n == 4 ? given == world : world % given == 0;
}

weft_status wf_space_degrees(wf_space *s, wf_degrees **out, int64_t *n)
{
    degree_list x = {.s = s};
    int world = weft_machine_ranks(&s->q->machine);
    weft_status st = WEFT_OK;

    if (!wf_space_shares_ranks(s)) s->rejected[WF_RULE_RANKS]++;
    for (int tp = 1; tp <= world && st == WEFT_OK; tp++) {
        if (world % tp || !allowed(s, WEFT_DIM_TP, s->o->given.tp, tp)) continue;
        wf_degrees d = {tp, 1, 1, 1, 1};
        weft_layout l = probe(s, &d);
        if (is_legal(s, &l)) st = all_cp(&x, tp, world / tp);
    }
    if (st != WEFT_OK) {
        wf_free(x.d);
        return st;
    }
    *out = x.d;
    *n = x.n;
    return WEFT_OK;
}

/* ---- orders ------------------------------------------------------------------------- */

static void write_order(const int *axis, char out[24])
{
    int n = 0;
    for (int i = 0; i < 4; i++)
        n += snprintf(out + n, 24 - (size_t)n, "%s%s", i ? "," : "",
                      weft_axis_name(axis[i]));
}

/* Orders of axis[at .. 3]. Axes of one rank stay where they are: their place means
 * nothing. */
static int permute(int *axis, const int *moves, int at, int n, char order[][24])
{
    while (at < 4 && !moves[at])
        at++;
    if (at >= 4) {
        write_order(axis, order[n]);
        return n + 1;
    }
    for (int i = at; i < 4; i++) {
        if (!moves[i]) continue;
        int x = axis[i];
        axis[i] = axis[at];
        axis[at] = x;
        n = permute(axis, moves, at + 1, n, order);
        axis[at] = axis[i];
        axis[i] = x;
    }
    return n;
}

int wf_space_orders(const wf_space *s, const wf_degrees *d, char order[][24])
{
    int axis[4] = {WEFT_TP, WEFT_CP, WEFT_PP, WEFT_DP};
    const int moves[4] = {d->tp > 1, d->cp > 1, d->pp > 1, d->dp > 1};

    if (wf_is_fixed(s, WEFT_DIM_ORDER)) {
        memcpy(order[0], s->o->given.order, 24);
        return 1;
    }
    return permute(axis, moves, 0, 0, order);
}

/* ---- nodes -------------------------------------------------------------------------- */

typedef struct walk {
    wf_space *s;
    const wf_degrees *d;
    wf_visit_node *visit;
    void *ctx;
    weft_layout l;
    int n_micros;
    int64_t micro[WF_MOST_MICROS]; /* ascending */
} walk;

static void list_micros(walk *w)
{
    const wf_space *s = w->s;
    int64_t share = s->o->given.global_batch / w->d->dp;

    w->n_micros = 0;
    if (wf_is_fixed(s, WEFT_DIM_MICRO_BATCH)) {
        w->micro[w->n_micros++] = s->o->given.micro_batch;
        return;
    }
    for (int64_t b = 1; b <= share && w->n_micros < WF_MOST_MICROS; b++)
        if (share % b == 0) w->micro[w->n_micros++] = b;
}

static weft_status visit_micros(walk *w)
{
    for (int i = 0; i < w->n_micros; i++) {
        w->l.micro_batch = w->micro[i];
        if (is_legal(w->s, &w->l)) WF_TRY(w->visit(w->ctx, &w->l));
    }
    return WEFT_OK;
}

/* Do the counts that a balanced split came to say what "even" says? */
static int is_even(const weft_layout *l, const weft_arch *a)
{
    int64_t stages = wf_layout_stages(l);
    return a->layers % stages == 0 && (stages == 1 || !strchr(l->stage_layers, ','));
}

/* Even where the layers divide; balanced where that is another split. */
static weft_status visit_splits(walk *w)
{
    static const char *const split[] = {"even", "balanced"};
    const weft_arch *a = &w->s->q->arch;

    if (wf_is_fixed(w->s, WEFT_DIM_STAGE_LAYERS)) return visit_micros(w);
    for (int i = 0; i < 2; i++) {
        snprintf(w->l.stage_layers, sizeof w->l.stage_layers, "%s", split[i]);
        if (!wf_rules_hold(&w->l, a, wf_rule_index("pp-layers"))) continue;
        if (i == 1 && w->l.pp * w->l.vpp == 1) continue;
        weft_layout_settle_stages(&w->l, a);
        if (i == 1 && is_even(&w->l, a)) continue;
        WF_TRY(visit_micros(w));
    }
    return WEFT_OK;
}

static int most_chunks(const walk *w)
{
    int64_t n = w->s->q->arch.layers / w->d->pp;
    /* two pipelines in opposite directions hold each stage twice */
    return n > 127 ? 255 : 2 * (int)n < 2 ? 2 : 2 * (int)n;
}

static weft_status visit_chunks(walk *w)
{
    int rule = wf_rule_index("vpp-schedule"), stages = wf_rule_index("pp-layers");
    int fixed = wf_is_fixed(w->s, WEFT_DIM_VPP);
    int last = w->d->pp == 1 ? 1 : most_chunks(w);

    for (int v = 1; v <= last || fixed; v++) {
        if (fixed) v = w->s->o->given.vpp;
        w->l.vpp = v;
        w->l.micro_batch = 1;
        snprintf(w->l.stage_layers, sizeof w->l.stage_layers, "balanced");
        int fits = wf_rules_hold(&w->l, &w->s->q->arch, stages) &&
                   wf_rules_hold(&w->l, &w->s->q->arch, rule);
        memcpy(w->l.stage_layers, w->s->o->given.stage_layers,
               sizeof w->l.stage_layers);
        if (fits) WF_TRY(visit_splits(w));
        if (fixed) break;
    }
    return WEFT_OK;
}

/* Kinds whose order is written out, that train, and whose weights change between steps.
 * With one stage all are alike; 1f1b holds least. */
static int is_searched(const wf_space *s, const weft_schedule_kind *k, int pp)
{
    const char *name = weft_schedule_kind_name(k);
    if (wf_is_fixed(s, WEFT_DIM_SCHEDULE)) return !strcmp(name, s->o->given.schedule);
    if (pp == 1) return !strcmp(name, "1f1b");
    return weft_schedule_kind_trains(k) && !weft_schedule_kind_asynchronous(k) &&
           !k->searched;
}

weft_status wf_space_nodes(wf_space *s, const wf_degrees *d, wf_visit_node *visit,
                           void *ctx)
{
    walk w = {.s = s, .d = d, .visit = visit, .ctx = ctx, .l = s->o->given};
    char order[WF_MOST_ORDERS][24];

    wf_space_orders(s, d, order);
    weft_layout probed = probe(s, d);
    memcpy(w.l.order, order[0], sizeof order[0]);
    memcpy(w.l.cp_comm, probed.cp_comm, sizeof probed.cp_comm);
    w.l.tp = d->tp;
    w.l.cp = d->cp;
    w.l.pp = d->pp;
    w.l.dp = d->dp;
    w.l.ep = d->ep;
    w.l.zero = w.l.sp = 0;
    if (!wf_is_fixed(s, WEFT_DIM_RECOMPUTE))
        snprintf(w.l.recompute, sizeof w.l.recompute, "none");
    w.l.replicate = 1;
    if (!wf_is_fixed(s, WEFT_DIM_GROUP)) w.l.group = 0;
    list_micros(&w);
    for (int i = 0; i < weft_schedule_kind_count(); i++) {
        const weft_schedule_kind *k = weft_schedule_kind_at(i);
        if (!is_searched(s, k, d->pp)) continue;
        snprintf(w.l.schedule, sizeof w.l.schedule, "%s", weft_schedule_kind_name(k));
        WF_TRY(visit_chunks(&w));
    }
    return WEFT_OK;
}

/* ---- variants ----------------------------------------------------------------------- */

const char *const wf_recompute_words[3] = {"none", "selective", "full"};
static const char *const cp_comms[] = {"ring", "allgather", "ulysses"};

static void add_recomputes(wf_space *s, wf_variant at)
{
    int fixed = wf_is_fixed(s, WEFT_DIM_RECOMPUTE), n = fixed ? 1 : 3;

    for (int i = 0; i < n; i++) {
        at.recompute = fixed ? s->o->given.recompute : wf_recompute_words[i];
        at.rank = 3;
        for (int k = 0; k < 3; k++)
            if (!strcmp(at.recompute, wf_recompute_words[k])) at.rank = k;
        s->variant[s->n_variants++] = at;
    }
}

static void add_zeros(wf_space *s, const weft_layout *node, wf_variant at)
{
    int fixed = wf_is_fixed(s, WEFT_DIM_ZERO);
    int last = node->dp > 1 || fixed ? 3 : 0; /* one replica shards nothing */

    for (int z = at.replicate > 1; z <= last; z++) {
        if (fixed && z != s->o->given.zero) continue;
        at.zero = z;
        add_recomputes(s, at);
    }
}

/* Copies of shards keep the traffic of a micro-batch among the shards: that pays where these
 * may lie next to each other inside the last tier's domains, and the copies apart. */
static int may_copy(const wf_space *s, const weft_layout *node, int64_t copies)
{
    const weft_machine *m = &s->q->machine;
    int last = weft_machine_tier(m, 1, weft_layout_world(node));
    int64_t shards = (int64_t)node->dp * node->cp / copies;

    return last > 0 && shards > 1 && shards <= m->tier[last - 1].ranks;
}

static void add_copies(wf_space *s, const weft_layout *node, wf_variant at)
{
    int fixed = wf_is_fixed(s, WEFT_DIM_REPLICATE), n = 0;

    for (int32_t r = 1; r <= node->dp && n < WF_MOST_COPIES; r++) {
        weft_layout l = *node;
        if (fixed ? r != s->o->given.replicate
                  : node->dp % r || (r > 1 && !may_copy(s, node, r)))
            continue;
        l.replicate = at.replicate = r;
        l.zero = r > 1;
        if (!is_legal(s, &l)) continue;
        add_zeros(s, node, at);
        n++;
    }
}

/* The words are short and known to fit; a search does this a million times. */
static void put_word(char *to, const char *word)
{
    memcpy(to, word, strlen(word) + 1);
}

static void add_way(wf_space *s, const weft_layout *node, int sp, const char *cp_comm)
{
    int from = s->n_variants;
    weft_layout l = *node;

    l.sp = sp;
    put_word(l.cp_comm, cp_comm);
    if (!wf_rules_hold(&l, &s->q->arch, -1)) return;
    add_copies(s, node, (wf_variant){.sp = sp, .cp_comm = cp_comm});
    if (s->n_variants == from) return;
    s->way[s->n_ways++] = (wf_way){&s->variant[from], s->n_variants - from};
}

/* Rules about what varies look at degrees alone: what they say of one node goes for all nodes
 * of the degrees. */
void wf_space_variants(wf_space *s, const weft_layout *node)
{
    wf_degrees d = {node->tp, node->cp, node->pp, node->dp, node->ep};
    int sp_fixed = wf_is_fixed(s, WEFT_DIM_SP);
    int cp_fixed = wf_is_fixed(s, WEFT_DIM_CP_COMM);

    if (!memcmp(&d, &s->asked, sizeof d)) return;
    s->asked = d;
    s->n_variants = s->n_ways = 0;
    for (int sp = 0; sp < 2; sp++)
        for (int c = 0; c < 3; c++) {
            if (sp_fixed ? s->o->given.sp != sp : sp && node->tp == 1) continue;
            if (cp_fixed ? strcmp(s->o->given.cp_comm, cp_comms[c])
                         : node->cp == 1 && c > 0)
                continue;
            add_way(s, node, sp, cp_comms[c]);
        }
}

void wf_variant_apply(const wf_variant *v, weft_layout *l)
{
    l->zero = v->zero;
    l->replicate = v->replicate;
    l->sp = v->sp;
    put_word(l->recompute, v->recompute);
    put_word(l->cp_comm, v->cp_comm);
}

/* ---- what was given up -------------------------------------------------------------- */

static int most_first(const void *a, const void *b)
{
    const weft_plan_rejection *x = a, *y = b;
    if (x->count != y->count) return x->count < y->count ? 1 : -1;
    return strcmp(x->rule, y->rule);
}

void wf_space_report(const wf_space *s, weft_plan *out)
{
    out->n_rejected = 0;
    for (int i = 0; i < WEFT_PLAN_MAX_RULES; i++) {
        if (!s->rejected[i]) continue;
        const char *rule = i == WF_RULE_MEMORY  ? "memory"
                           : i == WF_RULE_TOOL  ? "tool"
                           : i == WF_RULE_RANKS ? "ranks"
                                                : weft_layout_rule_name(i);
        out->rejected[out->n_rejected++] = (weft_plan_rejection){rule, s->rejected[i]};
    }
    qsort(out->rejected, (size_t)out->n_rejected, sizeof *out->rejected, most_first);
}

/* After the message that `given` does not divide the ranks: the nearest that do. */
static void say_nearest(int ranks, int64_t given, char *why, size_t size)
{
    size_t n = strlen(why);
    int below = ranks, above = ranks;

    for (int d = 1; d <= ranks; d++) {
        if (ranks % d) continue;
        if (d <= given) below = d;
        if (d >= given && above == ranks) above = d;
    }
    if (below < above)
        snprintf(why + n, size - n, ", or with these ranks %d or %d", below, above);
    else
        snprintf(why + n, size - n, ", or with these ranks %d", below);
}

/* Nothing is legal: the message of the rule that most broke. */
static void say_broken(const wf_space *s, char *why, size_t size)
{
    weft_layout l = s->o->given;
    int rule = -1, ranks = weft_machine_ranks(&s->q->machine);

    for (int i = 0; i < WF_RULE_MEMORY; i++)
        if (s->rejected[i] && (rule < 0 || s->rejected[i] > s->rejected[rule]))
            rule = i;
    int copies = wf_rule_index("replicate"); /* that was asked for, and for all */
    if (wf_is_fixed(s, WEFT_DIM_REPLICATE) && s->rejected[copies]) rule = copies;
    if (!wf_space_shares_ranks(s) && weft_layout_resolve(&l, ranks, NULL) != WEFT_OK) {
        int degrees = (l.tp > 1) + (l.cp > 1) + (l.pp > 1) + (l.dp > 1);
        snprintf(why, size, "%s", weft_status_message());
        if (degrees == 1)
            say_nearest(ranks,
                        (int64_t)(l.tp > 1 ? l.tp : 1) * (l.cp > 1 ? l.cp : 1) *
                            (l.pp > 1 ? l.pp : 1) * (l.dp > 1 ? l.dp : 1),
                        why, size);
    } else if (rule >= 0 &&
               weft_layout_plan_check(&s->broke[rule], &s->q->arch) != WEFT_OK)
        snprintf(why, size, "%s", weft_status_message());
    else
        snprintf(why, size, "no layout has all that is given");
}

void wf_space_why_none(const wf_space *s, weft_plan *out)
{
    char *why = out->why_none;
    size_t size = sizeof out->why_none;
    long long n = out->counts.enumerated;

    if (!n)
        say_broken(s, why, size);
    else if (s->rejected[WF_RULE_TOOL])
        snprintf(why, size, "%lld of %lld layouts fit, but %s can run none of them",
                 (long long)s->rejected[WF_RULE_TOOL], n,
                 weft_tool_name((weft_tool)s->o->tool));
    else
        snprintf(why, size, "all %lld layouts are too large for %.1f GB a rank", n,
                 s->q->machine.memory_bytes / 1e9);
}
