/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "score/row.h"

void weft_runs_clear(weft_runs *r)
{
    wf_free(r->run);
    r->run = NULL;
    r->n = 0;
}

/* Where each column stands in the header line. */
static weft_status find_columns(const wf_csv *c, int place[WF_N_COLUMNS])
{
    for (int i = 0; i < WF_N_COLUMNS; i++) {
        place[i] = -1;
        for (int f = 0; f < c->n; f++) {
            if (strcmp(wf_csv_field(c, f), wf_column_names[i])) continue;
            if (place[i] >= 0)
                return WF_FAIL(WEFT_E_INVALID, "column %s stands twice in the header",
                               wf_column_names[i]);
            place[i] = f;
        }
        if (place[i] < 0)
            return WF_FAIL(WEFT_E_INVALID, "the header has no column %s",
                           wf_column_names[i]);
    }
    return WEFT_OK;
}

static weft_status read_rows(wf_csv *c, weft_runs *out, int64_t *cap)
{
    int place[WF_N_COLUMNS], more, width;
    wf_row row = {c, place};

    WF_TRY(wf_csv_next(c, &more));
    if (!more) return WF_FAIL(WEFT_E_INVALID, "there is no header line");
    width = c->n;
    WF_TRY(find_columns(c, place));
    for (;;) {
        WF_TRY(wf_csv_next(c, &more));
        if (!more) return WEFT_OK;
        if (c->n != width)
            return WF_FAIL(WEFT_E_INVALID, "line %d has %d fields, the header has %d",
                           c->line, c->n, width);
        WF_TRY(wf_grow(&out->run, cap, out->n + 1, sizeof *out->run));
        WF_TRY(wf_row_map(&row, &out->run[out->n]));
        out->n++;
    }
}

weft_status weft_runs_read(const char *text, int64_t n, weft_runs *out)
{
    weft_runs r = {0, NULL};
    int64_t cap = 0;
    wf_csv c;

    wf_csv_begin(&c, text, n);
    weft_status st = read_rows(&c, &r, &cap);
    wf_csv_clear(&c);
    if (st == WEFT_OK)
        *out = r;
    else
        weft_runs_clear(&r);
    return st;
}

int weft_run_in_fit_half(const char *id)
{
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a: Fowler, Noll and Vo */
    for (; *id; id++) {
        h ^= (unsigned char)*id;
        h *= 0x100000001b3u;
    }
    return h % 2 == 0;
}

/* Where the table does not say what was recomputed: the least with which it fits. */
static weft_status settle_recompute(const weft_cost_model *q, weft_layout *l)
{
    static const char *const words[] = {"none", "selective", "full"};
    weft_cost c;

    for (int i = 0; i < 3; i++) {
        strcpy(l->recompute, words[i]);
        WF_TRY(weft_cost_evaluate(q, l, &c));
        if (c.fits) return WEFT_OK;
    }
    return WEFT_OK;
}

static weft_status predict(weft_run *r)
{
    weft_cost_model q;
    weft_cost c;

    WF_TRY(weft_cost_prepare(&r->arch, &r->machine, &r->options, &q));
    if (r->open_recompute) WF_TRY(settle_recompute(&q, &r->layout));
    WF_TRY(weft_predict(&q, &r->layout, NULL, NULL, &c));
    r->predicted_s = c.step_time_s;
    /* what programs report as their peak is without the context */
    r->predicted_bytes = c.memory.total - c.memory.reserve;
    return WEFT_OK;
}

weft_status weft_runs_predict(weft_runs *r)
{
    for (int64_t i = 0; i < r->n; i++) {
        weft_run *run = &r->run[i];
        if (*run->skip) continue;
        weft_status st = predict(run);
        if (st == WEFT_E_NOMEM) return st;
        if (st != WEFT_OK) wf_run_skip(run, "%s", weft_status_message());
    }
    return WEFT_OK;
}
