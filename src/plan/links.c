/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/links.h"

wf_reach wf_axis_reach(const weft_cost_model *q, const weft_layout *l, weft_axis axis)
{
    wf_reach r = {1, 1, 0};
    weft_mesh mesh;

    if (weft_layout_mesh(l, &mesh) != WEFT_OK) return r; /* not of a checked layout */
    for (int i = 0; i < mesh.n_axes; i++) {
        if (mesh.axis[i] == (unsigned char)axis) {
            r.size = mesh.size[i];
            break;
        }
        r.stride *= mesh.size[i];
    }
    r.tier = weft_machine_tier(&q->machine, r.stride, r.size);
    return r;
}

double wf_reach_bytes_per_s(const weft_cost_model *q, wf_reach reach)
{
    return q->machine.tier[reach.tier].bytes_per_s;
}
