/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "comm/fault.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/near.h"

static const char *const kinds[] = {
    [WF_FAULT_STOP] = "stop",
    [WF_FAULT_EXIT] = "exit",
    [WF_FAULT_ALLOC] = "alloc",
    [WF_FAULT_CUT] = "cut",
};
enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

static weft_status bad(const char *text, const char *why)
{
    return WF_FAIL(
        WEFT_E_INVALID,
        "WEFT_FAULT=%s: %s; needed is rank:R,step:S,kind:stop|exit|alloc|cut", text,
        why);
}

static int parse_number(const char *s, int64_t max, int64_t *out)
{
    char *end;
    errno = 0;
    long long v = strtoll(s, &end, 10);
    if (end == s || *end || errno || v < 0 || v > max) return 0;
    *out = v;
    return 1;
}

static weft_status parse_kind(const char *text, const char *word, wf_fault_kind *out)
{
    char why[128];
    for (int k = WF_FAULT_STOP; k < N_KINDS; k++)
        if (!strcmp(word, kinds[k])) {
            *out = (wf_fault_kind)k;
            return WEFT_OK;
        }
    const char *near = wf_nearest_in(word, N_KINDS - 1, kinds + 1);
    snprintf(why, sizeof why, "no kind \"%.32s\"%s%s", word,
             near ? ", nearest is " : "", near ? near : "");
    return bad(text, why);
}

static weft_status parse_field(const char *text, char *field, wf_fault *f)
{
    char why[128];
    int64_t n;
    char *value = strchr(field, ':');
    if (value) *value++ = '\0';
    if (value && !strcmp(field, "kind")) return parse_kind(text, value, &f->kind);
    int rank = !strcmp(field, "rank"), step = !strcmp(field, "step");
    if (value && (rank || step)) {
        if (!parse_number(value, rank ? INT32_MAX : INT64_MAX, &n)) {
            snprintf(why, sizeof why, "%s \"%.32s\" is not a number from 0", field,
                     value);
            return bad(text, why);
        }
        if (rank) f->rank = (int)n;
        if (step) f->step = n;
        return WEFT_OK;
    }
    snprintf(why, sizeof why, "no field \"%.32s\"", field);
    return bad(text, why);
}

weft_status wf_fault_parse(const char *text, wf_fault *out)
{
    char copy[128], *rest = copy;
    wf_fault f = {.rank = -1, .step = -1};

    *out = (wf_fault){0};
    if (!text || !*text) return WEFT_OK;
    if (strlen(text) >= sizeof copy) return bad("(long text)", "too long");
    strcpy(copy, text);
    for (char *field; (field = strtok_r(rest, ",", &rest));)
        WF_TRY(parse_field(text, field, &f));
    if (f.rank < 0) return bad(text, "the rank is missing");
    if (f.step < 0) return bad(text, "the step is missing");
    if (!f.kind) return bad(text, "the kind is missing");
    *out = f;
    return WEFT_OK;
}

static void stop(int is_process)
{
    for (;;) {
        if (is_process)
            raise(SIGSTOP); /* continued by a debugger: stop again */
        else
            pause();
    }
}

void wf_fault_strike(wf_fault *f, int rank, int64_t step, int is_process)
{
    if (f->struck || rank != f->rank || step != f->step) return;
    f->struck = 1;
    if (f->kind == WF_FAULT_STOP) stop(is_process);
    if (f->kind == WF_FAULT_EXIT && is_process) _exit(WF_FAULT_EXIT_STATUS);
}

weft_status wf_fault_check(const wf_fault *f)
{
    if (!f->struck) return WEFT_OK;
    if (f->kind == WF_FAULT_ALLOC)
        return WF_FAIL(WEFT_E_NOMEM,
                       "rank %d, step %lld: out of memory (injected by WEFT_FAULT)",
                       f->rank, (long long)f->step);
    if (f->kind == WF_FAULT_EXIT)
        return WF_FAIL(WEFT_E_PEER,
                       "rank %d, step %lld: ended (injected by WEFT_FAULT)", f->rank,
                       (long long)f->step);
    return WEFT_OK;
}

weft_status weft_fault_check(int n_ranks, int64_t n_steps)
{
    const char *text = getenv("WEFT_FAULT");
    wf_fault f;

    WF_TRY(wf_fault_parse(text, &f));
    if (!f.kind || (f.rank < n_ranks && f.step < n_steps)) return WEFT_OK;
    return WF_FAIL(WEFT_E_INVALID,
                   "WEFT_FAULT=%s would never strike: the job has ranks 0 to %d and "
                   "steps 0 to %lld",
                   text, n_ranks - 1, (long long)n_steps - 1);
}
