/* SPDX-License-Identifier: Apache-2.0 */
/* Reads both text forms in two passes: the first measures and finds every error of
 * form, the second fills the lists, when p, m and v are known. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "schedule/ir.h"
#include "schedule/tokens.h"

typedef struct sizes {
    int p, max_micro, max_part;
    int64_t n[WF_MAX_P];
} sizes;

static weft_status add_row(sizes *z, int64_t ops, int64_t line, int64_t blank_line)
{
    if (blank_line)
        return WF_FAIL(WEFT_E_INVALID,
                       "line %lld is empty; each line is the list of one rank",
                       (long long)blank_line);
    if (z->p == WF_MAX_P)
        return WF_FAIL(WEFT_E_INVALID, "line %lld: more than %d ranks", (long long)line,
                       WF_MAX_P);
    z->n[z->p++] = ops;
    return WEFT_OK;
}

/* Rows and their lengths. Blank lines may stand at the end only; a CSV row of nothing but
 * commas is a rank without ops. */
static weft_status measure(wf_reader in, sizes *z)
{
    int64_t ops = 0, row_start = 0, blank_line = 0;
    wf_found what;
    wf_token t;
    do {
        int64_t line = in.line;
        WF_TRY(wf_reader_next(&in, &t, &what));
        if (what == WF_OP) {
            ops++;
            if (t.micro > z->max_micro) z->max_micro = t.micro;
            if (t.part > z->max_part) z->max_part = t.part;
            continue;
        }
        if (ops || memchr(in.text + row_start, ',', (size_t)(in.at - row_start)))
            WF_TRY(add_row(z, ops, line, blank_line));
        else if (!blank_line)
            blank_line = line;
        ops = 0;
        row_start = in.at;
    } while (what != WF_TEXT_END);
    return WEFT_OK;
}

/* Chunks per rank: fixed by the placement, or as many as the text names. */
static weft_status chunks(const sizes *z, weft_placement_kind placement, int csv,
                          int *v)
{
    int parts = csv ? z->max_part / z->p : z->max_part;
    switch (placement) {
    case WEFT_PLACE_SINGLE: *v = 1; return WEFT_OK;
    case WEFT_PLACE_BIDIR: *v = 2; return WEFT_OK;
    case WEFT_PLACE_BIDIRV: *v = 4; return WEFT_OK;
    case WEFT_PLACE_LOOP:
    case WEFT_PLACE_V: break;
    }
    if (parts >= WF_MAX_V)
        return WF_FAIL(WEFT_E_INVALID, "%s %d on %d ranks is beyond %d chunks per rank",
                       csv ? "stage" : "chunk", z->max_part, z->p, WF_MAX_V);
    *v = parts + 1;
    return WEFT_OK;
}

/* The chunk that a token names; its stage must be one of this rank. */
static weft_status place(const weft_schedule *s, const wf_token *t, int csv, int rank,
                         int *chunk)
{
    long long line = t->line, column = t->column;
    if (!csv) {
        if (t->part >= s->v)
            return WF_FAIL(
                WEFT_E_INVALID,
                "line %lld column %lld: chunk %d, but placement %s has %d on a "
                "rank",
                line, column, t->part, weft_placement_name(s->placement), s->v);
        *chunk = t->part;
        return WEFT_OK;
    }
    int stages = weft_schedule_stages(s), holder;
    if (t->part >= stages)
        return WF_FAIL(
            WEFT_E_INVALID,
            "line %lld column %lld: stage %d, but %d ranks with placement %s "
            "have %d",
            line, column, t->part, s->p, weft_placement_name(s->placement), stages);
    weft_schedule_holder(s, t->part, t->micro, &holder, chunk);
    if (holder != rank)
        return WF_FAIL(
            WEFT_E_INVALID,
            "line %lld column %lld: stage %d of micro-batch %d is on rank %d "
            "under placement %s, this line is rank %d",
            line, column, t->part, t->micro, holder, weft_placement_name(s->placement),
            rank);
    return WEFT_OK;
}

static weft_status fill(wf_reader in, const weft_schedule *s)
{
    int64_t i = 0;
    wf_found what;
    wf_token t;
    for (int rank = 0; rank < s->p;) {
        WF_TRY(wf_reader_next(&in, &t, &what));
        if (what != WF_OP) {
            rank++;
            continue;
        }
        int chunk;
        WF_TRY(place(s, &t, in.csv, rank, &chunk));
        s->op[i++] = (weft_op){.kind = (uint8_t)t.kind,
                               .flags = (uint8_t)t.flags,
                               .chunk = (uint8_t)chunk,
                               .micro = (uint32_t)t.micro};
    }
    return WEFT_OK;
}

static weft_status read_all(wf_reader in, weft_placement_kind placement, sizes *z,
                            weft_schedule *out)
{
    weft_schedule q = {.kind = "user", .placement = placement}, s;
    WF_TRY(measure(in, z));
    WF_TRY(chunks(z, placement, in.csv, &q.v));
    q.p = z->p;
    q.m = z->max_micro + 1;
    WF_TRY(wf_schedule_alloc(&q, z->n, &s));
    weft_status st = fill(in, &s);
    if (st == WEFT_OK)
        *out = s;
    else
        weft_schedule_clear(&s);
    return st;
}

weft_status weft_schedule_read(const char *text, int64_t n,
                               weft_placement_kind placement, weft_schedule *out)
{
    wf_reader in;
    sizes *z = NULL;
    if (!weft_placement_name(placement))
        return WF_FAIL(WEFT_E_INVALID, "placement number %d is unknown",
                       (int)placement);
    WF_TRY(wf_reader_open(text, n, &in));
    WF_TRY(WF_ALLOC(1, &z));
    weft_status st = read_all(in, placement, z, out);
    wf_free(z);
    return st;
}
