/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "base/near.h"
#include "layout/rule.h"

static const char *const words[] = {"none", "selective", "full"};
enum { N_WORDS = 3, MAX_STAGES = 1 << 20 };

static int word_at(const char *at, size_t n)
{
    for (int i = 0; i < N_WORDS; i++)
        if (strlen(words[i]) == n && !strncmp(at, words[i], n)) return i;
    return -1;
}

static weft_status not_a_word(const char *at, size_t n)
{
    char word[32];
    if (n >= sizeof word) n = sizeof word - 1;
    memcpy(word, at, n);
    word[n] = 0;
    const char *near = wf_nearest_in(word, N_WORDS, words);
    return WF_FAIL(WEFT_E_INVALID,
                   "--recompute: '%s' is none of none, selective, full%s%s%s", word,
                   near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

/* "*4" or nothing; at most MAX_STAGES. */
static weft_status times(const char **at, int64_t *n)
{
    *n = 1;
    if (**at != '*') return WEFT_OK;
    ++*at;
    for (*n = 0; **at >= '0' && **at <= '9' && *n <= MAX_STAGES; ++*at)
        *n = 10 * *n + (**at - '0');
    if (*n < 1 || *n > MAX_STAGES)
        return WF_FAIL(WEFT_E_INVALID,
                       "--recompute: a number of stages in 1 .. %d is "
                       "needed after *",
                       MAX_STAGES);
    return WEFT_OK;
}

weft_status wf_recompute_read(const weft_layout *l, int64_t stage, weft_recompute *out,
                              int64_t *n_stages)
{
    const char *at = l->recompute;
    int64_t n = 0;

    for (;; at++) {
        size_t len = strcspn(at, ",*");
        int word = word_at(at, len);
        int64_t repeat;
        if (word < 0) return not_a_word(at, len);
        int alone = at == l->recompute && !at[len];
        at += len;
        WF_TRY(times(&at, &repeat));
        if (out && (alone || (stage >= n && stage < n + repeat)))
            *out = (weft_recompute)word;
        if (alone) {
            if (n_stages) *n_stages = 0;
            return WEFT_OK;
        }
        n += repeat;
        if (!*at) break;
        if (*at != ',' || n > MAX_STAGES)
            return WF_FAIL(WEFT_E_INVALID,
                           "--recompute %s: a comma is needed at "
                           "character %d",
                           l->recompute, (int)(at - l->recompute) + 1);
    }
    if (n_stages) *n_stages = n;
    return WEFT_OK;
}

weft_recompute wf_recompute_run(const weft_layout *l, int64_t stage, int64_t *to)
{
    int64_t n = 0, repeat;

    for (const char *at = l->recompute;; at++) {
        size_t len = strcspn(at, ",*");
        int word = word_at(at, len);
        int alone = at == l->recompute && !at[len];
        at += len;
        if (word < 0 || times(&at, &repeat) != WEFT_OK) break;
        n += repeat;
        if (alone || stage < n) {
            *to = alone ? INT64_MAX : n;
            return (weft_recompute)word;
        }
        if (!*at) break;
    }
    *to = INT64_MAX; /* past the list: none in a checked layout */
    return WEFT_RECOMPUTE_NONE;
}

weft_recompute weft_layout_recompute(const weft_layout *l, int stage)
{
    weft_recompute r = WEFT_RECOMPUTE_NONE;
    /* one word, as nearly always: no reading */
    if (!strcmp(l->recompute, "none")) return WEFT_RECOMPUTE_NONE;
    if (!strcmp(l->recompute, "full")) return WEFT_RECOMPUTE_FULL;
    if (!strcmp(l->recompute, "selective")) return WEFT_RECOMPUTE_SELECTIVE;
    weft_status st = wf_recompute_read(l, stage, &r, NULL);
    return st == WEFT_OK ? r : WEFT_RECOMPUTE_NONE;
}
