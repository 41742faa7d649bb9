/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_COST_COST_H
#define WF_COST_COST_H
#include <weft/cost.h>

/* A layout on a machine as the terms read it. Made by wf_place_make(); the terms are one
 * file each and none looks at another's. */
typedef struct wf_place {
    const weft_cost_model *q;
    const weft_layout *l;
    double tokens; /* of a micro-batch that one rank computes: micro_batch * seq / cp */
    double t;      /* tp                                                             */
    double batch;  /* sequences of a micro-batch                                     */
    double queries; /* of a sequence on one rank: seq / cp                            */
    int64_t m;
    int64_t stride[WEFT_N_AXES]; /* ranks between neighbours on an axis               */
    int64_t stages;              /* virtual ones                                      */
    int64_t replicas; /* ranks that hold the same dense weights: dp * cp             */
    int64_t shards;   /* ZeRO: of them, those that share: replicas / replicate       */
    int64_t rounds;   /* ZeRO-2: how often a chunk's gradients are complete of a run of
                       micro-batches, and reduced: m, or the schedule's groups          */
    int envelope;     /* achieved_flops_per_s is given                               */
} wf_place;
weft_status wf_place_make(const weft_cost_model *q, const weft_layout *l,
                          wf_place *out) WEFT_MUST_CHECK;
/* Time of a collective over the group of an axis. */
double wf_coll_s(const wf_place *p, weft_collective c, double bytes, weft_axis axis,
                 int64_t size);

/* ---- one layer, one micro-batch, one rank ---------------------------------------- */

/* Kernels: how long they run, and how many there are to start. */
typedef struct wf_work {
    double s, kernels;
} wf_work;

typedef struct wf_layer_cost {
    weft_op_cost f, b, i, w;
    weft_op_cost again[3]; /* by weft_recompute */
} wf_layer_cost;
void wf_layer_price(const wf_place *p, int kind, wf_layer_cost *out);

/* Matmuls with weights: forward, gradient of the input, of the weights; of the last what
 * belongs to column-split ones, whose input gradients TP reduces meanwhile. */
typedef struct wf_matmuls {
    wf_work f, i, w;
    double column_i, column_w;
} wf_matmuls;
/* The product of a weight gradient is added to the accumulated one, which is read and
 * written again. */
double wf_accumulate_s(const wf_place *p, double values);
void wf_matmul_price(const wf_place *p, int kind, wf_matmuls *out);
/* Scores and weighted values with what lies between them. */
typedef struct wf_scores {
    wf_work f, b;
} wf_scores;
void wf_attention_price(const wf_place *p, int kind, wf_scores *out);
/* Norms, activation, residual, dropout, copies, routing. */
void wf_elementwise_price(const wf_place *p, int kind, wf_work *f, wf_work *b);
/* What a value counts for in the time of kernels that move it. */
double wf_kernel_bytes(const weft_cost_options *o);
/* Kernels after one another take at least their starts. */
double wf_work_s(const wf_place *p, wf_work w);
wf_work wf_work_add(wf_work a, wf_work b);

/* Exposed communication of a layer. */
typedef struct wf_layer_comm {
    double f, b, i, w;
} wf_layer_comm;
void wf_tp_price(const wf_place *p, int kind, const wf_matmuls *g, wf_layer_comm *out);
/* One all-reduce of a micro-batch's activations over TP. */
double wf_reduce_s(const wf_place *p);
void wf_cp_price(const wf_place *p, int kind, const wf_scores *a, wf_layer_comm *out);
void wf_ep_price(const wf_place *p, int kind, wf_layer_comm *out);

/* ---- one stage ------------------------------------------------------------------- */

/* Layers of a stage by kind, and what else it has. */
typedef struct wf_stage_shape {
    int64_t first, count, moe; /* layers; of them MoE */
    int has_embed, has_head;
    weft_recompute recompute;
} wf_stage_shape;
void wf_stage_shape_get(const wf_place *p, int64_t stage, wf_stage_shape *out);
/* Layers of each stage as a text states them. */
typedef struct wf_split {
    char text[256];
    int n; /* 0: it states none */
    int64_t count[4096];
} wf_split;
/* The same of all stages in turn, 0 first: what a layout says in words is read once, and not
 * at all where `split` was read from the same words before. */
typedef struct wf_stage_walk {
    const wf_place *p;
    int64_t stage, first;
    int64_t even;          /* layers of every stage; 0: they differ */
    int64_t recomputes_to; /* from here on another stage's recompute counts */
    weft_recompute recompute;
    const wf_split *split;
} wf_stage_walk;
void wf_stage_walk_start(const wf_place *p, wf_split *split, wf_stage_walk *w);
void wf_stage_walk_next(wf_stage_walk *w, wf_stage_shape *out);
/* Passes the next stage if it is like the one before, but for its place. */
int wf_stage_walk_same(wf_stage_walk *w);

/* What a place knows of all its stages: layers priced once. */
typedef struct wf_priced {
    wf_layer_cost layer[2];
    weft_op_cost embed_f, embed_b;
    weft_op_cost head_f, head_i, head_w;
    double flops;            /* of a token, model FLOPs, causal */
    double block_flops;      /* of a token in one block, forward, before TP */
    double act[2], act_w[2]; /* bytes a layer keeps, nothing recomputed */
    double act_full, act_selective[2];
    double transient[2];
} wf_priced;
void wf_price(const wf_place *p, wf_priced *out);
void wf_stage_price(const wf_place *p, const wf_priced *x, const wf_stage_shape *s,
                    weft_stage_cost *out);
void wf_ends_price(const wf_place *p, wf_priced *out); /* embedding, head, loss */

/* Parameters on one rank of a stage, and of them those of experts. */
typedef struct wf_params {
    double dense, expert;
} wf_params;
wf_params wf_stage_params(const wf_place *p, const wf_stage_shape *s);

/* Bytes a layer keeps for a micro-batch: all of it, without what selective recompute
 * drops, what a split backward keeps until W, and what full recompute keeps. */
void wf_activations_price(const wf_place *p, wf_priced *out);
/* While its head runs. */
double wf_logits_bytes(const wf_place *p);

/* ---- one rank -------------------------------------------------------------------- */

/* What one pipeline rank holds and does: sums over its chunks. */
typedef struct wf_rank {
    double f, b, i, w, r;  /* of one micro-batch over all its chunks (half of them where
                             two directions share the micro-batches)              */
    double head_s, tail_s; /* before its first F can start, after its last B       */
    double params, experts;
    double chunk_params; /* most of a chunk */
    int64_t layers;
    double chunk_act, chunk_act_w, transient; /* largest of a chunk                 */
    double least_act, least_act_w;            /* least of a chunk                   */
    double extra;                             /* embedding's mask, last norm        */
    int has_head, n_chunks;
    weft_op_cost all, again; /* parts: f + b, r                                     */
} wf_rank;

/* Communication of gradients and sharded weights of one step of one rank: all of it, and
 * what stays exposed after the last backward. */
typedef struct wf_dp {
    double total, exposed;
} wf_dp;
wf_dp wf_dp_price(const wf_place *p, const wf_rank *r);
double wf_optimizer_s(const wf_place *p, const wf_rank *r);
void wf_rank_memory(const wf_place *p, const wf_rank *r, double act_bytes, int copies,
                    weft_memory *out);

/* One message between stages. */
double wf_p2p_bytes(const wf_place *p);
/* Time beside alpha + bytes/bandwidth: the gather inside the TP group. */
double wf_p2p_gather_s(const wf_place *p);
double wf_p2p_s(const wf_place *p);
#endif
