/* SPDX-License-Identifier: Apache-2.0 */
/* Stages as a line of Megatron-LM splits the layers (get_num_layers_to_build()). */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "plan/read_megatron.h"

static weft_status set_counts(weft_layout *l, int n, const int64_t *count)
{
    weft_text text = {NULL, 0, 0};
    weft_writer w = weft_text_writer(&text);

    weft_stages_write_counts(n, count, &w);
    weft_status st = weft_writer_status(&w);
    if (st == WEFT_OK && text.n >= sizeof l->stage_layers)
        st =
            WF_FAIL(WEFT_E_INVALID, "the layers of %d stages take more than %d letters",
                    n, (int)sizeof l->stage_layers - 1);
    if (st == WEFT_OK) snprintf(l->stage_layers, sizeof l->stage_layers, "%s", text.s);
    weft_text_clear(&text);
    return st;
}

/* Layers of each pipeline rank, all its chunks; slots that embedding and loss take. */
static weft_status rank_layers(const wf_flags *f, const weft_layout *l, int64_t layers,
                               int64_t *first, int64_t *middle, int64_t *last)
{
    int64_t left = layers, ranks = l->pp;

    *first = *last = -1;
    WF_TRY(wf_flags_i64(f, "--decoder-first-pipeline-num-layers", first));
    WF_TRY(wf_flags_i64(f, "--decoder-last-pipeline-num-layers", last));
    if (*first >= 0) left -= *first, ranks--;
    if (*last >= 0) left -= *last, ranks--;
    if (left < 0 || (ranks > 0 ? left % ranks : left))
        return WF_FAIL(
            WEFT_E_INVALID,
            "--pipeline-model-parallel-size %d: %lld layers are left for %lld "
            "stages beside the first and last",
            l->pp, (long long)left, (long long)ranks);
    *middle = ranks > 0 ? left / ranks : 0;
    if (*first < 0) *first = *middle;
    if (*last < 0) *last = *middle;
    return WEFT_OK;
}

static weft_status uneven(const wf_flags *f, weft_layout *l, int64_t layers)
{
    int embed = wf_flags_given(f, "--account-for-embedding-in-pipeline-split");
    int loss = wf_flags_given(f, "--account-for-loss-in-pipeline-split");
    int64_t count[WF_MOST_STAGES], first, middle, last;
    int n = l->pp * l->vpp;

    WF_TRY(rank_layers(f, l, layers + embed + loss, &first, &middle, &last));
    if (first % l->vpp || middle % l->vpp || last % l->vpp)
        return WF_FAIL(WEFT_E_INVALID,
                       "ranks of %lld, %lld and %lld layers are not all divisible into "
                       "%d chunks",
                       (long long)first, (long long)middle, (long long)last, l->vpp);
    for (int s = 0; s < n; s++)
        count[s] = (s % l->pp == 0           ? first
                    : s % l->pp == l->pp - 1 ? last
                                             : middle) /
                   l->vpp;
    count[0] -= embed;
    count[n - 1] -= loss;
    if (count[0] < 0 || count[n - 1] < 0)
        return WF_FAIL(WEFT_E_INVALID, "the first or last stage would hold -1 layers");
    return set_counts(l, n, count);
}

static weft_status chunks(const wf_flags *f, weft_layout *l, int64_t layers)
{
    int embed = wf_flags_given(f, "--account-for-embedding-in-pipeline-split");
    int loss = wf_flags_given(f, "--account-for-loss-in-pipeline-split");
    int64_t per_chunk = 0, slots = layers + embed + loss;

    WF_TRY(wf_flags_i32(f, "--num-virtual-stages-per-pipeline-rank", &l->vpp));
    WF_TRY(wf_flags_i64(f, "--num-layers-per-virtual-pipeline-stage", &per_chunk));
    if (!wf_flags_given(f, "--num-layers-per-virtual-pipeline-stage")) return WEFT_OK;
    if (per_chunk < 1 || slots % l->pp || slots / l->pp % per_chunk)
        return WF_FAIL(
            WEFT_E_INVALID,
            "--num-layers-per-virtual-pipeline-stage %lld does not divide the "
            "%lld layers of --pipeline-model-parallel-size %d",
            (long long)per_chunk, (long long)slots, l->pp);
    l->vpp = (int32_t)(slots / l->pp / per_chunk);
    return WEFT_OK;
}

static weft_status layout_string(const wf_flags *f, weft_layout *l)
{
    const char *text = wf_flags_text(f, "--pipeline-model-parallel-layout");
    int64_t count[WF_MOST_STAGES];
    int n;

    if (!text) return WEFT_OK;
    if (strlen(text) >= sizeof l->stage_layers)
        return WF_FAIL(WEFT_E_INVALID,
                       "--pipeline-model-parallel-layout has more than %d letters",
                       (int)sizeof l->stage_layers - 1);
    WF_TRY(weft_stages_read(text, WF_MOST_STAGES, &n, count));
    if (n % l->pp)
        return WF_FAIL(WEFT_E_INVALID,
                       "--pipeline-model-parallel-layout has %d stages, no multiple of "
                       "--pipeline-model-parallel-size %d",
                       n, l->pp);
    l->vpp = n / l->pp;
    return set_counts(l, n, count);
}

weft_status wf_megatron_stages(const wf_flags *f, weft_layout *l, int64_t layers)
{
    int split = wf_flags_given(f, "--decoder-first-pipeline-num-layers") ||
                wf_flags_given(f, "--decoder-last-pipeline-num-layers") ||
                wf_flags_given(f, "--account-for-embedding-in-pipeline-split") ||
                wf_flags_given(f, "--account-for-loss-in-pipeline-split");

    WF_TRY(wf_flags_i32(f, "--pipeline-model-parallel-size", &l->pp));
    if (l->pp < 1 || l->pp > WF_MOST_STAGES)
        return WF_FAIL(WEFT_E_INVALID,
                       "--pipeline-model-parallel-size %d is outside 1 .. %d", l->pp,
                       WF_MOST_STAGES);
    WF_TRY(chunks(f, l, layers));
    WF_TRY(layout_string(f, l));
    if (l->vpp < 1 || (int64_t)l->pp * l->vpp > WF_MOST_STAGES)
        return WF_FAIL(WEFT_E_INVALID,
                       "%d chunks for each of %d stages are outside 1 .. %d", l->vpp,
                       l->pp, WF_MOST_STAGES);
    if (split && l->pp > 1) WF_TRY(uneven(f, l, layers));
    if (l->vpp > 1) snprintf(l->schedule, sizeof l->schedule, "interleaved");
    return wf_flags_i32(f, "--microbatch-group-size-per-virtual-pipeline-stage",
                        &l->group);
}
