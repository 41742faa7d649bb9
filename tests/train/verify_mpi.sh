#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Split against unsplit over MPI: one job of 8 ranks walks a covering set of layouts.
#   verify_mpi.sh openmpi|mpich LAUNCHER WEFT plain|sync|late|both
# plain: as users start it, and to the bit; kinds with two copies and versions of the weights.
# sync: every send waits for its receive. late: random delays of up to 2 ms before every
# operation. both: the two models of the walk.
limit=900
. "$(dirname "$0")/../comm/mpi.sh"
weft=$3 mode=$4
small=layers=6,hidden=12,heads=6,vocab=53,positions=4
eight=layers=8,hidden=12,heads=6,vocab=53,positions=4

walk() {
    launch 8 "$weft" verify --all-layouts 8 --covering --quiet "$@" >"$work/out" 2>&1 || {
        cat "$work/out"
        fail "verify $*"
    }
    grep -qE '^([0-9]+) of \1 layouts equal' "$work/out" || { cat "$work/out"; fail "$*"; }
    cat "$work/out"
}

case $mode in
plain)
    walk --model $small
    walk --model $small --exact
    walk --model $eight --steps 1 --kinds chimera,dualpipe,bitpipe,pipedream
    ;;
sync)
    export WEFT_MPI_SYNC=1
    walk --model $small
    walk --model $eight --steps 1 --kinds chimera,dualpipe,bitpipe,pipedream,zb-v
    ;;
late) walk --model $small --jitter 2ms --steps 1 ;;
both) walk ;;
*) fail "no mode $mode" ;;
esac
