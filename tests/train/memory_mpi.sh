#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Over MPI, where a posted receive has memory of its own: every class of every rank is
# predicted to the byte, messages on their way included, with evaluations between the steps.
#   memory_mpi.sh openmpi|mpich LAUNCHER WEFT
limit=300
. "$(dirname "$0")/../comm/mpi.sh"
weft=$3
model=layers=8,hidden=16,heads=4,vocab=256,positions=8
head -c 60000 /dev/urandom | base64 -w 60 >"$work/text"

# N FLAGS...: one run of N ranks
exact() {
    local n=$1
    shift
    launch "$n" "$weft" train --model "$model" \
        --data "$work/text" --seq 8 --dtype f32 --threads 1 --micro-batch 1 \
        --train-iters 4 --eval-interval 2 --eval-iters 2 --machine h100:1x8 --compare \
        "$@" >"$work/out" 2>"$work/err" || { cat "$work/out" "$work/err"; fail "train $*"; }
    awk '/^pipeline +memory/ { on = 1; next }
         on && $1 == "rank" { rows++; comm += $3 == "comm"; if ($4 != $5) { print; off = 1 } }
         END { exit off || rows < 6 || !comm }' "$work/out" ||
        { cat "$work/out"; fail "memory of train $*"; }
    echo "exact: $*"
}

for late in 0 1; do
    export WEFT_MPI_SYNC=$late
    exact 2 --pp 2 --global-batch 4
    exact 2 --pp 2 --schedule gpipe --global-batch 5
    exact 2 --pp 2 --vpp 2 --schedule zb-v --global-batch 4
    exact 2 --pp 2 --vpp 2 --schedule chimera --global-batch 4
done
export WEFT_MPI_SYNC=0
exact 4 --pp 4 --schedule zb-h1 --global-batch 7
exact 4 --pp 4 --vpp 2 --schedule interleaved --global-batch 8
exact 4 --tp 2 --pp 2 --global-batch 5
exact 4 --pp 2 --dp 2 --global-batch 6
model=$model,tied=false
exact 4 --pp 4 --schedule pipedream --global-batch 4 --clip-grad 0
