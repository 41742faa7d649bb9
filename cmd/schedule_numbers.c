/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of `weft schedule` as users type them: times with or without a unit, lists. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cmd/schedule.h"

static void note_unit(wf_schedule_units *u, const char *flag, int has_unit, double x)
{
    if (has_unit)
        u->with = u->with ? u->with : flag;
    else if (x != 0) /* 0 is 0 in every unit */
        u->without = u->without ? u->without : flag;
}

/* Sums, and ratios of three of them, stay far inside what a double holds. */
static const double most = 1e60, least = 1e-60;

static weft_status bounded(const char *flag, const char *text, double x)
{
    if (x == 0 || (x >= least && x <= most)) return WEFT_OK;
    return WF_FAIL(WEFT_E_INVALID, "%s %s: 0 or %g .. %g is needed", flag, text, least,
                   most);
}

weft_status wf_schedule_time(const char *flag, const char *text, wf_schedule_units *u,
                             double *out)
{
    double x;
    size_t n = strlen(text);
    WF_TRY(wf_num_f64(flag, text, WF_SECONDS, &x));
    if (x < 0)
        return WF_FAIL(WEFT_E_INVALID, "%s %s: a time is at least 0", flag, text);
    WF_TRY(bounded(flag, text, x));
    note_unit(u, flag, n && text[n - 1] == 's', x);
    *out = x;
    return WEFT_OK;
}

static weft_status bytes(const char *flag, const char *text, double *out)
{
    double x;
    WF_TRY(wf_num_f64(flag, text, WF_BYTES, &x));
    if (x < 0)
        return WF_FAIL(WEFT_E_INVALID, "%s %s: there are at least 0 bytes", flag, text);
    WF_TRY(bounded(flag, text, x));
    *out = x;
    return WEFT_OK;
}

/* Bytes per unit of time: 50GB/s where times have units, a bare number else. */
static weft_status rate(const char *flag, const char *text, wf_schedule_units *u,
                        double *out)
{
    double x;
    WF_TRY(wf_num_f64(flag, text, WF_BYTES_S, &x));
    if (!(x > 0))
        return WF_FAIL(WEFT_E_INVALID, "%s %s: a link carries something", flag, text);
    WF_TRY(bounded(flag, text, x));
    note_unit(u, flag, strchr(text, '/') != NULL, x);
    *out = x;
    return WEFT_OK;
}

static weft_status number(const char *flag, const char *text, wf_unit unit,
                          wf_schedule_units *u, double *out)
{
    if (unit == WF_SECONDS) return wf_schedule_time(flag, text, u, out);
    if (unit == WF_BYTES) return bytes(flag, text, out);
    if (unit == WF_BYTES_S) return rate(flag, text, u, out);
    return wf_num_f64(flag, text, unit, out);
}

weft_status wf_schedule_push(wf_schedule_numbers *l, double x)
{
    void *block = l->x;
    WF_TRY(wf_grow(&block, &l->cap, l->n + 1, sizeof *l->x));
    l->x = block;
    l->x[l->n++] = x;
    return WEFT_OK;
}

weft_status wf_schedule_numbers_read(const char *flag, const char *text, wf_unit unit,
                                     wf_schedule_units *u, wf_schedule_numbers *l)
{
    while (text) {
        char word[64];
        size_t n = strcspn(text, ",");
        double x;
        snprintf(word, sizeof word, "%.*s", n < 63 ? (int)n : 63, text);
        WF_TRY(number(flag, word, unit, u, &x));
        WF_TRY(wf_schedule_push(l, x));
        text = text[n] ? text + n + 1 : NULL;
    }
    return WEFT_OK;
}

weft_status wf_schedule_spread(const char *flag, const char *each, int64_t n,
                               wf_schedule_numbers *l)
{
    for (int64_t i = 1, one = l->n == 1; one && i < n; i++)
        WF_TRY(wf_schedule_push(l, l->x[0]));
    if (l->n == n) return WEFT_OK;
    return WF_FAIL(WEFT_E_MISMATCH, "%s has %lld items, one or %lld (%s) are needed",
                   flag, (long long)l->n, (long long)n, each);
}
