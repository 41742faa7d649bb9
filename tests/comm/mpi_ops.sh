#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every operation over MPI: numbers of ranks, synchronous sends, few tags and small chunks.
#   mpi_ops.sh openmpi|mpich LAUNCHER PROGRAM
. "$(dirname "$0")/mpi.sh"
program=$3

check() {
    local n=$1
    shift
    launch "$n" "$program" "$@" >"$work/out" 2>&1 || {
        cat "$work/out"
        fail "$n ranks, arguments: $*, WEFT_MPI_SYNC=$WEFT_MPI_SYNC"
    }
    echo "$n ranks, arguments '$*', sync '$WEFT_MPI_SYNC': $(grep -c '^ok' "$work/out") claims hold"
}

check 1
check 2
check 4
check 4 32767 many
check 3 15
export WEFT_MPI_SYNC=1
check 4
check 4 32767
check 2 15
