/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_PROBE_IMPL_H
#define WF_PROBE_IMPL_H
#include <weft/run/probe.h>

/* One rank at work. */
typedef struct wf_probe {
    const weft_probe_options *o;
    weft_comm *comm;
    weft_group *world; /* NULL: one rank */
    weft_arena *arena;
    weft_kctx *k;
    char *pool;                    /* what operands are cut from, going round */
    int64_t pool_bytes, at, floor; /* what is below the floor stays where it is */
    double each_s;                 /* for the calls of one benchmark */
    weft_machine *m;
    weft_probe_report *report;
} wf_probe;

typedef weft_status wf_probe_call(wf_probe *p, void *ctx);

double wf_probe_now_s(void);
/* The next bytes of the pool above its floor; none overlap within a turn round it. */
void *wf_probe_operand(wf_probe *p, int64_t bytes);
/* Bytes that stay in the caches, in place of those kept before; 0: none. */
void *wf_probe_keep(wf_probe *p, int64_t bytes);
/* The pool as numbers of type t between -1/2 and 1/2. */
void wf_probe_fill(wf_probe *p, weft_dtype t);

/* Seconds of a call that does not communicate: after a barrier and a first call that is
 * not counted, as many as fit into each_s, at least three. */
weft_status wf_probe_time(wf_probe *p, wf_probe_call *call, void *ctx, double *seconds);
/* Of one that does: every rank makes as many. */
weft_status wf_probe_time_together(wf_probe *p, wf_probe_call *call, void *ctx,
                                   double *seconds);
weft_status wf_probe_agree(wf_probe *p, weft_reduce op, double *x);

weft_math wf_probe_math(weft_dtype t);
weft_status wf_probe_matmuls(wf_probe *p, weft_dtype t);
weft_status wf_probe_matmul_constants(wf_probe *p, weft_dtype t);
weft_status wf_probe_kernels(wf_probe *p, weft_dtype t);
weft_status wf_probe_hosts(wf_probe *p);
weft_status wf_probe_links(wf_probe *p);
#endif
