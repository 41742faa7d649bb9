/* SPDX-License-Identifier: Apache-2.0 */
/* Where ranks are: a table, a Slurm script that puts them there, weft's own flags. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "layout/fields.h"
#include "plan/tool.h"

static weft_status any(const weft_layout *l, const weft_arch *a)
{
    return WEFT_OK;
}

/* ---- the table ---------------------------------------------------------------------- */

static void write_table(const weft_layout *l, const weft_arch *a, int per_node,
                        weft_writer *out)
{
    weft_mesh mesh;

    if (weft_layout_mesh(l, &mesh) != WEFT_OK) { /* not of a checked layout */
        out->failed = 1;
        return;
    }
    weft_print(out, "rank,node,local_rank,tp,cp,pp,dp,ep\n");
    for (int r = 0; r < weft_mesh_world(&mesh); r++)
        weft_print(out, "%d,%d,%d,%d,%d,%d,%d,%d\n", r, r / per_node, r % per_node,
                   weft_mesh_coord_of(&mesh, r, WEFT_TP),
                   weft_mesh_coord_of(&mesh, r, WEFT_CP),
                   weft_mesh_coord_of(&mesh, r, WEFT_PP),
                   weft_mesh_coord_of(&mesh, r, WEFT_DP),
                   weft_mesh_coord_of(&mesh, r, WEFT_DP) % l->ep);
}

const wf_tool wf_tool_ranks = {
    .name = "ranks", .order = "tp,cp,pp,dp", .check = any, .write = write_table};

/* ---- Slurm -------------------------------------------------------------------------- */

/* Its default distribution (block) fills the nodes in turn, as the mesh has it; sites may
 * have another, so it is named. All devices of a node stay visible to its ranks: with one
 * each, peer-to-peer copies inside the node would be off. */
static void write_batch(const weft_layout *l, const weft_arch *a, int per_node,
                        weft_writer *out)
{
    int world = weft_layout_world(l), nodes = (world + per_node - 1) / per_node;
    int tasks = world < per_node ? world : per_node;

    weft_print(out,
               "#!/bin/bash\n#SBATCH --job-name=weft\n#SBATCH --nodes=%d\n"
               "#SBATCH --ntasks=%d\n#SBATCH --ntasks-per-node=%d\n"
               "#SBATCH --gpus-per-node=%d\n#SBATCH --distribution=block:block\n"
               "#SBATCH --exclusive\n\n",
               nodes, world, tasks, tasks);
    weft_print(
        out,
        "MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n "
        "1)\nexport MASTER_ADDR MASTER_PORT=29500 WORLD_SIZE=%d\n",
        world);
    if ((l->tp > 1 || l->cp > 1) && l->zero < 2)
        weft_print(out, "export CUDA_DEVICE_MAX_CONNECTIONS=1 # until Blackwell\n");
    weft_print(out, "\nargs=(\n    ");
    wf_megatron_args(l, a, out);
    weft_print(out,
               "\n)\n"
               "# yours: data, tokenizer, learning rate, checkpoints\n"
               "srun --distribution=block:block --cpu-bind=cores --gpu-bind=none \\\n"
               "    --kill-on-bad-exit=1 bash -c 'RANK=$SLURM_PROCID "
               "LOCAL_RANK=$SLURM_LOCALID \\\n"
               "    exec python pretrain_gpt.py \"$@\"' - \"${args[@]}\"\n");
}

static weft_status check_batch(const weft_layout *l, const weft_arch *a)
{
    return wf_tool_megatron.check(l, a);
}

const wf_tool wf_tool_slurm = {.name = "slurm",
                               .order = "tp,cp,pp,dp",
                               .check = check_batch,
                               .write = write_batch};

/* ---- weft train --------------------------------------------------------------------- */

static int is_default(const wf_table *t, int i, const void *obj, const void *usual)
{
    const wf_field *f = &t->field[i];
    const char *a = (const char *)obj + f->offset, *b = (const char *)usual + f->offset;
    if (!f->size) return 1;
    return f->type == WF_STRING ? !strcmp(a, b) : !memcmp(a, b, f->size);
}

static void put_field(const wf_table *t, int i, const weft_layout *l, weft_writer *out)
{
    weft_text text = {NULL, 0, 0};
    weft_writer w = weft_text_writer(&text);
    char label[64];

    wf_field_print(t, i, l, &w);
    if (w.failed) out->failed = 1;
    if (t->field[i].type == WF_BOOL && text.s && !strcmp(text.s, "true")) {
        weft_print(out, " %s", wf_field_label(t, i, label));
    } else {
        weft_print(out, " %s ", wf_field_label(t, i, label));
        wf_quote(out, text.s ? text.s : "");
    }
    weft_text_clear(&text);
}

static void write_train(const weft_layout *l, const weft_arch *a, int per_node,
                        weft_writer *out)
{
    const wf_table *t = wf_layout_table();
    weft_layout usual;

    weft_layout_defaults(&usual);
    weft_print(out, "mpirun -n %d weft train --model ", weft_layout_world(l));
    if (strcmp(a->name, "custom"))
        wf_quote(out, a->name);
    else
        weft_print(out, "layers=%lld,hidden=%lld,heads=%lld", (long long)a->layers,
                   (long long)a->hidden, (long long)a->heads);
    for (int i = 0; i < t->n; i++)
        if (!is_default(t, i, l, &usual)) put_field(t, i, l, out);
    weft_print(out, "\n");
}

static weft_status check_train(const weft_layout *l, const weft_arch *a)
{
    char why[512];
    weft_status st = weft_arch_require_family(a, "gpt2");

    if (st == WEFT_OK) st = weft_layout_check(l, a);
    if (st == WEFT_OK || st == WEFT_E_NOMEM) return st;
    snprintf(why, sizeof why, "%s", weft_status_message());
    return WF_FAIL(WEFT_E_INFEASIBLE, "%s", why);
}

const wf_tool wf_tool_weft = {
    .name = "weft", .order = "tp,cp,pp,dp", .check = check_train, .write = write_train};
