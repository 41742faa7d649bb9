/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/count/count.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "comm/comm_impl.h"

weft_status wf_count_set_of(wf_count *k, const char *axes, int *out)
{
    for (int i = 0; i < (int)k->n; i++)
        if (!strcmp(k->sets[i].axes, axes)) {
            *out = i;
            return WEFT_OK;
        }
    weft_status st =
        wf_grow((void **)&k->sets, &k->cap, k->n + 1, (int64_t)sizeof *k->sets);
    if (st != WEFT_OK) return st;
    k->sets[k->n] = (wf_count_set){0};
    snprintf(k->sets[k->n].axes, sizeof k->sets[k->n].axes, "%s", axes);
    *out = (int)k->n++;
    return WEFT_OK;
}

void wf_count_add(wf_count *k, int set, weft_purpose why, int64_t bytes)
{
    if (!k->on) return;
    k->sets[set].calls[why]++;
    k->sets[set].bytes[why] += bytes;
}

void wf_count_clear(wf_count *k)
{
    wf_free(k->sets);
    *k = (wf_count){0};
}

void weft_count_start(weft_comm *c)
{
    for (int64_t i = 0; i < c->count.n; i++) {
        memset(c->count.sets[i].calls, 0, sizeof c->count.sets[i].calls);
        memset(c->count.sets[i].bytes, 0, sizeof c->count.sets[i].bytes);
    }
    c->count.on = 1;
}

int weft_count_rows(const weft_comm *c, weft_count_row *rows, int max)
{
    int n = 0;
    for (int64_t i = 0; i < c->count.n; i++) {
        const wf_count_set *s = &c->count.sets[i];
        for (int p = 0; p < WEFT_N_PURPOSES; p++) {
            if (!s->calls[p]) continue;
            if (n < max) {
                rows[n] = (weft_count_row){
                    .purpose = p, .calls = s->calls[p], .bytes = s->bytes[p]};
                memcpy(rows[n].axes, s->axes, sizeof rows[n].axes);
            }
            n++;
        }
    }
    return n;
}
