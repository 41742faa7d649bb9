/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_LAYOUT_RULE_H
#define WF_LAYOUT_RULE_H
#include <weft/layout.h>

/* One rule. Rules are tested in the order of the table: each may rely on those before. */
typedef struct wf_rule {
    const char *name, *text;
    int (*holds)(const weft_layout *l, const weft_arch *a);
    /* called when it does not hold: the failure, with flag, numbers and nearest legal */
    weft_status (*broken)(const weft_layout *l, const weft_arch *a);
} wf_rule;

/* Rules by file; each array ends with a row without a name. */
extern const wf_rule wf_rules_split[];  /* degrees against the model          */
extern const wf_rule wf_rules_stages[]; /* layers against pipeline stages     */
extern const wf_rule wf_rules_plan[];   /* cp, sp, ep, HSDP, recompute         */
extern const wf_rule wf_rules_batch[];  /* schedule, batch, sequence, vocabulary */

/* What `stage` recomputes, of a text of one word (then *n_stages is 0) or a list. out and
 * n_stages may be NULL. */
weft_status wf_recompute_read(const weft_layout *l, int64_t stage, weft_recompute *out,
                              int64_t *n_stages) WEFT_MUST_CHECK;

/* Of a checked layout: what `stage` recomputes; the same goes for all before *to. */
weft_recompute wf_recompute_run(const weft_layout *l, int64_t stage, int64_t *to);

/* Index of a rule in the whole table; its name is known to exist. */
int wf_rule_index(const char *name);
/* Do the rules 0 .. last hold?  last -1: all of them. Quick: builds no words, though one
 * may be left behind; for searches. */
WEFT_API int wf_rules_hold(const weft_layout *l, const weft_arch *a, int last);

/* Legal values of one option, everything else kept: up to `each` values on either side
 * of `from` within lo .. hi, in steps of `step`, ascending, apart by blanks, "" when there
 * is none. Legal is what passes the whole table, or where nothing does, the rules up to
 * and including `rule`. buf >= WF_LEGAL bytes; returns buf. */
enum { WF_LEGAL = 192 };
typedef struct wf_legal {
    const weft_layout *l;
    const weft_arch *a;
    const char *rule;
    void (*set)(weft_layout *l, int64_t value);
    int64_t from, lo, hi, step;
    int each;
} wf_legal;
const char *wf_legal_text(const wf_legal *q, char *buf);
/* The same, the values themselves: returns how many, at most 2 * each <= WF_LEGAL_MAX. */
enum { WF_LEGAL_MAX = 24 };
int wf_legal_values(const wf_legal *q, int64_t *value);
#endif
