/* SPDX-License-Identifier: Apache-2.0 */
/*
 * V-Half: two chunks on a V and a block of six slots that is repeated, chosen so that
 * about half of the activations of 1F1B are held.
 *
 *     p = 3, m = 4, v = 2, tf = ti = tw = 1
 *     (chunk 0: 0123, I abcd, W ABCD; chunk 1: 4567, efgh, EFGH)
 *
 *     0 1 . . . 4 e E 2 5 f F a A 3 6 g G b B . 7 h c H C . d D
 *     . 0 . . 4 1 . e 5 E 2 a f A 6 F 3 b g B 7 G c h C H d D .
 *     . . 0 4 . . 1 5 e E a A 2 6 f F b B 3 7 g c G C h d H D .
 *
 * Rank r has F of chunk 0 at slot 2r, F of chunk 1 at 3p-2-r, I of chunk 1 at 3p+e+2r-1
 * and I of chunk 0 at 6p+e-2-r, e = 3 for even p, else 0; the W's in the two slots
 * left. The ends are squeezed in unit times (squeeze.h); the order is the same whatever
 * the costs.
 *
 * Peak 2((p+2) div 2) chunk activations, freed at I or at W, once m is large enough;
 * 4m(p-1) messages.
 * Idle in unit times 5, 11, 17 chunk ops for p = 4, 6, 8; no closed form is known.
 */
#include "schedule/kinds/vblock.h"

void wf_v_half_block(int64_t p, wf_block *block)
{
    int64_t e = p % 2 ? 0 : 3;
    for (int64_t r = 0; r < p; r++) {
        block[r] = (wf_block){.slot = {{2 * r, 6 * p + e - 2 - r},
                                       {3 * p - 2 - r, 3 * p + e + 2 * r - 1}}};
        wf_v_place_w(&block[r]);
    }
}

int64_t wf_v_half_peak(int64_t p)
{
    return 2 * ((p + 2) / 2);
}

static weft_status generate(const weft_schedule *s, const weft_schedule_options *opt)
{
    return wf_v_generate(s, wf_v_half_block, wf_v_half_peak(s->p));
}

const weft_schedule_kind wf_kind_v_half = {
    .name = "v-half",
    .summary = "two chunks on a V with about half of the activations of 1f1b",
    .source =
        "Qi et al. 2024, Pipeline Parallelism with Controllable Memory, section 4.2",
    .splits = 1,
    .chunks = 2,
    .applicable = wf_on_v,
    .count = wf_v_count,
    .generate = generate,
};
