/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 1F1B-V: two chunks on a V with the backward in one piece, and about two thirds of the
 * activations of 1F1B.
 *
 *     p = 3, m = 4, v = 2, tf = 1, tb = 2
 *     (chunk 0: 0123, backward abcd; chunk 1: 4567, efgh)
 *
 *     0 1 2 3 . 4 e E 5 f F 6 g G . . . 7 h H a A b B . . c C . . d D
 *     . 0 1 2 4 3 5 . e E 6 f F . a A 7 g G . b B h H c C . . d D . .
 *     . . 0 4 1 5 2 6 . . e E a A 3 7 f F b B g G c C h H d D . . . .
 *
 * The block of V-Half needs I and W apart. Here the ops of one micro-batch are put down
 * as early as they can be, F in one slot and B in two, such that no rank has two of
 * them in the same slot modulo 6. Passing over the first possible slot on a rank or two
 * of the way down can give blocks that hold no more and whose ends squeeze better
 * (squeeze.h): with few ranks they are tried, with more the best one is known, in times
 * of 1 and 2; the order is the same whatever the costs.
 *
 * Peak 2(2p div 3 + 1) chunk activations once m is large enough; 4m(p-1) messages. Idle
 * in times of 1 and 2 5p - 8, 5p - 5, 5p - 7 where p is 0, 1, 2 modulo 3: not derived, but
 * so for p = 4..64 and m >= p.
 */
#include <string.h>

#include "base/alloc.h"
#include "schedule/kinds/vblock.h"

static int64_t count(const weft_schedule *q, int rank)
{
    return 4 * (int64_t)q->m;
}

static int64_t most_held(int64_t p)
{
    return 2 * (2 * p / 3 + 1);
}

/* ---- slots modulo 6: bit i is free slot i --------------------------------------- */

enum { ALL_FREE = (1 << WF_V_PERIOD) - 1 };

static int bits_at(int64_t slot, int length)
{
    int bits = ((1 << length) - 1) << slot % WF_V_PERIOD;
    return (bits | bits >> WF_V_PERIOD) & ALL_FREE;
}

/* Can the free slots hold backwards of two slots and nothing else? */
static int is_pairs(int open)
{
    if (!open) return 1;
    for (int i = 0; i < WF_V_PERIOD; i++) {
        int two = bits_at(i, 2);
        if ((open & two) == two && is_pairs(open & ~two)) return 1;
    }
    return 0;
}

/* ... and one forward? */
static int is_one_and_pairs(int open)
{
    for (int i = 0; i < WF_V_PERIOD; i++)
        if (open & 1 << i && is_pairs(open & ~(1 << i))) return 1;
    return 0;
}

/* Put an op of a rank at the first slot from `slot` on, passing over `skip` possible
 * ones. `left` says what the rest has to be. Returns the slot after it. */
static int64_t put_op(int *open, int64_t *slot, int64_t from, int length, int skip,
                      int (*left)(int open))
{
    for (;; from++) {
        int bits = bits_at(from, length);
        if ((*open & bits) != bits || !left(*open & ~bits) || skip-- > 0) continue;
        *open &= ~bits;
        *slot = from;
        return from + length;
    }
}

/* The block whose first forwards pass over a slot on the ranks skip .. skip + n - 1. */
static void make_block(int p, int skip, int n, int *open, wf_block *b)
{
    int64_t t = 0;
    for (int r = 0; r < p; r++)
        open[r] = ALL_FREE;
    for (int r = 0; r < p; r++)
        t = put_op(&open[r], &b[r].slot[0][WF_FORWARD], t, 1, r >= skip && r < skip + n,
                   is_one_and_pairs);
    for (int r = p - 1; r >= 0; r--)
        t = put_op(&open[r], &b[r].slot[1][WF_FORWARD], t, 1, 0, is_pairs);
    for (int r = 0; r < p; r++)
        t = put_op(&open[r], &b[r].slot[1][WF_BACK], t, 2, 0, is_pairs);
    for (int r = p - 1; r >= 0; r--)
        t = put_op(&open[r], &b[r].slot[0][WF_BACK], t, 2, 0, is_pairs);
}

static int holds_little(int p, const wf_block *b)
{
    for (int r = 0; r < p; r++)
        if (wf_v_peak(&b[r], 2) > most_held(p)) return 0;
    return 1;
}

/* ---- the search ----------------------------------------------------------------- */

enum {
    RUNS = 2,
    FEW_RANKS = 9,
    MOST_BLOCKS = 2 * FEW_RANKS,
    FIRST = 5 /* often the best or nearly: runs along the others soon end as too late */
};

/* Blocks that are looked at. For p = 10..40, m = 4p runs along all 2p were tried, with up to
 * p + 4 ops ahead and p/2 + 2 micro-batches to squeeze: none is shorter than the one that is
 * known. With few ranks others are as short, and bear latency better. */
static int n_blocks(int p)
{
    return p <= FEW_RANKS ? 2 * p : 1;
}

/* Passing over a slot may lead to the same block as another skip. */
static int is_new(int p, const wf_block *b, const wf_try *tries, int n)
{
    for (int i = 0; i < n; i++)
        if (!memcmp(b, tries[i].block, (size_t)p * sizeof *b)) return 0;
    return 1;
}

/* The plain block, and those that pass over one or two slots. */
static int make_few(int p, int *open, wf_block *block, wf_try *tries)
{
    int n = 0, runs = p < 6 ? 2 : 1;
    for (int k = 0; k < n_blocks(p); k++) {
        int i = (k + FIRST) % n_blocks(p);
        wf_block *b = block + (int64_t)i * p;
        make_block(p, i / 2, i == 0 ? 0 : 1 + i % 2, open, b);
        if (!holds_little(p, b) || !is_new(p, b, tries, n)) continue;
        for (int far = 0; far < runs; far++)
            tries[n++] = (wf_try){
                .block = b, .period = WF_V_PERIOD, .ahead = far ? 4 : 8, .start = 3};
    }
    return n;
}

/* With more ranks: so many pass over a slot that the forward which comes back to rank 0
 * falls next to the first one, modulo 6; and what is squeezed grows with p. */
static int make_tries(int p, int *open, wf_block *block, wf_try *tries)
{
    static const int passing[] = {1, 0, 2}; /* by p modulo 3 */
    if (p <= FEW_RANKS) return make_few(p, open, block, tries);
    make_block(p, 2, passing[p % 3], open, block);
    tries[0] = (wf_try){.block = block,
                        .period = WF_V_PERIOD,
                        .ahead = 2 * p / 3 + 2,
                        .start = p / 3 + 2};
    return 1;
}

static weft_status search(const weft_schedule *s, const wf_try *tries, int n)
{
    int64_t *limit = NULL;
    WF_TRY(WF_ALLOC(s->p, &limit));
    for (int r = 0; r < s->p; r++)
        limit[r] = most_held(s->p);
    wf_search x = {.dur = {1, 2, 0},
                   .judged_latency = 1e-3,
                   .limit = 2 * most_held(s->p),
                   .limit_back = limit,
                   .sample = (int64_t)s->p + 4,
                   .tries = tries,
                   .n_tries = n};
    weft_status st = wf_search_run(&x, s, NULL);
    wf_free(limit);
    return st;
}

static weft_status generate(const weft_schedule *s, const weft_schedule_options *opt)
{
    wf_try tries[RUNS * MOST_BLOCKS];
    wf_block *block = NULL;
    int *open = NULL;
    weft_status st = WF_ALLOC(n_blocks(s->p) * (int64_t)s->p, &block);
    if (st == WEFT_OK) st = WF_ALLOC(s->p, &open);
    if (st == WEFT_OK) st = search(s, tries, make_tries(s->p, open, block, tries));
    wf_free(block);
    wf_free(open);
    return st;
}

const weft_schedule_kind wf_kind_1f1b_v = {
    .name = "1f1b-v",
    .summary =
        "two chunks on a V, backward in one piece, two thirds of the activations of "
        "1f1b",
    .source = "Qi et al. 2024, Pipeline Parallelism with Controllable Memory",
    .chunks = 2,
    .applicable = wf_on_v,
    .count = count,
    .generate = generate,
};
