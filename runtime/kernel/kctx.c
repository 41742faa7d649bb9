/* SPDX-License-Identifier: Apache-2.0 */
/* The state of one rank thread: which back end serves which kernel. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "kernel/table.h"

/* In the order they are laid over each other. A build without a library has no line for
 * it. `fast` has no name of its own: it is part of all but ref. */
static const struct backend {
    weft_backend id;
    const char *name;
    weft_status (*install)(weft_kctx *k);
    void (*remove)(weft_kctx *k);
} backends[] = {
    {WEFT_BACKEND_REF, "ref", wf_ref_install, NULL},
    {WEFT_BACKEND_AUTO, NULL, wf_fast_install, NULL},
#ifdef WF_HAVE_BLAS
    {WEFT_BACKEND_BLAS, "blas", wf_blas_install, NULL},
#endif
#ifdef WF_HAVE_ONEDNN
    {WEFT_BACKEND_ONEDNN, "onednn", wf_onednn_install, wf_onednn_remove},
#endif
};
enum { N_BACKENDS = sizeof backends / sizeof *backends };

void wf_kernels_overlay(weft_kctx *k, const wf_kernels *const over[WEFT_N_DTYPES])
{
#define REPLACE(name)                                                                  \
    if (over[t]->name) k->table[t].name = over[t]->name;
    for (int t = 0; t < WEFT_N_DTYPES; t++)
        if (over[t]) {
            REPLACE(gemm)
            WF_KERNELS(REPLACE)
        }
}

void wf_kctx_note(weft_kctx *k, const char *fmt, ...)
{
    size_t at = strlen(k->text);
    va_list ap;
    if (at) at += (size_t)snprintf(k->text + at, sizeof k->text - at, ", ");
    if (at >= sizeof k->text) return;
    va_start(ap, fmt);
    vsnprintf(k->text + at, sizeof k->text - at, fmt, ap);
    va_end(ap);
}

/* How many lines of `backends` b takes; 0 when this build lacks it. */
static int depth(weft_backend b)
{
    if (b == WEFT_BACKEND_AUTO) return N_BACKENDS;
    for (int i = 0; i < N_BACKENDS; i++)
        if (backends[i].name && backends[i].id == b) return i + 1;
    return 0;
}

static weft_status refuse(weft_backend b)
{
    char have[64] = "";
    for (int i = 0; i < N_BACKENDS; i++)
        if (backends[i].name)
            snprintf(have + strlen(have), sizeof have - strlen(have), " %s",
                     backends[i].name);
    const char *name = b == WEFT_BACKEND_BLAS     ? "blas"
                       : b == WEFT_BACKEND_ONEDNN ? "onednn"
                                                  : "unknown";
    return WF_FAIL(WEFT_E_INVALID, "kernels %s: this build has%s", name, have);
}

weft_status weft_kctx_create(weft_backend b, int threads, weft_arena *arena,
                             weft_kctx **out)
{
    const int n = depth(b);
    weft_kctx *k;
    if (threads < 1)
        return WF_FAIL(WEFT_E_INVALID, "%d threads a rank: 1 or more", threads);
    if (n == 0) return refuse(b);
    WF_TRY(WF_ALLOC(1, &k));
    k->asked = b;
    k->threads = threads;
    k->arena = arena;
    for (int i = 0; i < n; i++) {
        weft_status st = backends[i].install(k);
        if (st != WEFT_OK) {
            weft_kctx_destroy(k);
            return st;
        }
    }
    if (!*k->text) wf_kctx_note(k, "plain loops");
    wf_kctx_note(k, "%d thread%s", threads, threads == 1 ? "" : "s");
    *out = k;
    return WEFT_OK;
}

void weft_kctx_destroy(weft_kctx *k)
{
    if (!k) return;
    for (int i = 0; i < N_BACKENDS; i++)
        if (backends[i].remove) backends[i].remove(k);
    wf_free(k);
}

const char *weft_kctx_describe(const weft_kctx *k)
{
    return k->text;
}
