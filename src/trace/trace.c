/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/trace.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

void weft_trace_init(weft_trace *t, int n_ranks, const char *unit, const char *title)
{
    *t = (weft_trace){.n_ranks = n_ranks};
    snprintf(t->unit, sizeof t->unit, "%s", unit);
    snprintf(t->title, sizeof t->title, "%s", title);
}

void weft_trace_clear(weft_trace *t)
{
    for (int64_t i = 0; i < t->n_labels; i++)
        wf_free(t->labels[i]);
    wf_free(t->labels);
    wf_free(t->level);
    wf_free(t->entry);
    weft_trace_init(t, 0, "", "");
}

weft_status weft_trace_add(weft_trace *t, const weft_trace_entry *e)
{
    void *block = t->entry;
    WF_TRY(wf_grow(&block, &t->cap, t->n + 1, sizeof *t->entry));
    t->entry = block;
    t->entry[t->n++] = *e;
    return WEFT_OK;
}

weft_status weft_trace_add_level(weft_trace *t, const weft_trace_level *level)
{
    void *block = t->level;
    WF_TRY(wf_grow(&block, &t->cap_levels, t->n_levels + 1, sizeof *t->level));
    t->level = block;
    t->level[t->n_levels++] = *level;
    return WEFT_OK;
}

weft_status weft_trace_label(weft_trace *t, const char *text, const char **out)
{
    for (int64_t i = 0; i < t->n_labels; i++) {
        if (!strcmp(t->labels[i], text)) {
            *out = t->labels[i];
            return WEFT_OK;
        }
    }
    void *block = t->labels;
    char *copy;
    int64_t size = (int64_t)strlen(text) + 1;
    WF_TRY(wf_grow(&block, &t->cap_labels, t->n_labels + 1, sizeof *t->labels));
    t->labels = block;
    WF_TRY(WF_ALLOC(size, &copy));
    memcpy(copy, text, (size_t)size);
    t->labels[t->n_labels++] = copy;
    *out = copy;
    return WEFT_OK;
}

static weft_status check_levels(const weft_trace *t)
{
    for (int64_t i = 0; i < t->n_levels; i++) {
        const weft_trace_level *l = &t->level[i];
        if (l->rank < 0 || l->rank >= t->n_ranks)
            return WF_FAIL(WEFT_E_INVALID, "level %lld: rank %d of %d ranks",
                           (long long)i, l->rank, t->n_ranks);
        if (!isfinite(l->at) || !isfinite(l->bytes))
            return WF_FAIL(WEFT_E_INVALID, "level %lld: %g bytes at %g", (long long)i,
                           l->bytes, l->at);
    }
    return WEFT_OK;
}

weft_status weft_trace_check(const weft_trace *t)
{
    for (int64_t i = 0; i < t->n; i++) {
        const weft_trace_entry *e = &t->entry[i];
        long long at = (long long)i;
        if (e->rank < 0 || e->rank >= t->n_ranks)
            return WF_FAIL(WEFT_E_INVALID, "entry %lld: rank %d of %d ranks", at,
                           e->rank, t->n_ranks);
        if (e->lane >= WEFT_N_LANES)
            return WF_FAIL(WEFT_E_INVALID, "entry %lld: lane %d is unknown", at,
                           e->lane);
        if (!e->label && weft_op_kind_name(e->op.kind)[0] == '?')
            return WF_FAIL(WEFT_E_INVALID, "entry %lld: op kind %d is unknown", at,
                           e->op.kind);
        if (e->step < 0)
            return WF_FAIL(WEFT_E_INVALID, "entry %lld: step %d is below 0", at,
                           e->step);
        if (!isfinite(e->start) || !isfinite(e->end) || e->end < e->start)
            return WF_FAIL(WEFT_E_INVALID, "entry %lld: runs from %g to %g", at,
                           e->start, e->end);
    }
    return check_levels(t);
}
