/* SPDX-License-Identifier: Apache-2.0 */
/* Rank table, groups, and which groups cross a node. */
#include "base/alloc.h"
#include "base/json.h"
#include "cmd/mesh.h"

int wf_mesh_node(const wf_mesh_view *v, int rank)
{
    int world = weft_mesh_world(&v->mesh);
    if (!v->per_node) return -1;
    int nodes = (world - 1) / v->per_node + 1;
    return v->round_robin ? rank % nodes : rank / v->per_node;
}

/* Calls each(ctx, i, n, ranks) for the groups of an axis, or the one of v->rank. */
typedef void each_group(void *ctx, const wf_mesh_view *v, int n, const int *ranks);

static void for_groups(const wf_mesh_view *v, weft_axis axis, each_group *each,
                       void *ctx, weft_writer *out)
{
    unsigned set = 1u << axis;
    int n, *ranks;
    if (WF_ALLOC(weft_mesh_group_size(&v->mesh, set), &ranks) != WEFT_OK) {
        out->failed = 1;
        return;
    }
    for (int g = 0; g < weft_mesh_group_count(&v->mesh, set); g++) {
        int first = weft_mesh_group_first(&v->mesh, set, g);
        if (v->rank >= 0 && g != weft_mesh_group_index(&v->mesh, set, v->rank))
            continue;
        if (weft_mesh_group(&v->mesh, first, set, &n, ranks) != WEFT_OK)
            out->failed = 1;
        if (!out->failed) each(ctx, v, n, ranks);
    }
    wf_free(ranks);
}

static int crosses(const wf_mesh_view *v, int n, const int *ranks)
{
    for (int i = 1; i < n; i++)
        if (wf_mesh_node(v, ranks[i]) != wf_mesh_node(v, ranks[0])) return 1;
    return 0;
}

typedef struct crossing {
    int groups, crossing;
    int first; /* lowest rank of the first group that crosses; -1 */
} crossing;

static void count_crossing(void *ctx, const wf_mesh_view *v, int n, const int *ranks)
{
    crossing *c = ctx;
    c->groups++;
    if (!crosses(v, n, ranks)) return;
    if (!c->crossing++) c->first = ranks[0];
}

/* ---- text ----------------------------------------------------------------------- */

static void put_set(weft_writer *out, int n, const int *ranks)
{
    weft_print(out, "{");
    for (int i = 0; i < n; i++) {
        if (n > 16 && i == 8) {
            weft_print(out, ",..");
            i = n - 2;
        }
        weft_print(out, "%s%d", i ? "," : "", ranks[i]);
    }
    weft_print(out, "}");
}

static void text_group(void *ctx, const wf_mesh_view *v, int n, const int *ranks)
{
    weft_writer *out = ctx;
    weft_print(out, " ");
    put_set(out, n, ranks);
    if (crosses(v, n, ranks)) weft_print(out, "*");
}

static void put_table(const wf_mesh_view *v, weft_writer *out)
{
    weft_print(out, "rank");
    for (int a = 0; a < WF_MESH_AXES; a++)
        weft_print(out, "%6s", weft_axis_name(a));
    weft_print(out, "%s\n", v->per_node ? "  node" : "");
    for (int r = 0; r < weft_mesh_world(&v->mesh); r++) {
        if (v->rank >= 0 && v->rank != r) continue;
        weft_print(out, "%4d", r);
        for (int a = 0; a < WF_MESH_AXES; a++)
            weft_print(out, "%6d", weft_mesh_coord_of(&v->mesh, r, (weft_axis)a));
        if (v->per_node) weft_print(out, "%6d", wf_mesh_node(v, r));
        weft_print(out, "\n");
    }
}

static void put_neighbours(const wf_mesh_view *v, weft_writer *out)
{
    int before = weft_mesh_neighbour(&v->mesh, v->rank, WEFT_PP, -1, 0);
    int after = weft_mesh_neighbour(&v->mesh, v->rank, WEFT_PP, 1, 0);
    if (before >= 0) weft_print(out, "receives activations from rank %d\n", before);
    if (after >= 0) weft_print(out, "sends activations to rank %d\n", after);
}

static void put_crossing(const wf_mesh_view *v, weft_axis axis, const crossing *c,
                         weft_writer *out)
{
    if (!c->crossing) return;
    weft_print(out, "%s: %d of %d groups cross a node, the first is that of rank %d",
               weft_axis_name((int)axis), c->crossing, c->groups, c->first);
    if (axis == WEFT_TP)
        weft_print(out, "; every layer waits for its all-reduces: %s",
                   v->round_robin
                       ? "fill the nodes instead of going round them (--map-by slot)"
                       : "a tp that divides the ranks of a node, first in the order, "
                         "stays inside");
    weft_print(out, "\n");
}

void wf_mesh_report_text(const wf_mesh_view *v, weft_writer *out)
{
    weft_print(out, "world %d: ", weft_mesh_world(&v->mesh));
    weft_mesh_write_text(&v->mesh, out);
    weft_print(out, " (fastest first)\n\n");
    put_table(v, out);
    weft_print(out, "\n");
    for (int a = 0; a < WF_MESH_AXES; a++) {
        if (weft_mesh_degree(&v->mesh, (weft_axis)a) == 1) continue;
        weft_print(out, "%s:", weft_axis_name(a));
        for_groups(v, (weft_axis)a, text_group, out, out);
        weft_print(out, "\n");
    }
    if (v->rank >= 0) put_neighbours(v, out);
    for (int a = 0; a < WF_MESH_AXES && v->per_node; a++) {
        crossing c = {.first = -1};
        for_groups(v, (weft_axis)a, count_crossing, &c, out);
        if (c.crossing && a == 0) weft_print(out, "\n");
        put_crossing(v, (weft_axis)a, &c, out);
    }
}

/* ---- JSON ----------------------------------------------------------------------- */

static void json_rank(const wf_mesh_view *v, int rank, wf_json *j)
{
    wf_json_object(j);
    wf_json_put_i64(j, "rank", rank);
    for (int a = 0; a < WF_MESH_AXES; a++)
        wf_json_put_i64(j, weft_axis_name(a),
                        weft_mesh_coord_of(&v->mesh, rank, (weft_axis)a));
    wf_json_key(j, "node");
    if (v->per_node)
        wf_json_i64(j, wf_mesh_node(v, rank));
    else
        wf_json_null(j);
    wf_json_end_object(j);
}

static void json_group(void *ctx, const wf_mesh_view *v, int n, const int *ranks)
{
    wf_json *j = ctx;
    wf_json_array(j);
    for (int i = 0; i < n; i++)
        wf_json_i64(j, ranks[i]);
    wf_json_end_array(j);
}

static void json_crossing(const wf_mesh_view *v, wf_json *j)
{
    wf_json_key(j, "crossing");
    wf_json_object(j);
    for (int a = 0; a < WF_MESH_AXES; a++) {
        crossing c = {.first = -1};
        for_groups(v, (weft_axis)a, count_crossing, &c, j->out);
        wf_json_put_i64(j, weft_axis_name(a), c.crossing);
    }
    wf_json_end_object(j);
}

void wf_mesh_report_json(const wf_mesh_view *v, weft_writer *out)
{
    wf_json j = wf_json_begin(out);
    wf_json_object(&j);
    wf_json_put_i64(&j, "world", weft_mesh_world(&v->mesh));
    wf_json_put_string(&j, "order", v->order);
    wf_json_key(&j, "ranks");
    wf_json_array(&j);
    for (int r = 0; r < weft_mesh_world(&v->mesh); r++)
        if (v->rank < 0 || v->rank == r) json_rank(v, r, &j);
    wf_json_end_array(&j);
    wf_json_key(&j, "groups");
    wf_json_object(&j);
    for (int a = 0; a < WF_MESH_AXES; a++) {
        wf_json_key(&j, weft_axis_name(a));
        wf_json_array(&j);
        for_groups(v, (weft_axis)a, json_group, &j, out);
        wf_json_end_array(&j);
    }
    wf_json_end_object(&j);
    if (v->per_node) json_crossing(v, &j);
    wf_json_end_object(&j);
    weft_print(out, "\n");
}
