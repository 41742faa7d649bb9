/* SPDX-License-Identifier: Apache-2.0 */
/* weft mesh: which rank sits where. */
#include "cmd/mesh.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cmd/commands.h"
#include "cmd/options.h"
#include "cmd/stdio_writer.h"

enum { MOST_RANKS = 1 << 20 }; /* a table has a row a rank */

/* "tp,cp,pp,dp" from the mesh itself, however the user wrote the order. */
static void order_text(const weft_mesh *mesh, char text[64])
{
    int n = 0;
    for (int a = 0; a < mesh->n_axes; a++)
        n += snprintf(text + n, 64 - (size_t)n, "%s%s", a ? "," : "",
                      weft_axis_name(mesh->axis[a]));
}

static weft_status make_view(const int degree[WEFT_MAX_AXES], wf_mesh_view *v)
{
    WF_TRY(weft_mesh_make(degree, v->order, &v->mesh));
    int world = weft_mesh_world(&v->mesh);
    if (world > MOST_RANKS)
        return WF_FAIL(WEFT_E_INVALID, "%d ranks are more than the table's %d rows",
                       world, MOST_RANKS);
    if (v->rank >= world)
        return WF_FAIL(WEFT_E_INVALID,
                       "--rank %d is outside the mesh: ranks go from 0 to %d", v->rank,
                       world - 1);
    if (v->round_robin && !v->per_node)
        return WF_FAIL(WEFT_E_INVALID, "--map-by node needs --gpus-per-node");
    return WEFT_OK;
}

static int report(const int degree[WEFT_MAX_AXES], wf_mesh_view *v, int json)
{
    char order[64];
    weft_writer out = wf_stdout_writer();
    weft_status st = make_view(degree, v);
    if (st != WEFT_OK) return wf_cmd_fail("mesh", st);
    order_text(&v->mesh, order);
    v->order = order;
    if (json)
        wf_mesh_report_json(v, &out);
    else
        wf_mesh_report_text(v, &out);
    st = weft_writer_status(&out);
    return st == WEFT_OK ? WF_EXIT_OK : wf_cmd_fail("mesh", st);
}

int wf_cmd_mesh(int argc, char **argv)
{
    int degree[WEFT_MAX_AXES] = {1, 1, 1, 1, 1};
    int json = 0;
    const char *map = "slot";
    wf_mesh_view v = {.rank = -1};
    const wf_option rows[] = {
        {"tp", .type = WF_OPT_INT, .out = &degree[WEFT_TP], .arg = "T",
         .help = "tensor-parallel degree", .alias = "tensor-model-parallel-size"},
        {"cp", .type = WF_OPT_INT, .out = &degree[WEFT_CP], .arg = "C",
         .help = "context-parallel degree", .alias = "context-parallel-size"},
        {"pp", .type = WF_OPT_INT, .out = &degree[WEFT_PP], .arg = "P",
         .help = "pipeline degree", .alias = "pipeline-model-parallel-size"},
        {"dp", .type = WF_OPT_INT, .out = &degree[WEFT_DP], .arg = "D",
         .help = "data-parallel degree", .alias = "data-parallel-size"},
        {"order", .type = WF_OPT_TEXT, .out = &v.order, .arg = "AXES",
         .help = "fastest first (default tp,cp,pp,dp; Megatron's own is tp-cp-dp-pp)"},
        {"gpus-per-node", .letter = 'g', .type = WF_OPT_INT, .out = &v.per_node,
         .arg = "G", .min = 1, .max = 1e6,
         .help = "to show nodes and the groups that cross them"},
        {"map-by", .type = WF_OPT_CHOICE, .out = &map, .choices = "slot node",
         .help = "ranks fill a node, or go round the nodes"},
        {"rank", .letter = 'r', .type = WF_OPT_INT, .out = &v.rank, .arg = "R",
         .min = 0, .max = 2147483647,
         .help = "only this rank, its groups and neighbours"},
        {"json", .type = WF_OPT_FLAG, .out = &json, .help = "results as JSON"},
        {0}};
    const wf_command_line line = {
        .command = "mesh",
        .usage =
            "--tp T --cp C --pp P --dp D [--order tp,cp,pp,dp] [--gpus-per-node G]",
        .about = "Prints the coordinate of every rank, the groups of every axis, and "
                 "which of them\n"
                 "cross a node (marked *).",
        .examples = "  weft mesh --tp 2 --pp 4 --dp 2\n"
                    "  weft mesh --tp 4 --dp 2 --gpus-per-node 4 --map-by node\n"
                    "  weft mesh --tp 2 --pp 4 --dp 2 --order tp,cp,dp,pp --rank 13\n",
        .later = "ep expert-model-parallel-size",
        .layout = 1,
        .group = {{"Flags", .row = rows}}};
    wf_args args;
    int rc;

    if (wf_args_parse(&line, argc, argv, &args, &rc)) return rc;
    v.round_robin = !strcmp(map, "node");
    rc = args.n ? wf_cmd_usage("mesh", "unexpected word '%s'", args.word[0])
                : report(degree, &v, json);
    wf_args_clear(&args);
    return rc;
}
