/* SPDX-License-Identifier: Apache-2.0 */
/* Which layers a stage of a layout holds: even, balanced, or as the user wrote them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "layout/split.h"
#include "schedule/kind.h"

int64_t wf_layout_stages(const weft_layout *l)
{
    const weft_schedule_kind *k = weft_schedule_kind_find(l->schedule);
    int64_t chunks = (int64_t)l->pp * l->vpp;

    /* each stage is held twice; an odd number is refused by a rule of its own */
    return k && k->two_ways ? (chunks + 1) / 2 : chunks;
}

int wf_stages_even(const weft_layout *l)
{
    return !strcmp(l->stage_layers, "even");
}

int wf_stages_balanced(const weft_layout *l)
{
    return !strcmp(l->stage_layers, "balanced");
}

/* ---- balanced -------------------------------------------------------------------- */

/* Forward FLOPs of a token: a block with its attention scores, which the kernels compute as
 * a full square; the output layer over the padded vocabulary; an addition per value in the
 * embedding. TP divides them alike. Where a model has layers of two kinds, all count as its
 * last. */
typedef struct flops {
    double block, embed, head;
} flops;

static flops flops_of(const weft_layout *l, const weft_arch *a)
{
    double hidden = (double)a->hidden, rows = (double)weft_layout_padded_vocab(l, a);
    return (flops){weft_arch_layer_flops(a, a->layers - 1, l->seq, 0), hidden,
                   2 * hidden * rows};
}

/* Layers are equal, so each goes to the stage that has least work; the earliest where
 * that is equal. That is what weft_stages_balance() finds for them, without its tables. */
wf_balanced wf_layout_balance(const weft_layout *l, const weft_arch *a)
{
    flops f = flops_of(l, a);
    int64_t between = wf_layout_stages(l) - 2;
    wf_balanced b = {between + 2, 1, between, 1};

    if (between < 0) return (wf_balanced){1, a->layers, 0, 0};
    for (int64_t left = a->layers - b.stages; left > 0; left--) {
        double first = f.embed + f.block * (double)b.first;
        double middle = between ? f.block * (double)(b.middle / between) : INFINITY;
        double last = f.head + f.block * (double)b.last;
        if (first <= middle && first <= last)
            b.first++;
        else if (middle <= last)
            b.middle++;
        else
            b.last++;
    }
    return b;
}

int64_t wf_balanced_count(const wf_balanced *b, int64_t stage)
{
    int64_t between = b->stages - 2;
    if (stage == 0) return b->first;
    if (stage == b->stages - 1) return b->last;
    return b->middle / between + (stage - 1 < b->middle % between);
}

static int64_t balanced_first(const wf_balanced *b, int64_t stage)
{
    int64_t between = b->stages - 2, inner = stage - 1;
    if (stage == 0) return 0;
    if (stage == b->stages - 1) return b->first + b->middle;
    int64_t more = inner < b->middle % between ? inner : b->middle % between;
    return b->first + inner * (b->middle / between) + more;
}

/* At most four runs of equal stages, whatever their number. */
const char *wf_balanced_text(const weft_layout *l, const weft_arch *a, char *buf)
{
    wf_balanced b = wf_layout_balance(l, a);
    int used = 0;

    for (int64_t s = 0, n; s < b.stages; s += n < 3 ? 1 : n) {
        int64_t count = wf_balanced_count(&b, s);
        for (n = 1; s + n < b.stages && wf_balanced_count(&b, s + n) == count;)
            n++;
        size_t room = (size_t)(WF_BALANCED_TEXT - used);
        used += snprintf(buf + used, room, "%s%lld", s ? "," : "", (long long)count);
        room = (size_t)(WF_BALANCED_TEXT - used);
        if (n > 2) used += snprintf(buf + used, room, "*%lld", (long long)n);
    }
    return buf;
}

void weft_layout_settle_stages(weft_layout *l, const weft_arch *a)
{
    char text[WF_BALANCED_TEXT];

    if (!wf_stages_balanced(l)) return;
    snprintf(l->stage_layers, sizeof l->stage_layers, "%s",
             wf_balanced_text(l, a, text));
}

/* ---- all of them ----------------------------------------------------------------- */

void weft_layout_stage_layers(const weft_layout *l, const weft_arch *a, int stage,
                              int64_t *first, int64_t *count)
{
    if (wf_stages_even(l)) {
        *count = a->layers / wf_layout_stages(l);
        *first = stage * *count;
    } else if (wf_stages_balanced(l)) {
        wf_balanced b = wf_layout_balance(l, a);
        *count = wf_balanced_count(&b, stage);
        *first = balanced_first(&b, stage);
    } else {
        wf_stages s = {.stage = stage};
        weft_status st = wf_stages_read(l->stage_layers, &s);
        *count = st == WEFT_OK ? s.count : 0; /* no other in a checked layout */
        *first = s.first;
    }
}
