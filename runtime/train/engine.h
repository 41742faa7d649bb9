/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_TRAIN_ENGINE_H
#define WF_TRAIN_ENGINE_H
#include <weft/run/train.h>

#include "base/error.h"

/* One bucket of a chunk's gradients: parameters first .. last, reduced as one. */
typedef struct wf_bucket {
    int chunk, first, last;
    int64_t at, n; /* elements in the chunk's gradient buffer */
    int started;
    weft_event ev;
    double start_s;
} wf_bucket;

/* Optimizer state of a chunk, parallel to its buffers. */
typedef struct wf_state {
    void *m, *v;
    void *master; /* NULL: the weights, whose type is the accumulation type */
} wf_state;

struct weft_engine {
    weft_train_config cfg;
    weft_comm *comm;
    const weft_data *data;
    weft_arena *arena;
    weft_kctx *k;
    weft_mesh mesh;
    int coord[WEFT_MAX_AXES];
    weft_group *tp, *dp;
    weft_group **copies;      /* [vpp] sum of a chunk's gradient where another pipeline
                             rank holds its stage too; NULL: dp does it */
    weft_group *tied;         /* the two ranks that hold the tied embedding; NULL: none,
                             or both copies are here */
    weft_param *tied_copy[2]; /* of the first stage, of the last; NULL: not here */
    weft_group *model;    /* tp, pp: the gradient norm                             */
    weft_group *replicas; /* pp, dp: the loss                                      */
    weft_schedule schedule;
    int asynchronous;    /* each backward of the schedule is followed by an update */
    double *micro_scale; /* [m] of the loss, then */
    int bad; /* then: row of a tensor whose gradient was not finite in this step, or -1 */
    int *pp_rank_of;   /* [pp] comm rank of each pipeline rank                  */
    weft_chunk *chunk; /* [vpp] */
    wf_state *state;   /* [vpp] */
    weft_exec *exec;
    int n_buckets, next_bucket;
    wf_bucket *bucket;
    int64_t step, consumed;
    weft_trace trace;
    double t0;     /* when the trace began */
    double *began; /* [2 * trace_last] when step i did, at i modulo that, or NULL */
};

/* replica.c: the groups that sum gradients, and which copy of a tensor counts */
weft_status wf_replicas_create(weft_engine *e) WEFT_MUST_CHECK;
void wf_replicas_destroy(weft_engine *e);
weft_group *wf_sum_group(const weft_engine *e, int chunk);

/* ddp.c */
weft_status wf_buckets_create(weft_engine *e) WEFT_MUST_CHECK;
/* weft_exec_step.ready: start the buckets that are complete */
weft_status wf_buckets_ready(void *engine, int chunk, int n_done);
weft_status wf_buckets_finish(weft_engine *e) WEFT_MUST_CHECK;
/* Sum of the tied embedding's gradient over its two copies. */
weft_status wf_tied_sum(weft_engine *e) WEFT_MUST_CHECK;

/* gradnorm.c */
weft_status wf_grad_norm(weft_engine *e, double *norm) WEFT_MUST_CHECK;
/* Row of the tensor table of this rank's first gradient that is not finite, or -1. */
int wf_first_bad(weft_engine *e);
/* A failure that names the tensor and the rank; the same on every rank. */
weft_status wf_report_not_finite(weft_engine *e, double loss) WEFT_MUST_CHECK;

/* update.c */
typedef struct wf_rate {
    double lr, grad_scale;
    int64_t number; /* of the update, from 1 */
} wf_rate;
weft_status wf_state_create(weft_engine *e) WEFT_MUST_CHECK;
void wf_update_chunk(weft_engine *e, int chunk, const wf_rate *r);

/* async.c */
void wf_micro_scales(weft_engine *e);
/* weft_exec_step.update */
weft_status wf_async_update(void *engine, int chunk, int64_t micro) WEFT_MUST_CHECK;

/* Batch of the training or held-out part, for weft_exec_step.batch. */
typedef struct wf_batch {
    weft_engine *e;
    weft_split split;
    int64_t first; /* sample number at the start of the global batch */
} wf_batch;
void wf_batch_read(void *batch, int64_t micro, int32_t *tokens, int32_t *targets);

weft_status wf_sum(weft_engine *e, weft_group *g, weft_purpose why, double *x,
                   int n) WEFT_MUST_CHECK;
/* A step that is recorded begins: what is too old leaves the trace. */
void wf_trace_begin(weft_engine *e, double start_s);
/* Entry of the measured trace with a label. */
weft_status wf_mark(weft_engine *e, weft_lane lane, const char *label, double start_s,
                    int64_t bytes) WEFT_MUST_CHECK;
#endif
