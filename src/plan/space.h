/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_PLAN_SPACE_H
#define WF_PLAN_SPACE_H
#include <weft/plan.h>

/* One set of degrees. */
typedef struct wf_degrees {
    int32_t tp, cp, pp, dp, ep;
} wf_degrees;

/* By wf_variant.rank. */
extern const char *const wf_recompute_words[3];

/* What varies in a node, apart from the order. */
typedef struct wf_variant {
    int32_t zero, replicate, sp;
    const char *recompute, *cp_comm;
    int rank; /* of recompute: 0 none, 1 selective, 2 full; 3 a list */
} wf_variant;

enum {
    WF_MOST_ORDERS = 24,
    WF_MOST_MICROS = 256,
    WF_MOST_COPIES = 96, /* values of replicate: more than a million ranks have */
    WF_MOST_WAYS = 6,    /* of sp and cp_comm */
    WF_MOST_VARIANTS = WF_MOST_WAYS * (3 + 9 * WF_MOST_COPIES),
    WF_RULE_MEMORY = 40,
    WF_RULE_TOOL,
    WF_RULE_RANKS
};

/* Variants of one sp and cp_comm: by replicate, by zero, by recompute, each ascending. */
typedef struct wf_way {
    const wf_variant *v;
    int n;
} wf_way;

/* The space of a search: what may vary, and what was given up for which rule. */
typedef struct wf_space {
    const weft_cost_model *q;
    const weft_plan_options *o;
    int64_t rejected[WEFT_PLAN_MAX_RULES]; /* by rule index, WF_RULE_MEMORY, _TOOL */

    weft_layout broke[WEFT_PLAN_MAX_RULES]; /* the first of each */

    /* variants of nodes of the degrees asked for last */
    wf_degrees asked;
    int n_variants, n_ways;
    wf_way way[WF_MOST_WAYS];
    wf_variant variant[WF_MOST_VARIANTS];
} wf_space;

int wf_is_fixed(const wf_space *s, weft_dim dim);

/* Degrees whose product is the machine, legal for the model as far as degrees go. Returns
 * how many were written to *out (to be freed). */
weft_status wf_space_degrees(wf_space *s, wf_degrees **out, int64_t *n) WEFT_MUST_CHECK;

/* Can the degrees that are fixed share the machine's ranks? */
int wf_space_shares_ranks(const wf_space *s);

/* Orders of the axes that have more than one rank, all different. */
int wf_space_orders(const wf_space *s, const wf_degrees *d, char order[][24]);

/* Everything of a layout but ZeRO, sequence parallelism, recompute, the algorithm of cp and
 * the order, which stand at 0, off, none (or what is given), a legal one and the first order.
 * It is legal. */
typedef weft_status wf_visit_node(void *ctx, const weft_layout *l);
weft_status wf_space_nodes(wf_space *s, const wf_degrees *d, wf_visit_node *visit,
                           void *ctx) WEFT_MUST_CHECK;

/* Fills n_variants, variant, n_ways and way with the legal ones of the node's degrees. */
void wf_space_variants(wf_space *s, const weft_layout *node);
void wf_variant_apply(const wf_variant *v, weft_layout *l);

/* Index of the first rule of the table that a layout breaks; -1: none. */
int wf_first_broken(const weft_layout *l, const weft_arch *a);
void wf_space_report(const wf_space *s, weft_plan *out);
/* Without a row: why; needs what wf_space_report() filled. */
void wf_space_why_none(const wf_space *s, weft_plan *out);
#endif
