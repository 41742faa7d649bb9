/* SPDX-License-Identifier: Apache-2.0 */
/* Where ranks are: a table, and a Slurm script that puts them there. */
#include "base/error.h"
#include "plan/tool.h"

static weft_status any(const weft_layout *l, const weft_arch *a)
{
    return WEFT_OK;
}

/* ---- the table ---------------------------------------------------------------------- */

static void write_table(const weft_layout *l, const weft_arch *a,
                        const weft_cost_options *o, int per_node, weft_writer *out)
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
static void write_batch(const weft_layout *l, const weft_arch *a,
                        const weft_cost_options *o, int per_node, weft_writer *out)
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
    weft_print(out, "\n");
    wf_megatron_notes(l, a, o, out);
    weft_print(out, "args=(\n    ");
    wf_megatron_args(l, a, o, out);
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

static weft_status check_batch_options(const weft_cost_options *o)
{
    return wf_tool_megatron.check_options(o);
}

const wf_tool wf_tool_slurm = {.name = "slurm",
                               .order = "tp,cp,pp,dp",
                               .check = check_batch,
                               .write = write_batch,
                               .check_options = check_batch_options};
