/* SPDX-License-Identifier: Apache-2.0 */
/* Activations, logits and temporaries of `weft train` to the byte: its ops in the order of
 * the lowered schedule, its blocks in the order in which runtime/nn takes and gives them
 * (block.c, block_backward.c, ends.c, where each is named). Of the matmul libraries'
 * scratch only options.scratch_bytes is in it. */
#include <math.h>
#include <stddef.h>

#include "base/alloc.h"
#include "base/error.h"
#include "predict/predict.h"

typedef struct level {
    double now, most;
} level;

typedef struct own {
    double T, h, n, f, scores, vocab; /* tokens; widths on one rank; B*H*S*S; columns */
    double e, a, r; /* bytes of a tensor's, an accumulated, a partial sum's value */
    double slab;    /* what a layer's forward keeps                              */
    const weft_schedule *s; /* lowered */
    int rank, last;         /* stage */
    const weft_cost_model *q;
    const weft_layout *l;
    level act, logits, temp;
} own;

static void take(level *x, double bytes)
{
    x->now += bytes;
    x->most = fmax(x->most, x->now);
}

static double whole(double bytes)
{
    return ceil(bytes / 64) * 64;
}

/* KEEP_*: outputs of the norms and the stream between, their statistics; q k v and the
 * heads' output; before and after the activation; probabilities. */
static void fill_sizes(own *x)
{
    const weft_arch *a = &x->q->arch;
    const weft_cost_options *o = &x->q->options;
    double tp = x->l->tp;

    x->T = (double)(x->l->micro_batch * x->l->seq);
    x->h = (double)a->hidden;
    x->n = (double)(a->heads * a->head_dim) / tp;
    x->f = (double)a->ffn / tp;
    x->scores = x->T * (double)x->l->seq * (double)a->heads / tp;
    x->vocab = (double)weft_layout_padded_vocab(x->l, a) / tp;
    x->e = o->act_bytes;
    x->a = o->grad_bytes;
    x->r = tp > 1 ? o->grad_bytes : o->act_bytes;
    x->slab = 3 * whole(x->T * x->h * x->e) + 4 * whole(x->T * x->a) +
              4 * whole(x->T * x->n * x->e) + 2 * whole(x->T * x->f * x->e) +
              whole(x->scores * x->e);
    x->last = weft_schedule_stages(x->s) - 1;
}

/* [T, h] in the tensor's type. */
static double stream(const own *x)
{
    return x->T * x->h * x->e;
}

static double ids(const own *x)
{
    return x->T * 4;
}

/* Input and output of the last norm with its statistics. */
static double head(const own *x)
{
    return 2 * stream(x) + 2 * x->T * x->a;
}

static double layers(const own *x, int stage)
{
    int64_t first, count;
    weft_layout_stage_layers(x->l, &x->q->arch, stage, &first, &count);
    return (double)count;
}

static void pulse(level *x, double bytes)
{
    take(x, bytes);
    take(x, -bytes);
}

static void forward(own *x, int stage)
{
    double partial = x->T * x->h * x->r;

    if (stage == 0) {
        take(&x->act, ids(x) + stream(x));
        pulse(&x->temp, partial);
    }
    take(&x->act, layers(x, stage) * (x->slab + stream(x)));
    if (layers(x, stage) > 0) {
        pulse(&x->temp, 3 * x->T * x->n * x->e);
        pulse(&x->temp, partial);
    }
    if (stage < x->last) return;
    take(&x->act,
         ids(x) + head(x) - stream(x)); /* the last layer's output is its input */
    take(&x->logits, x->T * x->vocab * x->e + 3 * x->T * x->a);
}

/* Partial input gradient, reduced, in the tensor's type: OUT_DC, OUT_DA, dxf. */
static void reduced(const own *x, level *to)
{
    take(to, x->T * x->h * x->r);
    if (x->r == x->e) return;
    take(to, stream(x));
    take(to, -x->T * x->h * x->r);
}

/* heads_backward(): by head dq, dk, dv and the scores' gradient, beside the heads'
 * output's. */
static void heads(own *x)
{
    double one = x->T * x->n * x->e;

    take(&x->temp, 2 * one); /* dy, then d_o */
    take(&x->temp, -one);
}

static void heads_end(own *x)
{
    double one = x->T * x->n * x->e;
    pulse(&x->temp, 3 * one + x->scores * x->e + x->q->options.scratch_bytes);
    take(&x->temp, -one);
}

/* One layer's gradients; what W needs is temporary where W follows at once. */
static void layer_backward(own *x, int both)
{
    level *out = both ? &x->temp : &x->act;

    take(out, x->T * x->f * x->e);
    reduced(x, out);
    take(&x->act, stream(x)); /* OUT_DX1 */
    heads(x);
    take(out, 3 * x->T * x->n * x->e);
    heads_end(x);
    reduced(x, out);
    take(&x->act, stream(x)); /* of the input */
}

/* OUT_DU, OUT_DC, OUT_DQKV, OUT_DA */
static double outs(const own *x)
{
    return x->T * (x->f + 3 * x->n) * x->e + 2 * stream(x);
}

static void head_end(own *x, level *dxf)
{
    take(&x->act, -head(x));
    take(&x->logits, -x->T * x->vocab * x->e);
    take(dxf, -stream(x));
}

/* The ends of a loss: its statistics go, the gradient of the last layer's output comes. */
static void head_backward(own *x, int both)
{
    level *out = both ? &x->temp : &x->act;

    take(&x->logits, -3 * x->T * x->a);
    reduced(x, out);
    take(&x->act, stream(x));
    if (both) head_end(x, out);
}

static void backward(own *x, int stage)
{
    if (stage == x->last) head_backward(x, 1);
    for (double i = layers(x, stage); i > 0; i--) {
        layer_backward(x, 1);
        take(&x->temp, -outs(x));
        take(&x->act, -x->slab - 3 * stream(x)); /* with input, OUT_DZ, OUT_DX1 */
    }
    if (stage == 0) take(&x->act, -stream(x) - ids(x));
    if (stage == x->last) take(&x->act, -ids(x));
}

static void backward_input(own *x, int stage)
{
    if (stage == x->last) head_backward(x, 0);
    for (double i = layers(x, stage); i > 0; i--)
        layer_backward(x, 0);
}

static void backward_weight(own *x, int stage)
{
    if (stage == x->last) head_end(x, &x->act);
    take(&x->act, -layers(x, stage) * (x->slab + 3 * stream(x) + outs(x)));
    if (stage == 0) take(&x->act, -stream(x) - ids(x));
    if (stage == x->last) take(&x->act, -ids(x));
}

static void run(own *x, const weft_op *op)
{
    int stage = weft_schedule_stage(x->s, x->rank, op->chunk);

    switch (op->kind) {
    case WEFT_OP_F: forward(x, stage); break;
    case WEFT_OP_B: backward(x, stage); break;
    case WEFT_OP_I: backward_input(x, stage); break;
    case WEFT_OP_W: backward_weight(x, stage); break;
    case WEFT_OP_WAIT: take(&x->act, stream(x)); break;
    case WEFT_OP_SEND: take(&x->act, -stream(x)); break;
    default: break;
    }
}

static weft_status check_layout(const weft_layout *l)
{
    if (l->cp == 1 && !l->sp && !l->zero) return WEFT_OK;
    return WF_FAIL(
        WEFT_E_INVALID,
        "exact memory is of layouts that weft train runs: cp 1, no sp and no "
        "zero, found cp %d, sp %d, zero %d",
        l->cp, l->sp, l->zero);
}

/* Gradients are reduced where they are: buffers are those of the pipeline's messages. */
static double comm(const own *x, const weft_buffers *b)
{
    int64_t n = b->sends + (x->q->options.receive_buffers ? b->receives : 0);
    return (double)n * stream(x);
}

static void walk(const weft_cost_model *q, const weft_layout *l,
                 const weft_schedule *low, int rank, const weft_buffers *b,
                 weft_memory *m)
{
    own x = {.q = q, .l = l, .s = low, .rank = rank};

    fill_sizes(&x);
    for (int64_t i = low->first[rank]; i < low->first[rank + 1]; i++)
        run(&x, &low->op[i]);
    m->activations = x.act.most;
    m->logits = x.logits.most;
    m->temporaries = x.temp.most;
    m->comm = comm(&x, b);
    m->total = m->params + m->grads + m->optimizer + m->activations + m->logits +
               m->comm + m->temporaries + m->reserve;
}

/* As the run counts them: of a step, and of an evaluation beside it. */
static weft_status buffers(const weft_schedule *s, const weft_schedule *low,
                           weft_buffers *out)
{
    weft_schedule f, forward;

    WF_TRY(weft_schedule_forwards(s, &f));
    weft_status st = weft_schedule_lower(&f, &forward);
    weft_schedule_clear(&f);
    if (st != WEFT_OK) return st;
    st = weft_schedule_buffers(low, &forward, out, NULL);
    weft_schedule_clear(&forward);
    return st;
}

static weft_status versions(const weft_schedule *s, weft_memory *memory)
{
    const weft_schedule_kind *k = weft_schedule_kind_find(s->kind);

    if (!weft_schedule_kind_asynchronous(k)) return WEFT_OK;
    for (int r = 0; r < s->p; r++) {
        int64_t n;
        WF_TRY(wf_predict_versions(s, r, &n));
        memory[r].params =
            memory[r].params / weft_schedule_weight_copies(s, r) * (double)n;
    }
    return WEFT_OK;
}

weft_status wf_predict_exact(const weft_cost_model *q, const weft_layout *l,
                             const weft_schedule *s, weft_memory *memory)
{
    weft_schedule low;
    weft_buffers *b = NULL;

    WF_TRY(check_layout(l));
    WF_TRY(versions(s, memory));
    WF_TRY(weft_schedule_lower(s, &low));
    weft_status st = WF_ALLOC(s->p, &b);
    if (st == WEFT_OK) st = buffers(s, &low, b);
    for (int r = 0; st == WEFT_OK && r < s->p; r++)
        walk(q, l, &low, r, &b[r], &memory[r]);
    wf_free(b);
    weft_schedule_clear(&low);
    return st;
}
