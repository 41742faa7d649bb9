/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/lab.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"

weft_status lab_group(weft_comm *comm, int n, const char *axes, weft_group **out)
{
    int ranks[64];

    *out = NULL;
    if (n == 1) return WEFT_OK;
    for (int i = 0; i < n; i++)
        ranks[i] = i;
    return weft_group_create(comm, n, ranks, axes, out);
}

static weft_chunk_config chunk_config(const lab_spec *s, const weft_arch *a, int tp)
{
    int64_t unit = (s->vocab_multiple ? s->vocab_multiple : 1) * tp;

    return (weft_chunk_config){.arch = a,
                               .n_layers = a->layers,
                               .has_embed = 1,
                               .has_head = 1,
                               .padded_vocab = (a->vocab + unit - 1) / unit * unit,
                               .batch = s->batch,
                               .seq = s->seq,
                               .n_micro = s->n_micro ? s->n_micro : 1,
                               .seed = s->seed,
                               .exact = s->exact,
                               .random_all = s->random_all};
}

static weft_status build(lab *l, const lab_spec *s)
{
    int tp = weft_comm_size(l->comm);

    WF_TRY(weft_arch_parse(s->arch, &l->arch));
    WF_TRY(weft_arena_create(0, &l->arena));
    WF_TRY(weft_kctx_create(WEFT_BACKEND_AUTO, 1, l->arena, &l->k));
    WF_TRY(lab_group(l->comm, tp, "tp", &l->tp));
    weft_chunk_config c = chunk_config(s, &l->arch, tp);
    weft_shard sh = {
        .k = l->k, .comm = l->comm, .arena = l->arena, .tp = l->tp, .t = s->t};
    return weft_chunk_create(&c, &sh, &l->chunk);
}

weft_status lab_open(weft_comm *comm, const lab_spec *spec, lab *out)
{
    *out = (lab){.comm = comm};
    weft_status st = build(out, spec);
    if (st != WEFT_OK) lab_close(out);
    return st;
}

void lab_close(lab *l)
{
    if (l->chunk.param) weft_chunk_clear(&l->chunk);
    weft_group_destroy(l->tp);
    weft_kctx_destroy(l->k);
    weft_arena_destroy(l->arena);
    *l = (lab){0};
}

weft_status lab_map_create(const weft_arch *a, lab_map *out)
{
    lab_map m = {.arch = *a, .n_tensors = weft_arch_tensor_count(a)};

    WF_TRY(WF_ALLOC(m.n_tensors + 1, &m.at));
    for (int i = 0; i < m.n_tensors; i++) {
        weft_tensor_info t;
        weft_arch_tensor(a, i, &t);
        m.at[i + 1] = m.at[i] + t.size[0] * (t.n_dims == 2 ? t.size[1] : 1);
    }
    *out = m;
    return WEFT_OK;
}

void lab_map_clear(lab_map *m)
{
    wf_free(m->at);
    *m = (lab_map){0};
}

int lab_map_find(const lab_map *m, const weft_tensor_info *t)
{
    for (int i = 0; i < m->n_tensors; i++) {
        weft_tensor_info row;
        weft_arch_tensor(&m->arch, i, &row);
        if (row.role == t->role && row.layer == t->layer) return i;
    }
    return -1;
}

/* One parameter's values and where its logical tensor starts in x. */
typedef struct copy {
    void *local;
    weft_dtype t;
    double *x;
    int write;
} copy;

static double load(const copy *c, int64_t i)
{
    if (c->t == WEFT_F64) return ((double *)c->local)[i];
    if (c->t == WEFT_F32) return ((float *)c->local)[i];
    return weft_bf16_to_f32(((uint16_t *)c->local)[i]);
}

static void store(const copy *c, int64_t i, double x)
{
    if (c->t == WEFT_F64) ((double *)c->local)[i] = x;
    if (c->t == WEFT_F32) ((float *)c->local)[i] = (float)x;
    if (c->t == WEFT_BF16) ((uint16_t *)c->local)[i] = weft_bf16_from_f32((float)x);
}

static weft_status copy_run(void *ctx, int64_t local, int64_t logical, int64_t n)
{
    const copy *c = ctx;

    for (int64_t i = 0; i < n; i++)
        if (c->write)
            store(c, local + i, c->x[logical + i]);
        else
            c->x[logical + i] = load(c, local + i);
    return WEFT_OK;
}

static weft_status each_param(const weft_chunk *c, const lab_map *m, int what,
                              double *x, int write)
{
    weft_dtype acc = weft_dtype_acc(c->sh.t);

    for (int i = 0; i < c->n_params; i++) {
        const weft_param *p = &c->param[i];
        copy one = {what == LAB_GRADS ? p->g : p->w, what == LAB_GRADS ? acc : c->sh.t,
                    x + m->at[lab_map_find(m, &p->info)], write};
        WF_TRY(weft_shard_runs(&p->info, weft_group_size(c->sh.tp),
                               weft_group_rank(c->sh.tp), c->cfg.padded_vocab, copy_run,
                               &one));
    }
    return WEFT_OK;
}

weft_status lab_read(const weft_chunk *c, const lab_map *m, int what, double *x)
{
    return each_param(c, m, what, x, 0);
}

weft_status lab_write(weft_chunk *c, const lab_map *m, const double *x)
{
    return each_param(c, m, LAB_WEIGHTS, (double *)x, 1);
}

weft_status lab_shards_create(int n, int64_t len, lab_shards *out)
{
    lab_shards s = {.n = n, .len = len};

    WF_TRY(WF_ALLOC(n * len, &s.x));
    for (int64_t i = 0; i < n * len; i++)
        s.x[i] = NAN;
    *out = s;
    return WEFT_OK;
}

void lab_shards_clear(lab_shards *s)
{
    wf_free(s->x);
    *s = (lab_shards){0};
}

weft_status lab_merge(const lab_shards *s, double *out)
{
    for (int64_t i = 0; i < s->len; i++) {
        int holder = -1;
        for (int r = 0; r < s->n; r++) {
            const double *x = &s->x[r * s->len + i];
            if (isnan(*x)) continue;
            CLAIM(holder < 0 || !memcmp(x, &out[i], sizeof *x),
                  "element %lld is %.17g on rank %d and %.17g on rank %d", (long long)i,
                  out[i], holder, *x, r);
            holder = r;
            out[i] = *x;
        }
        CLAIM(holder >= 0, "element %lld is held by no rank, or is not a number",
              (long long)i);
    }
    return WEFT_OK;
}

double lab_far(const double *a, const double *b, int64_t lo, int64_t hi)
{
    double far = 0, size = 0;

    for (int64_t i = lo; i < hi; i++) {
        double d = fabs(a[i] - b[i]);
        if (!(d <= far)) far = d;
        size = fmax(size, fabs(b[i]));
    }
    return far == 0 ? 0 : far / size;
}

void lab_tokens(int64_t n, int64_t vocab, int ignore, uint64_t seed, int32_t *tokens,
                int32_t *targets)
{
    for (int64_t i = 0; i < n; i++) {
        uint64_t x = (seed * 1000003u + (uint64_t)i) * 0x9e3779b97f4a7c15u;
        x ^= x >> 29;
        tokens[i] = (int32_t)((x >> 8) % (uint64_t)vocab);
        targets[i] = ignore && i % 5 == 4 ? -1 : (int32_t)((x >> 32) % (uint64_t)vocab);
    }
}
