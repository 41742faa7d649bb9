/* SPDX-License-Identifier: Apache-2.0 */
/* The global gradient norm, every logical element counted once; and finding what is not
 * finite. */
#include <math.h>

#include "train/engine.h"

/* Does this rank's copy of the tensor count? Shards always; a tensor that TP replicates
 * only on TP rank 0; second copies (of the tied embedding, of a stage that two pipelines
 * hold) never. */
static int counts(const weft_engine *e, const weft_param *p)
{
    if (!p->first_copy) return 0;
    return p->info.tp_dim >= 0 || e->coord[WEFT_TP] == 0;
}

weft_status wf_sum(weft_engine *e, weft_group *g, weft_purpose why, double *x, int n)
{
    weft_event ev = {0};
    WF_TRY(weft_all_reduce(g, why, x, n, WEFT_F64, WEFT_SUM, &ev));
    return weft_wait(e->comm, &ev);
}

weft_status wf_grad_norm(weft_engine *e, double *norm)
{
    weft_dtype acc = weft_dtype_acc(e->cfg.dtype);
    double sum = e->bad < 0 ? 0 : NAN;

    for (int c = 0; c < e->cfg.layout.vpp; c++)
        for (int i = 0; i < e->chunk[c].n_params; i++) {
            const weft_param *p = &e->chunk[c].param[i];
            if (counts(e, p)) sum += weft_k_sumsq(e->k, acc, p->count, p->g);
        }
    WF_TRY(wf_sum(e, e->model, WEFT_FOR_NORM, &sum, 1));
    *norm = sqrt(sum);
    return WEFT_OK;
}

int wf_first_bad(weft_engine *e)
{
    weft_dtype acc = weft_dtype_acc(e->cfg.dtype);
    int n = weft_arch_tensor_count(&e->cfg.arch);

    if (e->bad >= 0) return e->bad; /* of an earlier micro-batch */
    for (int i = 0; i < n; i++) {
        weft_tensor_info t;
        weft_arch_tensor(&e->cfg.arch, i, &t);
        for (int c = 0; c < e->cfg.layout.vpp; c++)
            for (int j = 0; j < e->chunk[c].n_params; j++) {
                const weft_param *p = &e->chunk[c].param[j];
                if (p->info.role == t.role && p->info.layer == t.layer &&
                    !isfinite(weft_k_absmax(e->k, acc, p->count, p->g)))
                    return i;
            }
    }
    return -1;
}

weft_status wf_report_not_finite(weft_engine *e, double loss)
{
    int bad = wf_first_bad(e), world = weft_comm_size(e->comm);
    /* lowest (rank, tensor) over the ranks: a maximum of the negated number */
    double key = bad < 0 ? -INFINITY : -((double)bad * world + weft_comm_rank(e->comm));
    weft_event ev = {0};
    weft_tensor_info t;

    WF_TRY(
        weft_all_reduce(e->model, WEFT_FOR_CONTROL, &key, 1, WEFT_F64, WEFT_MAX, &ev));
    WF_TRY(weft_wait(e->comm, &ev));
    WF_TRY(weft_all_reduce(e->replicas, WEFT_FOR_CONTROL, &key, 1, WEFT_F64, WEFT_MAX,
                           &ev));
    WF_TRY(weft_wait(e->comm, &ev));
    if (isinf(key))
        return WF_FAIL(WEFT_E_NUMERIC,
                       "the loss of step %lld is %g; all gradients are finite",
                       (long long)e->step, loss);
    int64_t at = (int64_t)-key;
    weft_arch_tensor(&e->cfg.arch, (int)(at / world), &t);
    return WF_FAIL(
        WEFT_E_NUMERIC,
        "step %lld: the gradient of %s is not finite on rank %d (loss %g); %s",
        (long long)e->step, t.name, (int)(at % world), isnan(loss) ? fabs(loss) : loss,
        e->asynchronous ? "its stage was not updated by it" : "nothing was updated");
}
