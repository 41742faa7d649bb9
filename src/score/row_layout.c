/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "score/row.h"

static weft_status degree(const wf_row *r, wf_column c, weft_run *run, int32_t missing,
                          int32_t *out)
{
    int64_t x;
    WF_TRY(wf_row_count(r, c, run, &x));
    *out = x >= 1 && x <= 1000000 ? (int32_t)x : missing;
    return WEFT_OK;
}

/* "0" .. "3"; FSDP shards all, a distributed optimizer its state, which is what programs of
 * today do where a table says nothing. */
static int32_t zero_stage(const wf_row *r, int old)
{
    const char *text = wf_row_text(r, WF_COL_ZERO);
    if (!*text) return !old;
    if (text[0] >= '0' && text[0] <= '3' && !text[1]) return text[0] - '0';
    for (int i = 1; i <= 3; i++) {
        char words[] = "ZeRO-0";
        words[5] = (char)('0' + i);
        if (wf_row_has(r, WF_COL_ZERO, words)) return i;
    }
    if (wf_row_has(r, WF_COL_ZERO, "FSDP")) return 3;
    return wf_row_has(r, WF_COL_ZERO, "distributed optimizer");
}

static void set_recompute(const wf_row *r, weft_run *run)
{
    const char *what = wf_row_has(r, WF_COL_RECOMPUTE, "full")        ? "full"
                       : wf_row_has(r, WF_COL_RECOMPUTE, "selective") ? "selective"
                                                                      : "none";
    run->open_recompute = !*wf_row_text(r, WF_COL_RECOMPUTE);
    snprintf(run->layout.recompute, sizeof run->layout.recompute, "%s", what);
}

static void set_schedule(const wf_row *r, weft_run *run)
{
    weft_layout *l = &run->layout;
    const char *kind = "1f1b";

    if (wf_row_has(r, WF_COL_SCHEDULE, "ZB-1p"))
        kind = "zb-h1";
    else if (wf_row_has(r, WF_COL_SCHEDULE, "ZB-2p"))
        kind = "zb-h2";
    else if (wf_row_has(r, WF_COL_SCHEDULE, "ZBV"))
        kind = "zb-v";
    else if (wf_row_has(r, WF_COL_SCHEDULE, "GPipe"))
        kind = "gpipe";
    else if (l->pp > 1 && (wf_row_has(r, WF_COL_SCHEDULE, "interleaved") ||
                           wf_row_has(r, WF_COL_SCHEDULE, "1F1B-I") || l->vpp > 1))
        kind = "interleaved";
    /* "max": as many chunks as there are layers, embedding and head counted */
    if (wf_row_has(r, WF_COL_VPP, "max"))
        l->vpp = (int32_t)((run->arch.layers + 2 + l->pp - 1) / l->pp);
    if (!strcmp(kind, "interleaved") && l->vpp < 2)
        l->vpp = run->arch.layers % (2 * l->pp) == 0 ? 2 : 3;
    if (strcmp(kind, "interleaved") && strcmp(kind, "zb-v")) l->vpp = 1;
    snprintf(l->schedule, sizeof l->schedule, "%s", kind);
}

/* Layers that do not divide: embedding and head count as one each, so the ends hold fewer;
 * what is left over goes to the first of the others. */
static void set_stages(weft_run *run)
{
    weft_layout *l = &run->layout;
    int64_t n = (int64_t)l->pp * l->vpp, layers = run->arch.layers;
    int64_t slots = layers + 2, each = slots / n, rest = slots % n;
    int64_t count[WEFT_BALANCE_MAX_STAGES];
    weft_text text = {0};

    if (layers % n == 0 || n < 2 || n > WEFT_BALANCE_MAX_STAGES) return;
    for (int64_t s = 0; s < n; s++)
        /* one more on the `rest` stages after the first */
        count[s] = each + (s >= 1 && s <= rest) - (s == 0) - (s == n - 1);
    weft_writer out = weft_text_writer(&text);
    weft_stages_write_counts((int)n, count, &out);
    if (text.s && strlen(text.s) < sizeof l->stage_layers)
        strcpy(l->stage_layers, text.s);
    weft_text_clear(&text);
}

static weft_status check(const wf_row *r, weft_run *run)
{
    weft_layout *l = &run->layout;
    int64_t gpus;

    WF_TRY(wf_row_count(r, WF_COL_GPUS, run, &gpus));
    if (*run->skip) return WEFT_OK;
    if (weft_layout_world(l) != gpus)
        wf_run_skip(run,
                    "tp %d * cp %d * pp %d * dp %d = %d ranks, but gpus is %" PRId64,
                    l->tp, l->cp, l->pp, l->dp, weft_layout_world(l), gpus);
    else if (weft_layout_plan_check(l, &run->arch) != WEFT_OK)
        wf_run_skip(run, "%s", weft_status_message());
    return WEFT_OK;
}

static weft_status batch(const wf_row *r, weft_run *run)
{
    weft_layout *l = &run->layout;

    WF_TRY(wf_row_count(r, WF_COL_MICRO_BATCH, run, &l->micro_batch));
    WF_TRY(wf_row_count(r, WF_COL_GLOBAL_BATCH, run, &l->global_batch));
    WF_TRY(wf_row_count(r, WF_COL_SEQ, run, &l->seq));
    if (!l->global_batch) wf_run_skip(run, "global_batch is not given");
    if (!l->micro_batch) wf_run_skip(run, "micro_batch is not given");
    return WEFT_OK;
}

weft_status wf_row_layout(const wf_row *r, weft_run *out)
{
    weft_layout *l = &out->layout;
    int old = !out->options.fused_attention;

    weft_layout_defaults(l);
    WF_TRY(degree(r, WF_COL_TP, out, 0, &l->tp));
    WF_TRY(degree(r, WF_COL_PP, out, 0, &l->pp));
    WF_TRY(degree(r, WF_COL_DP, out, 0, &l->dp));
    WF_TRY(degree(r, WF_COL_CP, out, 1, &l->cp));
    WF_TRY(degree(r, WF_COL_VPP, out, 1, &l->vpp));
    WF_TRY(degree(r, WF_COL_EP, out, 1, &l->ep));
    if (!l->tp || !l->pp || !l->dp) wf_run_skip(out, "tp, pp or dp is not given");
    if (!l->tp) l->tp = 1;
    if (!l->pp) l->pp = 1;
    if (!l->dp) l->dp = 1;
    if (!out->arch.experts) l->ep = 1;
    WF_TRY(batch(r, out));
    l->zero = zero_stage(r, old);
    l->sp = *wf_row_text(r, WF_COL_SP) ? wf_row_has(r, WF_COL_SP, "yes")
                                       : l->tp > 1 && !old;
    if (l->tp == 1) l->sp = 0;
    set_recompute(r, out);
    set_schedule(r, out);
    set_stages(out);
    return check(r, out);
}
