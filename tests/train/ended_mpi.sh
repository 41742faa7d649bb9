#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a run over MPI says: nothing is coloured, though a launcher may give rank 0 a terminal
# of its own; a lost rank is named and no step is promised after it, though the launcher ends
# the others by the signal that users end a run with.
#   ended_mpi.sh openmpi|mpich LAUNCHER WEFT
limit=60
. "$(dirname "$0")/../comm/mpi.sh"
weft=$3
unset NO_COLOR CLICOLOR_FORCE
export TMPDIR=$work TERM=xterm
head -c 60000 /dev/urandom | base64 -w 60 >"$work/text"
flags="--model layers=2,hidden=32,heads=4,vocab=256,positions=16 --data $work/text --threads 1"

launch 2 "$weft" train $flags --pp 2 --train-iters 4 --compare >"$work/out" 2>&1 ||
    { cat "$work/out"; fail "a run of 4 steps"; }
! grep -q $'\033' "$work/out" || fail "colours in a file"
grep -q 'measured (step [0-9]*, the nearest to the median)' "$work/out" ||
    { cat "$work/out"; fail "no step is named"; }

# endless: in the background until a rank has made 3 steps
endless() {
    rm -f "$work/log"
    launch 4 "$weft" train $flags --tp 2 --pp 2 --train-iters 100000000 --log-interval 0 \
        --eval-iters 0 --log "$work/log" >"$work/out" 2>"$work/err" &
    job=$!
    for _ in $(seq 300); do
        grep -q '"step":2' "$work/log" 2>/dev/null && return
        sleep 0.1
    done
    fail "no steps"
}

endless
kill -KILL "$(pgrep -f "^$weft train .*$work/log" | tail -1)"
status=0
wait $job || status=$?
[ $status -ne 0 ] || fail "a lost rank: status 0"
! grep -q 'stopping after this step' "$work/err" ||
    { cat "$work/err"; fail "a lost rank: a step is promised"; }
# MPICH's launcher may end all before a rank can say it; its own words are on stdout
grep -q 'lost rank\|signal 9' "$work/err" "$work/out" ||
    { cat "$work/err" "$work/out"; fail "the loss is not told"; }
echo "ok: a lost rank"
