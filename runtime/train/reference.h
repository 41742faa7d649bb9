/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_TRAIN_REFERENCE_H
#define WF_TRAIN_REFERENCE_H
#include <weft/run/verify.h>

#include "base/error.h"

/* A segment of a logical tensor: the unit of comparison. */
typedef struct wf_slot {
    int tensor; /* row of the tensor table */
    int segment;
    char name[48];
} wf_slot;

/* Logical tensors one after the other; which slot an element belongs to. */
typedef struct wf_logical {
    int n_tensors, n_slots;
    int64_t *at;     /* [n_tensors + 1] first element of each tensor */
    int *first_slot; /* [n_tensors] */
    weft_tensor_info *info;
    wf_slot *slot;
} wf_logical;

weft_status wf_logical_create(const weft_arch *a, wf_logical *out) WEFT_MUST_CHECK;
void wf_logical_clear(wf_logical *l);
/* Row of the table that a parameter belongs to. */
int wf_logical_tensor(const wf_logical *l, const weft_tensor_info *t);
/* Slot of a logical element, and how many elements from it on are in the same slot. */
int wf_logical_slot(const wf_logical *l, int tensor, int64_t element, int64_t *run);

struct weft_reference {
    wf_logical map;
    int steps;
    weft_layout layout;  /* that it was made for */
    int asynchronous;    /* its updates come late as those of the layout's stages */
    double *loss, *norm; /* [steps] */
    double **grad;       /* [steps][n] */
    double *weight;      /* [n] */
    double saturated,
        largest; /* bit-exact mode: share of clamped values, bound on sums */
};

/* Visit what an engine holds: for each run of equal slot, local values and where they are
 * in the logical order. */
typedef struct wf_visit {
    const wf_logical *map;
    void (*fn)(void *ctx, int slot, int64_t logical, int64_t n, const double *x);
    void *ctx;
} wf_visit;
weft_status wf_visit_params(weft_engine *e, const wf_visit *v,
                            int grads) WEFT_MUST_CHECK;
#endif
