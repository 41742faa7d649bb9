/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/run/optim.h>

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/near.h"

static const char *const names[WEFT_N_DECAYS] = {"constant", "linear", "cosine"};

const char *weft_decay_name(weft_decay style)
{
    return names[style];
}

weft_status weft_decay_parse(const char *text, weft_decay *out)
{
    for (int i = 0; i < WEFT_N_DECAYS; i++) {
        if (strcmp(text, names[i])) continue;
        *out = (weft_decay)i;
        return WEFT_OK;
    }
    const char *near = wf_nearest_in(text, WEFT_N_DECAYS, names);
    return WF_FAIL(WEFT_E_INVALID,
                   "--lr-decay-style %s is unknown: constant, linear or cosine%s%s%s",
                   text, near ? " (did you mean " : "", near ? near : "",
                   near ? "?)" : "");
}

weft_status weft_lr_check(const weft_lr *s)
{
    if (!isfinite(s->lr) || s->lr <= 0)
        return WF_FAIL(WEFT_E_INVALID, "--lr %g: a finite rate above 0 is needed",
                       s->lr);
    if (!isfinite(s->min_lr) || s->min_lr < 0 || s->min_lr > s->lr)
        return WF_FAIL(WEFT_E_INVALID,
                       "--min-lr %g: a rate from 0 to --lr %g is needed", s->min_lr,
                       s->lr);
    if (s->warmup_iters < 0)
        return WF_FAIL(WEFT_E_INVALID, "--lr-warmup-iters %lld: 0 or more is needed",
                       (long long)s->warmup_iters);
    if (s->style == WEFT_DECAY_CONSTANT) return WEFT_OK;
    if (s->decay_iters < 1)
        return WF_FAIL(WEFT_E_INVALID, "--lr-decay-iters %lld: 1 or more is needed",
                       (long long)s->decay_iters);
    if (s->warmup_iters > s->decay_iters)
        return WF_FAIL(
            WEFT_E_INVALID,
            "--lr-warmup-iters %lld is past --lr-decay-iters %lld, where the "
            "decay that follows it ends: at most %lld",
            (long long)s->warmup_iters, (long long)s->decay_iters,
            (long long)s->decay_iters);
    return WEFT_OK;
}

double weft_lr_at(const weft_lr *s, int64_t iter)
{
    if (iter < s->warmup_iters)
        return s->lr * ((double)(iter + 1) / (double)s->warmup_iters);
    if (s->style == WEFT_DECAY_CONSTANT) return s->lr;
    if (iter >= s->decay_iters) return s->min_lr;

    double span = (double)(s->decay_iters - s->warmup_iters);
    double r = (double)(iter - s->warmup_iters) / span;
    double left = s->style == WEFT_DECAY_LINEAR
                      ? 1 - r
                      : 0.5 * (1 + cos(3.141592653589793238463 * r));
    return s->min_lr + left * (s->lr - s->min_lr);
}
