/* SPDX-License-Identifier: Apache-2.0 */
#include "train/data.h"

#include <string.h>

#include <weft/run/random.h>

#include "base/alloc.h"
#include "base/error.h"

weft_status wf_data_new(int64_t seq, uint64_t seed, weft_data **out)
{
    if (seq < 1)
        return WF_FAIL(WEFT_E_INVALID, "--seq %lld: 1 or more is needed",
                       (long long)seq);
    weft_data *d;
    WF_TRY(WF_ALLOC(1, &d));
    d->seq = seq;
    d->seed = seed;
    d->order_key = weft_random_key("data.order");
    *out = d;
    return WEFT_OK;
}

void weft_data_destroy(weft_data *d)
{
    if (!d) return;
    wf_free(d->token);
    wf_free(d);
}

weft_status wf_data_cut(weft_data *d, int64_t total, const char *flag, const char *what)
{
    if (d->seq >= total / 2) { /* 2*(seq+1) > total, without overflow */
        if (total < 4)
            return WF_FAIL(
                WEFT_E_INVALID,
                "%s%s has %lld tokens: at least 4 are needed, one sequence of one "
                "token to train on and one held out",
                flag, what, (long long)total);
        return WF_FAIL(
            WEFT_E_INVALID,
            "%s%s has %lld tokens, too few for --seq %lld: one sequence to train "
            "on and one held out need 2*(seq+1) tokens; the longest --seq is "
            "%lld",
            flag, what, (long long)total, (long long)d->seq,
            (long long)(total / 2 - 1));
    }
    int64_t held = total / 10 > d->seq + 1 ? total / 10 : d->seq + 1;
    d->n[WEFT_HELD_OUT] = held;
    d->n[WEFT_TRAIN] = total - held;
    return WEFT_OK;
}

int64_t weft_data_vocab(const weft_data *d)
{
    return d->vocab;
}

int64_t weft_data_seq(const weft_data *d)
{
    return d->seq;
}

int64_t weft_data_tokens(const weft_data *d, weft_split s)
{
    return d->n[s];
}

int64_t weft_data_samples(const weft_data *d, weft_split s)
{
    return (d->n[s] - 1) / d->seq;
}

int64_t weft_data_first(int64_t consumed, int64_t micro, int64_t dp, int64_t dp_rank,
                        int64_t micro_batch)
{
    return consumed + (micro * dp + dp_rank) * micro_batch;
}

int64_t weft_data_window(const weft_data *d, weft_split s, int64_t k)
{
    int64_t n = weft_data_samples(d, s);

    if (s == WEFT_HELD_OUT) return k % n;
    return wf_data_permute(d->seed, d->order_key, k / n, n, k % n);
}

void weft_data_sample(const weft_data *d, weft_split s, int64_t k, int32_t *tokens,
                      int32_t *targets)
{
    int64_t in_part = weft_data_window(d, s, k) * d->seq;
    int64_t at = in_part + (s == WEFT_HELD_OUT ? d->n[WEFT_TRAIN] : 0);

    for (int64_t i = 0; tokens && i < d->seq; i++)
        tokens[i] = wf_data_token(d, at + i);
    for (int64_t i = 0; targets && i < d->seq; i++) {
        int ignored = d->ignore_every && (in_part + i + 1) % d->ignore_every == 0;
        targets[i] = ignored ? -1 : wf_data_token(d, at + i + 1);
    }
}

int64_t weft_data_valid(const weft_data *d, weft_split s, int64_t k0, int64_t n)
{
    int64_t ignored = 0;

    if (!d->ignore_every) return n * d->seq;
    for (int64_t k = k0; k < k0 + n; k++) {
        int64_t at = weft_data_window(d, s, k) * d->seq;
        ignored += (at + d->seq) / d->ignore_every - at / d->ignore_every;
    }
    return n * d->seq - ignored;
}

static weft_status check_random(int64_t vocab, int64_t samples, int ignore_every)
{
    if (vocab < 1 || vocab > INT32_MAX)
        return WF_FAIL(WEFT_E_INVALID, "--vocab %lld: 1 to %d is needed",
                       (long long)vocab, INT32_MAX);
    if (samples < 1)
        return WF_FAIL(WEFT_E_INVALID, "%lld random samples: 1 or more are needed",
                       (long long)samples);
    if (ignore_every < 0 || ignore_every == 1)
        return WF_FAIL(WEFT_E_INVALID,
                       "every %d-th target ignored: 0 (none) or 2 or more is needed",
                       ignore_every);
    return WEFT_OK;
}

static weft_status fill_random(weft_data *d, int64_t samples)
{
    int64_t part, total;

    if (wf_mul_i64(samples, d->seq, &part) || wf_add_i64(part, 1, &part) ||
        wf_mul_i64(part, 2, &total))
        return WF_FAIL(WEFT_E_NOMEM, "%lld random samples of %lld tokens do not fit",
                       (long long)samples, (long long)d->seq);
    d->wide = d->vocab > UINT16_MAX + 1;
    WF_TRY(wf_alloc(total, d->wide ? 4 : 2, &d->token));
    uint64_t key = weft_random_key("data.random");
    for (int64_t i = 0; i < total; i++) {
        uint64_t t = weft_random_below(d->seed, key, (uint64_t)i, (uint64_t)d->vocab);
        if (d->wide)
            ((int32_t *)d->token)[i] = (int32_t)t;
        else
            ((uint16_t *)d->token)[i] = (uint16_t)t;
    }
    d->n[WEFT_TRAIN] = d->n[WEFT_HELD_OUT] = part;
    return WEFT_OK;
}

weft_status weft_data_random(int64_t vocab, int64_t seq, int64_t samples,
                             int ignore_every, uint64_t seed, weft_data **out)
{
    weft_data *d;

    WF_TRY(check_random(vocab, samples, ignore_every));
    WF_TRY(wf_data_new(seq, seed, &d));
    d->vocab = vocab;
    d->ignore_every = ignore_every;
    weft_status st = fill_random(d, samples);
    if (st == WEFT_OK)
        *out = d;
    else
        weft_data_destroy(d);
    return st;
}
