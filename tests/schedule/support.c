/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

weft_schedule made_group(const char *kind, int p, int m, int v, int group)
{
    weft_schedule s;
    weft_schedule_options opt = {.group = group};
    if (weft_schedule_make(kind, p, m, v, &opt, &s) != WEFT_OK)
        fail_msg("%s p=%d m=%d v=%d: %s", kind, p, m, v, weft_status_message());
    return s;
}

weft_schedule made(const char *kind, int p, int m, int v)
{
    return made_group(kind, p, m, v, 0);
}

weft_schedule parsed(const char *ops, weft_placement_kind placement)
{
    weft_schedule s;
    assert_ok(weft_schedule_read(ops, (int64_t)strlen(ops), placement, &s));
    return s;
}

char *ops_text(const weft_schedule *s)
{
    weft_text text = {0};
    weft_writer out = weft_text_writer(&text);
    weft_schedule_write_ops(s, &out);
    assert_ok(weft_writer_status(&out));
    char *copy = malloc(text.n + 1);
    memcpy(copy, text.s, text.n + 1);
    weft_text_clear(&text);
    return copy;
}

/* A copy by way of the text form, which only a schedule in range has. */
weft_schedule copied(const weft_schedule *s)
{
    char *text = ops_text(s);
    weft_schedule t = parsed(text, s->placement);
    free(text);
    return t;
}

weft_eval timed_split(const weft_schedule *s, double tf, double ti, double tw)
{
    weft_eval e;
    double *dur = malloc((size_t)(s->p * s->v) * WEFT_OP_N_COMPUTE * sizeof *dur);
    weft_costs_uniform(s, tf, ti + tw, ti, tw, 0, dur);
    assert_ok(weft_schedule_eval(s, &(weft_costs){.dur = dur}, NULL, NULL, &e));
    free(dur);
    return e;
}

weft_eval timed(const weft_schedule *s, double tf, double tb)
{
    return timed_split(s, tf, tb / 2, tb / 2);
}

double makespan(const weft_schedule *s, double tf, double tb)
{
    weft_eval e = timed(s, tf, tb);
    double t = e.makespan;
    weft_eval_clear(&e);
    return t;
}

uint32_t random_below(uint64_t *state, uint32_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*state >> 33) % n);
}

/* The end of the op of `kind` (or kind2) at (stage, micro) on its holder; NaN if none. */
static double end_of(const weft_schedule *s, const double *end, int stage,
                     int64_t micro, int kind, int kind2)
{
    int rank, chunk;
    weft_schedule_holder(s, stage, micro, &rank, &chunk);
    for (int64_t i = s->first[rank]; i < s->first[rank + 1]; i++) {
        const weft_op *o = &s->op[i];
        if ((o->kind == kind || o->kind == kind2) && o->chunk == chunk &&
            o->micro == micro)
            return end[i];
    }
    return NAN;
}

static double input_ready(const weft_schedule *s, const double *end, int rank,
                          const weft_op *o, double latency)
{
    int stage = weft_schedule_stage(s, rank, o->chunk), from = stage, at, chunk;
    double own = 0, other = 0;
    if (o->kind == WEFT_OP_W)
        return end_of(s, end, stage, o->micro, WEFT_OP_I, WEFT_OP_I);
    if (o->kind == WEFT_OP_F)
        from = stage - 1;
    else
        own = end_of(s, end, stage, o->micro, WEFT_OP_F, WEFT_OP_F);
    if (o->kind == WEFT_OP_B || o->kind == WEFT_OP_I) from = stage + 1;
    if (from != stage && from >= 0 && from < weft_schedule_stages(s)) {
        weft_schedule_holder(s, from, o->micro, &at, &chunk);
        other = o->kind == WEFT_OP_F
                    ? end_of(s, end, from, o->micro, WEFT_OP_F, WEFT_OP_F)
                    : end_of(s, end, from, o->micro, WEFT_OP_B, WEFT_OP_I);
        if (at != rank) other += latency;
    }
    return isnan(own) || isnan(other) ? NAN : fmax(own, other);
}

double *swept_ends(const weft_schedule *s, const double *dur, double latency)
{
    int64_t n = s->first[s->p];
    double *end = malloc((size_t)n * sizeof *end + 1);
    for (int64_t i = 0; i < n; i++)
        end[i] = NAN;
    for (int changed = 1; changed;) {
        changed = 0;
        for (int r = 0; r < s->p; r++) {
            double free_at = 0;
            for (int64_t i = s->first[r]; i < s->first[r + 1]; i++) {
                const weft_op *o = &s->op[i];
                double ready = input_ready(s, end, r, o, latency);
                if (isnan(ready)) break;
                double d = dur[(r * s->v + o->chunk) * WEFT_OP_N_COMPUTE + o->kind];
                double e = fmax(free_at, ready) + d;
                changed |= !(end[i] == e);
                end[i] = free_at = e;
            }
        }
    }
    return end;
}

/* What may come next in a cell: F, then B or I, then W after I. */
typedef struct cell {
    int did_f, did_back, split, did_w;
} cell;

static cell *cell_at(const weft_schedule *s, cell *cells, int stage, uint32_t micro)
{
    int rank, chunk;
    weft_schedule_holder(s, stage, micro, &rank, &chunk);
    return &cells[((size_t)rank * (size_t)s->v + (size_t)chunk) * (size_t)s->m + micro];
}

/* Kind that can come next at (stage, micro), -1 if none can. */
static int next_kind(const weft_schedule *s, cell *cells, int stage, uint32_t micro)
{
    cell *own = cell_at(s, cells, stage, micro);
    if (!own->did_f)
        return !stage || cell_at(s, cells, stage - 1, micro)->did_f ? WEFT_OP_F : -1;
    if (!own->did_back) {
        if (stage + 1 < weft_schedule_stages(s) &&
            !cell_at(s, cells, stage + 1, micro)->did_back)
            return -1;
        return own->split ? WEFT_OP_I : WEFT_OP_B;
    }
    return own->split && !own->did_w ? WEFT_OP_W : -1;
}

weft_schedule random_order(weft_placement_kind placement, int p, int m, int v,
                           uint64_t *seed)
{
    weft_schedule s = {.kind = "user", .p = p, .m = m, .v = v, .placement = placement};
    int stages = weft_schedule_stages(&s), left = 0;
    size_t per_rank = (size_t)(v * m * 3), *n = calloc((size_t)p, sizeof *n);
    cell *cells = calloc((size_t)(p * v * m), sizeof *cells);
    weft_op *op = calloc((size_t)p * per_rank, sizeof *op);
    for (int i = 0; i < stages * m; i++) {
        cell *c = cell_at(&s, cells, i % stages, (uint32_t)(i / stages));
        c->split = random_below(seed, 3) == 0;
        left += 2 + c->split;
    }
    while (left > 0) {
        int stage = (int)random_below(seed, (uint32_t)stages), rank, chunk;
        uint32_t micro = random_below(seed, (uint32_t)m);
        int kind = next_kind(&s, cells, stage, micro);
        if (kind < 0) continue;
        cell *c = cell_at(&s, cells, stage, micro);
        *(kind == WEFT_OP_F   ? &c->did_f
          : kind == WEFT_OP_W ? &c->did_w
                              : &c->did_back) = 1;
        weft_schedule_holder(&s, stage, micro, &rank, &chunk);
        op[(size_t)rank * per_rank + n[rank]++] =
            (weft_op){.kind = (uint8_t)kind, .chunk = (uint8_t)chunk, .micro = micro};
        left--;
    }
    s.first = calloc((size_t)p + 1, sizeof *s.first);
    s.op = op;
    for (int r = 0; r < p; r++) { /* close the gaps */
        memmove(&op[s.first[r]], &op[(size_t)r * per_rank], n[r] * sizeof *op);
        s.first[r + 1] = s.first[r] + (int64_t)n[r];
    }
    free(n);
    free(cells);
    return s;
}
