/* SPDX-License-Identifier: Apache-2.0 */
/*
 * V-Min: two chunks on a V and a block of six slots that is repeated, chosen so that
 * about a third of the activations of 1F1B are held.
 *
 *     p = 3, m = 4, v = 2, tf = ti = tw = 1
 *     (chunk 0: 0123, I abcd, W ABCD; chunk 1: 4567, efgh, EFGH)
 *
 *     0 1 . . . 4 e 2 E 5 f a F 3 A 6 g b G B . 7 h c H C . d D
 *     . 0 1 . 4 . . e 5 E a 2 f A 6 F b 3 g B 7 G c h C H d D .
 *     . . 0 4 1 5 . . e a E A 2 6 f b F B 3 7 g c G C h d H D .
 *
 * Rank r has F of chunk 0 at slot r, F of chunk 1 at 2p-1-r, I of chunk 1 at 2p+e+r and
 * I of chunk 0 at 4p+e-1-r, e = 2 where 3 divides p, else 0; the W's in the two slots
 * left. The ends are squeezed in unit times (squeeze.h); the order is the same whatever
 * the costs.
 *
 * Peak 2((p+4) div 3) chunk activations, freed at I or at W, once m is large enough;
 * 4m(p-1) messages. Idle in unit times 11, 17, 27 chunk ops for p = 4, 6, 8; where F, I
 * and W differ it grows with m, since each op of the block waits for the one before it.
 */
#include "schedule/kinds/vblock.h"

void wf_v_min_block(int64_t p, wf_block *block)
{
    int64_t e = p % 3 ? 0 : 2;
    for (int64_t r = 0; r < p; r++) {
        block[r] = (wf_block){
            .slot = {{r, 4 * p + e - 1 - r}, {2 * p - 1 - r, 2 * p + e + r}}};
        wf_v_place_w(&block[r]);
    }
}

int64_t wf_v_min_peak(int64_t p)
{
    return 2 * ((p + 4) / 3);
}

static weft_status generate(const weft_schedule *s, const weft_schedule_options *opt)
{
    return wf_v_generate(s, wf_v_min_block, wf_v_min_peak(s->p));
}

const weft_schedule_kind wf_kind_v_min = {
    .name = "v-min",
    .summary = "two chunks on a V with about a third of the activations of 1f1b",
    .source =
        "Qi et al. 2024, Pipeline Parallelism with Controllable Memory, section 4.2",
    .splits = 1,
    .chunks = 2,
    .applicable = wf_on_v,
    .count = wf_v_count,
    .generate = generate,
};
