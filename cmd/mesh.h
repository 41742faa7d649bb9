/* SPDX-License-Identifier: Apache-2.0 */
/* Inside `weft mesh`. */
#ifndef WF_CMD_MESH_H
#define WF_CMD_MESH_H
#include <weft/mesh.h>

/* What is asked for: a mesh, and how its ranks lie on nodes. */
typedef struct wf_mesh_view {
    weft_mesh mesh;
    const char *order;
    int per_node;    /* ranks of a node; 0: unknown */
    int round_robin; /* ranks go to the nodes in turn instead of filling them */
    int rank;        /* only this one; -1: all */
} wf_mesh_view;

/* Node of a rank; -1 when unknown. */
int wf_mesh_node(const wf_mesh_view *v, int rank);
/* Axes of the report: tp cp pp dp. */
enum { WF_MESH_AXES = 4 };

void wf_mesh_report_text(const wf_mesh_view *v, weft_writer *out);
void wf_mesh_report_json(const wf_mesh_view *v, weft_writer *out);
#endif
