/* SPDX-License-Identifier: Apache-2.0 */
/* FLOPs. A matmul with n weights costs 2n a token forward and twice that backward. The
 * embedding is a look-up, the output layer a matmul whether tied or not. Attention: scores
 * and weighted values, 2 (qk_dim + v_dim) a head for each key that a query meets. */
#include <weft/arch.h>

#include <stdio.h>

const char *weft_flops_rule_text(weft_flops_rule rule, char *buf)
{
    static const char *const kind[] = {"model FLOPs",
                                       "hardware FLOPs with selective recompute",
                                       "hardware FLOPs with full recompute"};
    snprintf(buf, 64, "%s, %s", kind[rule.recompute],
             rule.causal ? "causal" : "full square");
    return buf;
}

double weft_arch_score_flops(const weft_arch *a, int64_t layer, int64_t seq, int causal)
{
    weft_attention t;
    weft_arch_attention(a, layer, &t);
    return 2.0 * (double)(t.heads * (t.qk_dim + t.v_dim)) *
           weft_arch_attention_keys(a, layer, seq, causal);
}

static double matmul_flops(const weft_arch *a, int64_t layer)
{
    weft_layer_gemm g[WEFT_MAX_LAYER_GEMMS];
    int n = weft_arch_layer_gemms(a, layer, g);
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += 2.0 * g[i].rows * (double)g[i].n * (double)g[i].k;
    return sum;
}

double weft_arch_layer_flops(const weft_arch *a, int64_t layer, int64_t seq, int causal)
{
    return matmul_flops(a, layer) + weft_arch_score_flops(a, layer, seq, causal);
}

double weft_arch_head_flops(const weft_arch *a)
{
    double h = (double)a->hidden;
    if (!a->patch) return 2.0 * h * (double)a->vocab;
    if (a->classes) /* once an image */
        return 2.0 * h * (double)a->classes / (double)weft_arch_image_tokens(a);
    double points = (double)(a->channels * a->patch * a->patch);
    return 2.0 * h * ((double)a->decoder_layers * h + points);
}

/* Patches; of a map, each channel's, and the attention that gathers them: one query of a
 * place over the keys and values of its channels (Nguyen et al. 2023, ClimaX, 3.1). */
static double embed_flops(const weft_arch *a)
{
    double h = (double)a->hidden, c = (double)a->channels;
    if (!a->patch) return 0;
    double patches = 2.0 * h * c * (double)(a->patch * a->patch);
    if (a->classes) return patches;
    double keys_values = 2.0 * 2.0 * c * h * h, query_out = 2.0 * 2.0 * h * h;
    return patches + keys_values + query_out + 2.0 * 2.0 * c * h;
}

/* Forward FLOPs of all layers. Layers of one kind are alike, but a window need not be in
 * all: those differ in scores alone. */
static void layers_flops(const weft_arch *a, int64_t seq, int causal, double *matmul,
                         double *scores)
{
    int64_t moe = weft_arch_moe_layers_before(a, a->layers);
    int64_t full = a->window && a->full_every ? a->layers / a->full_every : 0;

    *matmul = moe < a->layers ? (double)(a->layers - moe) * matmul_flops(a, 0) : 0;
    if (moe)
        *matmul += (double)moe * matmul_flops(a, a->dense_layers + a->moe_every - 1);
    *scores = (double)(a->layers - full) * weft_arch_score_flops(a, 0, seq, causal);
    if (full)
        *scores +=
            (double)full * weft_arch_score_flops(a, a->full_every - 1, seq, causal);
}

void weft_arch_flops(const weft_arch *a, int64_t seq, weft_flops_rule rule,
                     weft_flops *out)
{
    int full = rule.recompute == WEFT_RECOMPUTE_FULL;
    double passes = full ? 4 : 3;
    double score_passes = rule.recompute == WEFT_RECOMPUTE_NONE ? 3 : 4;
    double matmul, scores;
    weft_flops f = {.embed = 3 * embed_flops(a), .head = 3 * weft_arch_head_flops(a)};

    layers_flops(a, seq, rule.causal, &matmul, &scores);
    f.matmul = passes * matmul;
    f.scores = score_passes * scores;
    if (a->mtp) {
        int64_t m = a->layers + 1;
        f.mtp = (double)a->mtp *
                (passes * matmul_flops(a, m) +
                 score_passes * weft_arch_score_flops(a, m, seq, rule.causal) + f.head);
    }
    f.total = f.matmul + f.scores + f.embed + f.head + f.mtp;
    *out = f;
}

double weft_arch_flops_per_token(const weft_arch *a, int64_t seq, int causal)
{
    weft_flops f;
    weft_arch_flops(a, seq, (weft_flops_rule){causal, WEFT_RECOMPUTE_NONE}, &f);
    return f.total;
}
