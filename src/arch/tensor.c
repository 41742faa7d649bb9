/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/arch.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "arch/count.h"
#include "base/alloc.h"
#include "base/error.h"

/* GPT-2 (Radford et al. 2019; sizes and initialisation as in its released code and in
 * nanoGPT): weights N(0, init_std), those that end a residual branch divided by
 * sqrt(2 * layers), biases 0, norm gains 1; weight decay on everything with two
 * dimensions, embeddings included, and on nothing else.
 *
 * TP (Shoeybi et al. 2019): qkv and fc by columns of y = x W^T (rows of W, and their
 * biases), out and proj by columns of W with a replicated bias, the vocabulary by rows. */

typedef enum dim { NONE, HIDDEN, QKV, ATTN, FFN, VOCAB, POSITIONS } dim;

typedef struct row {
    const char *name;
    weft_role role;
    dim size[2];
    int tp_dim;
    weft_init init;
    int residual; /* ends a residual branch */
} row;

static const row before[] = {
    {"wte", WEFT_WTE, {VOCAB, HIDDEN}, 0, WEFT_INIT_NORMAL, 0},
    {"wpe", WEFT_WPE, {POSITIONS, HIDDEN}, -1, WEFT_INIT_NORMAL, 0},
};

static const row block[] = {
    {"ln_1.weight", WEFT_LN1_G, {HIDDEN, NONE}, -1, WEFT_INIT_ONE, 0},
    {"ln_1.bias", WEFT_LN1_B, {HIDDEN, NONE}, -1, WEFT_INIT_ZERO, 0},
    {"attn.qkv.weight", WEFT_QKV_W, {QKV, HIDDEN}, 0, WEFT_INIT_NORMAL, 0},
    {"attn.qkv.bias", WEFT_QKV_B, {QKV, NONE}, 0, WEFT_INIT_ZERO, 0},
    {"attn.out.weight", WEFT_OUT_W, {HIDDEN, ATTN}, 1, WEFT_INIT_NORMAL, 1},
    {"attn.out.bias", WEFT_OUT_B, {HIDDEN, NONE}, -1, WEFT_INIT_ZERO, 0},
    {"ln_2.weight", WEFT_LN2_G, {HIDDEN, NONE}, -1, WEFT_INIT_ONE, 0},
    {"ln_2.bias", WEFT_LN2_B, {HIDDEN, NONE}, -1, WEFT_INIT_ZERO, 0},
    {"mlp.fc.weight", WEFT_FC_W, {FFN, HIDDEN}, 0, WEFT_INIT_NORMAL, 0},
    {"mlp.fc.bias", WEFT_FC_B, {FFN, NONE}, 0, WEFT_INIT_ZERO, 0},
    {"mlp.proj.weight", WEFT_PROJ_W, {HIDDEN, FFN}, 1, WEFT_INIT_NORMAL, 1},
    {"mlp.proj.bias", WEFT_PROJ_B, {HIDDEN, NONE}, -1, WEFT_INIT_ZERO, 0},
};

static const row after[] = {
    {"ln_f.weight", WEFT_LNF_G, {HIDDEN, NONE}, -1, WEFT_INIT_ONE, 0},
    {"ln_f.bias", WEFT_LNF_B, {HIDDEN, NONE}, -1, WEFT_INIT_ZERO, 0},
    {"lm_head.weight", WEFT_HEAD_W, {VOCAB, HIDDEN}, 0, WEFT_INIT_NORMAL, 0},
};

enum {
    N_BEFORE = sizeof before / sizeof *before,
    N_BLOCK = sizeof block / sizeof *block,
    N_AFTER = sizeof after / sizeof *after
};

static int64_t size_of(const weft_arch *a, dim d)
{
    switch (d) {
    case NONE: return 1;
    case HIDDEN: return a->hidden;
    case QKV: return (a->heads + 2 * a->kv_heads) * a->head_dim;
    case ATTN: return a->heads * a->head_dim;
    case FFN: return a->ffn;
    case VOCAB: return a->vocab;
    case POSITIONS: return a->positions;
    }
    return 0;
}

/* Rows after the blocks: a tied output layer has none of its own. */
static int n_after(const weft_arch *a)
{
    return N_AFTER - (a->tied ? 1 : 0);
}

int weft_arch_tensor_count(const weft_arch *a)
{
    return N_BEFORE + N_BLOCK * (int)a->layers + n_after(a);
}

static const row *row_at(const weft_arch *a, int i, int *layer)
{
    int in_blocks = i - N_BEFORE, n_blocks = N_BLOCK * (int)a->layers;

    if (i < N_BEFORE) return *layer = -1, &before[i];
    *layer = in_blocks / N_BLOCK;
    if (in_blocks < n_blocks) return &block[in_blocks % N_BLOCK];
    *layer = (int)a->layers;
    return &after[in_blocks - n_blocks];
}

/* q, k and v are three matrices in one: each is split over TP for itself. */
static void set_segments(const weft_arch *a, weft_tensor_info *t)
{
    static const char names[3][8] = {"q", "k", "v"};
    int64_t kv = a->kv_heads * a->head_dim;

    t->n_segments = 1;
    t->segment[0] = t->size[t->tp_dim < 0 ? 0 : t->tp_dim];
    if (t->role != WEFT_QKV_W && t->role != WEFT_QKV_B) return;
    t->n_segments = 3;
    t->segment[0] = a->heads * a->head_dim;
    t->segment[1] = t->segment[2] = kv;
    memcpy(t->segment_name, names, sizeof names);
}

void weft_arch_tensor(const weft_arch *a, int i, weft_tensor_info *out)
{
    int layer;
    const row *r = row_at(a, i, &layer);
    weft_tensor_info t = {.role = r->role,
                          .layer = layer,
                          .tp_dim = r->tp_dim,
                          .tied_to = -1,
                          .experts = 1};

    if (layer >= 0 && layer < a->layers)
        snprintf(t.name, sizeof t.name, "h.%d.%s", layer, r->name);
    else
        snprintf(t.name, sizeof t.name, "%s", r->name);
    t.n_dims = r->size[1] == NONE ? 1 : 2;
    t.size[0] = size_of(a, r->size[0]);
    t.size[1] = size_of(a, r->size[1]);
    set_segments(a, &t);
    t.is_vocab = r->tp_dim >= 0 && r->size[r->tp_dim] == VOCAB;
    t.init = r->init;
    if (r->init == WEFT_INIT_NORMAL)
        t.std = r->residual ? a->init_std / sqrt(2.0 * (double)a->layers) : a->init_std;
    t.decay = t.n_dims == 2;
    *out = t;
}

/* ---- counts ---------------------------------------------------------------------- */

enum { MAX_LOG2 = 58 };

/* total += times * the parameters of n rows; non-zero on overflow. Dimensions are below
 * 2^31, so that QKV < 3 * 2^31 once heads * head_dim = hidden holds. */
static int add_rows(const weft_arch *a, const row *r, int n, int64_t times,
                    int64_t *total)
{
    for (int i = 0; i < n; i++) {
        int64_t x;
        if (wf_mul_i64(size_of(a, r[i].size[0]), size_of(a, r[i].size[1]), &x) ||
            wf_mul_i64(x, times, &x) || wf_add_i64(*total, x, total))
            return 1;
    }
    return 0;
}

weft_status wf_arch_count(const weft_arch *a, int64_t *out)
{
    int64_t n = 0;
    if (add_rows(a, before, N_BEFORE, 1, &n) ||
        add_rows(a, block, N_BLOCK, a->layers, &n) ||
        add_rows(a, after, n_after(a), 1, &n) || n > (int64_t)1 << MAX_LOG2)
        return WF_FAIL(
            WEFT_E_INVALID,
            "layers %lld, hidden %lld, ffn %lld, vocab %lld, positions %lld are more "
            "than 2^%d parameters",
            (long long)a->layers, (long long)a->hidden, (long long)a->ffn,
            (long long)a->vocab, (long long)a->positions, MAX_LOG2);
    *out = n;
    return WEFT_OK;
}

int64_t weft_arch_params(const weft_arch *a)
{
    int64_t n;
    return wf_arch_count(a, &n) == WEFT_OK ? n : -1;
}

/* A matmul with n weights costs 2n FLOPs a token forward and twice that backward. The
 * embedding is a look-up, the output layer a matmul whether tied or not. Attention:
 * scores and weighted values, 2 * 2 * seq * (heads * head_dim) a layer forward; a causal
 * kernel may skip the half above the diagonal. */
double weft_arch_flops_per_token(const weft_arch *a, int64_t seq, int causal)
{
    double attn = (double)size_of(a, ATTN), per_layer = 0;

    for (int i = 0; i < N_BLOCK; i++)
        if (block[i].size[1] != NONE)
            per_layer += (double)size_of(a, block[i].size[0]) *
                         (double)size_of(a, block[i].size[1]);
    double matmul =
        (double)a->layers * per_layer + (double)a->vocab * (double)a->hidden;
    double scores = 12.0 * (double)a->layers * attn * (double)seq;
    return 6.0 * matmul + (causal ? scores / 2 : scores);
}
