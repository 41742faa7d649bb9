/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters, in all and by part, from the rows that the tensor table is made of. */
#include "arch/count.h"

#include "arch/rows.h"
#include "base/alloc.h"
#include "base/error.h"

enum { MAX_LOG2 = 58 };

typedef enum part { EMBEDDING, ATTENTION, MLP, EXPERTS, ROUTER, NORMS, HEAD, N } part;

static part part_of(weft_role role)
{
    switch (role) {
    case WEFT_QKV_W:
    case WEFT_QKV_B:
    case WEFT_OUT_W:
    case WEFT_OUT_B:
    case WEFT_Q_NORM_G:
    case WEFT_Q_NORM_B:
    case WEFT_K_NORM_G:
    case WEFT_K_NORM_B:
    case WEFT_SINKS:
    case WEFT_Q_W:
    case WEFT_Q_DOWN_W:
    case WEFT_Q_DOWN_G:
    case WEFT_Q_UP_W:
    case WEFT_KV_DOWN_W:
    case WEFT_KV_DOWN_G:
    case WEFT_KV_UP_W: return ATTENTION;
    case WEFT_FC_W:
    case WEFT_FC_B:
    case WEFT_PROJ_W:
    case WEFT_PROJ_B:
    case WEFT_SHARED_FC_W:
    case WEFT_SHARED_FC_B:
    case WEFT_SHARED_PROJ_W:
    case WEFT_SHARED_PROJ_B: return MLP;
    case WEFT_EXPERT_FC_W:
    case WEFT_EXPERT_FC_B:
    case WEFT_EXPERT_PROJ_W:
    case WEFT_EXPERT_PROJ_B: return EXPERTS;
    case WEFT_ROUTER_W:
    case WEFT_ROUTER_B: return ROUTER;
    case WEFT_LN1_G:
    case WEFT_LN1_B:
    case WEFT_LN2_G:
    case WEFT_LN2_B:
    case WEFT_LN1_POST_G:
    case WEFT_LN1_POST_B:
    case WEFT_LN2_POST_G:
    case WEFT_LN2_POST_B:
    case WEFT_LNF_G:
    case WEFT_LNF_B:
    case WEFT_MTP_EMBED_G:
    case WEFT_MTP_HIDDEN_G:
    case WEFT_MTP_OUT_G: return NORMS;
    case WEFT_HEAD_W:
    case WEFT_HEAD_B:
    case WEFT_DECODER_W:
    case WEFT_DECODER_B: return HEAD;
    default: return EMBEDDING;
    }
}

/* sum[part] += times * the parameters of the part's rows; non-zero on overflow. `active`:
 * of experts, those of a token. */
static int add(const weft_arch *a, wf_part rows, uint32_t features, int64_t times,
               int active, int64_t sum[N])
{
    int n;
    const wf_row *r = wf_rows(rows, &n);
    for (int i = 0; i < n; i++) {
        part p = part_of(r[i].role);
        int64_t x, experts = wf_row_experts(a, &r[i]);
        if (r[i].need & ~features) continue;
        if (active && p == EXPERTS) experts = a->experts_per_token;
        if (wf_mul_i64(wf_dim_size(a, r[i].size[0]), wf_dim_size(a, r[i].size[1]),
                       &x) ||
            wf_mul_i64(x, experts, &x) || wf_mul_i64(x, times, &x) ||
            wf_add_i64(sum[p], x, &sum[p]))
            return 1;
    }
    return 0;
}

/* Layers of each kind times the rows of one; where there are both, layer 0 is dense. */
static int add_layers(const weft_arch *a, int active, int64_t sum[N])
{
    int64_t moe = weft_arch_moe_layers_before(a, a->layers), dense = a->layers - moe;
    int64_t first_moe = a->dense_layers + a->moe_every - 1;

    return (dense && add(a, WF_BLOCK, wf_features(a, 0), dense, active, sum)) ||
           (moe && add(a, WF_BLOCK, wf_features(a, first_moe), moe, active, sum));
}

static int add_mtp(const weft_arch *a, int64_t sum[N])
{
    uint32_t model = wf_features(a, -1);
    return a->mtp && (add(a, WF_MTP_IN, model, a->mtp, 0, sum) ||
                      add(a, WF_BLOCK, wf_features(a, a->layers), a->mtp, 0, sum) ||
                      add(a, WF_MTP_OUT, model, a->mtp, 0, sum));
}

static int total(const int64_t sum[N], int64_t *out)
{
    int64_t n = 0;
    for (int i = 0; i < N; i++)
        if (wf_add_i64(n, sum[i], &n)) return 1;
    return *out = n, n > (int64_t)1 << MAX_LOG2;
}

/* The model without its MTP modules. */
static int add_model(const weft_arch *a, int active, int64_t sum[N])
{
    uint32_t model = wf_features(a, -1);
    return add(a, WF_BEFORE, model, 1, active, sum) || add_layers(a, active, sum) ||
           add(a, WF_AFTER, model, 1, active, sum);
}

weft_status wf_arch_count(const weft_arch *a, int64_t *out)
{
    int64_t sum[N] = {0};

    if (add_model(a, 0, sum) || add_mtp(a, sum) || total(sum, out))
        return WF_FAIL(
            WEFT_E_INVALID,
            "layers %lld, hidden %lld, ffn %lld, vocab %lld, positions %lld, experts "
            "%lld are more than 2^%d parameters",
            (long long)a->layers, (long long)a->hidden, (long long)a->ffn,
            (long long)a->vocab, (long long)a->positions, (long long)a->experts,
            MAX_LOG2);
    return WEFT_OK;
}

int64_t weft_arch_params(const weft_arch *a)
{
    int64_t n;
    return wf_arch_count(a, &n) == WEFT_OK ? n : -1;
}

int64_t weft_arch_active_params(const weft_arch *a)
{
    int64_t sum[N] = {0}, n;
    return add_model(a, 1, sum) || total(sum, &n) ? -1 : n;
}

void weft_arch_params_by_part(const weft_arch *a, weft_arch_parts *out)
{
    int64_t sum[N] = {0}, mtp[N] = {0}, all = 0;

    (void)add_model(a, 0, sum); /* a checked model: nothing overflows */
    (void)add_mtp(a, mtp);
    (void)total(mtp, &all);
    *out = (weft_arch_parts){.embedding = sum[EMBEDDING],
                             .attention = sum[ATTENTION],
                             .mlp = sum[MLP],
                             .experts = sum[EXPERTS],
                             .router = sum[ROUTER],
                             .norms = sum[NORMS],
                             .head = sum[HEAD],
                             .mtp = all};
}

int64_t weft_arch_layer_params(const weft_arch *a, int64_t layer, int active)
{
    int64_t sum[N] = {0}, n = 0;
    uint32_t model = wf_features(a, -1);

    if (layer > a->layers && (add(a, WF_MTP_IN, model, 1, active, sum) ||
                              add(a, WF_MTP_OUT, model, 1, active, sum)))
        return -1;
    return add(a, WF_BLOCK, wf_features(a, layer), 1, active, sum) || total(sum, &n)
               ? -1
               : n;
}
