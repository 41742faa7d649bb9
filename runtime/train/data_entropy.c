/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "base/alloc.h"
#include "base/error.h"
#include "train/data.h"

/* Work arrays: pairs grouped by their first token (start[v] .. start[v+1] in next), and
 * the counts of one group, cleared by walking the group again. */
typedef struct groups {
    int64_t *start, *count;
    int32_t *next;
} groups;

static void clear(groups *g)
{
    wf_free(g->start);
    wf_free(g->count);
    wf_free(g->next);
}

static int64_t width(const weft_data *d)
{
    int64_t most = 0;
    for (int64_t i = 0; i < wf_data_total(d); i++)
        if (wf_data_token(d, i) > most) most = wf_data_token(d, i);
    return most + 1;
}

/* Counting sort of the pairs by their first token: time and memory linear in tokens and
 * vocabulary, so a large vocabulary needs no table of its square. */
static weft_status group(const weft_data *d, int64_t vocab, groups *g)
{
    int64_t pairs = wf_data_total(d) - 1;

    WF_TRY(WF_ALLOC(vocab + 2, &g->start));
    WF_TRY(WF_ALLOC(vocab, &g->count));
    WF_TRY(WF_ALLOC(pairs, &g->next));
    for (int64_t i = 0; i < pairs; i++)
        g->start[wf_data_token(d, i) + 2]++;
    for (int64_t v = 0; v < vocab; v++)
        g->start[v + 2] += g->start[v + 1];
    for (int64_t i = 0; i < pairs; i++)
        g->next[g->start[wf_data_token(d, i) + 1]++] = wf_data_token(d, i + 1);
    return WEFT_OK;
}

/* Sum over b of count(a,b) * ln(count(a)/count(a,b)). */
static double of_group(groups *g, int64_t a)
{
    const int32_t *next = g->next + g->start[a];
    int64_t n = g->start[a + 1] - g->start[a];
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        g->count[next[i]]++;
    for (int64_t i = 0; i < n; i++) {
        int64_t c = g->count[next[i]];
        if (c) sum += (double)c * log((double)n / (double)c);
        g->count[next[i]] = 0;
    }
    return sum;
}

weft_status weft_data_bigram_entropy(const weft_data *d, double *out)
{
    groups g = {0};
    int64_t vocab = width(d);
    weft_status st = group(d, vocab, &g);

    if (st == WEFT_OK) {
        double sum = 0;
        for (int64_t a = 0; a < vocab; a++)
            sum += of_group(&g, a);
        *out = sum / (double)(wf_data_total(d) - 1);
    }
    clear(&g);
    return st;
}
