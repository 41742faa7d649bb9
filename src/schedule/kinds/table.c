/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds, in the order in which `weft schedule list` shows them. */
#include "schedule/kind.h"

extern const weft_schedule_kind wf_kind_gpipe, wf_kind_1f1b, wf_kind_eager_1f1b,
    wf_kind_pipedream, wf_kind_interleaved, wf_kind_looped_bfs, wf_kind_zb_h1,
    wf_kind_zb_h2, wf_kind_interleaved_zb, wf_kind_zb_v, wf_kind_v_half, wf_kind_v_min,
    wf_kind_1f1b_v, wf_kind_zb_auto, wf_kind_dualpipe, wf_kind_dualpipev,
    wf_kind_chimera, wf_kind_bitpipe, wf_kind_hanayo, wf_kind_optimal, wf_kind_forward;

const weft_schedule_kind *const wf_schedule_kinds[] = {
    &wf_kind_gpipe,     &wf_kind_1f1b,        &wf_kind_eager_1f1b,
    &wf_kind_pipedream, &wf_kind_interleaved, &wf_kind_looped_bfs,
    &wf_kind_zb_h1,     &wf_kind_zb_h2,       &wf_kind_interleaved_zb,
    &wf_kind_zb_v,      &wf_kind_zb_auto,     &wf_kind_v_half,
    &wf_kind_v_min,     &wf_kind_1f1b_v,      &wf_kind_dualpipe,
    &wf_kind_dualpipev, &wf_kind_chimera,     &wf_kind_bitpipe,
    &wf_kind_hanayo,    &wf_kind_optimal,     &wf_kind_forward,
};
const int wf_schedule_n_kinds = sizeof wf_schedule_kinds / sizeof *wf_schedule_kinds;
