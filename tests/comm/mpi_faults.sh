#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A rank that stops, dies, fails or never starts: the whole job ends in bounded time with a
# status other than 0, and one message says what happened.
#   mpi_faults.sh openmpi|mpich LAUNCHER DRIVER
limit=40
. "$(dirname "$0")/mpi.sh"
driver=$3
board=$work/board
export TMPDIR=$work/tmp

# ended NAME BOUND_S: after `status` and `from` were set and $work/err was written.
ended() {
    local took=$(($(date +%s) - from))
    [ "$status" -ne 0 ] || fail "$1: the job ended with status 0"
    [ "$took" -le "$2" ] || { cat "$work/err"; fail "$1: it took $took s, $2 are allowed"; }
    # The launcher reaps what it started; a rank of ours must not go on or lie dead.
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        pgrep -f "$driver.*$work" >/dev/null || break
        sleep 0.5
    done
    ! pgrep -f "$driver.*$work" >/dev/null || fail "$1: a rank goes on after the job"
    echo "ok $1: status $status after $took s"
}

# says NAME COUNT TEXT: that many lines of the job's words have it.
says() {
    local n
    n=$(grep -c -- "$3" "$work/err")
    [ "$n" -eq "$2" ] || { cat "$work/err"; fail "$1: $n lines say '$3', not $2"; }
}

# Where no place was given: the folder that the ranks of one host agree on.
own_board() {
    echo "$TMPDIR"/weft-job-*
}

start() {
    rm -rf "$board" "$TMPDIR"
    mkdir "$TMPDIR"
    from=$(date +%s)
    status=0
}

run() {
    start
    launch 4 "$driver" status="$board" timeout=2 "$@" >"$work/err" 2>&1 || status=$?
}

# While it runs: a signal to one rank, by the pid in its status file (bytes 16 to 23).
run_and_signal() {
    local signal=$1 rank=$2 file
    shift 2
    start
    launch 4 "$driver" timeout=2 sleep=0.05 steps=600 "$@" >"$work/err" 2>&1 &
    local job=$!
    for _ in $(seq 200); do
        file=$(ls "$board/rank-$rank.status" "$(own_board)/rank-$rank.status" 2>/dev/null)
        [ -s "$file" ] && break
        sleep 0.1
    done
    sleep 1
    kill -"$signal" "$(od -An -t d8 -j 16 -N 8 "$file" | tr -d ' ')"
    wait $job || status=$?
}

run_with_fault() {
    export WEFT_FAULT=$1
    run
    unset WEFT_FAULT
}

run steps=20
[ $status -eq 0 ] || { cat "$work/err"; fail "without a fault: status $status"; }
[ -z "$(ls "$board")" ] || fail "status files are left after a good end"
start
launch 4 "$driver" timeout=2 steps=20 >"$work/err" 2>&1 || status=$?
[ $status -eq 0 ] || { cat "$work/err"; fail "without a status folder: status $status"; }
[ -z "$(ls "$TMPDIR")" ] || { ls "$TMPDIR"; fail "the job's folder is left after a good end"; }

run_with_fault rank:2,step:3,kind:stop
says stop 1 'step 3, op .*: waited 2\.[0-9] s for rank.*; rank 2 is at step 3, op F2.0.*stopped by a signal'
says stop 1 'waited'
ended stop 12
run_with_fault rank:1,step:2,kind:alloc
says alloc 1 'rank 1, step 2: out of memory (injected by WEFT_FAULT)'
ended alloc 10
run_with_fault rank:1,step:2,kind:cut
says cut 1 'step 2.*waited 2\.[0-9] s'
ended cut 12
run_with_fault rank:3,step:4,kind:exit
ended exit 10
[ $kind = mpich ] || says exit 1 'driver: lost rank 3 (pid [0-9]*): it is at step 4, op F2.0'
"$driver" show="$board" >"$work/err"
says exit 1 'rank 3 (pid .* is at step 4, op F2.0, .*its process is gone'

for rank in 0 2; do
    run_and_signal STOP $rank status="$board"
    says "SIGSTOP to rank $rank" 1 "waited 2\.[0-9] s for .*; rank $rank is at step [0-9]*, op .*stopped by a signal"
    says "SIGSTOP to rank $rank" 1 'waited'
    ended "SIGSTOP to rank $rank" 12
done
run_and_signal STOP 2
name='SIGSTOP to rank 2, no status folder given'
says "$name" 1 "^driver: .*waited 2\.[0-9] s for .*; rank 2 is at step [0-9]*, op .*stopped by a signal.*; status files: $(own_board)"
says "$name" 1 'waited'
ended "$name" 12

# Open MPI gives the other ranks a second; MPICH's hydra ends them at once.
run_and_signal KILL 2
name='SIGKILL to rank 2'
[ $kind = mpich ] || says "$name" 1 "^driver: lost rank 2 (pid [0-9]*): it is at step [0-9]*, op .*gone; status files: $(own_board)"
ended "$name" 10
"$driver" show="$(own_board)" >"$work/err"
says "$name" 1 'rank 2 (pid .*its process is gone'

for rank in 0 3; do
    start
    launch 4 "$driver" timeout=2 hang=$rank >"$work/err" 2>&1 || status=$?
    name="rank $rank never calls MPI_Init, no status folder given"
    says "$name" 1 'MPI_Init has taken 2\.[0-9] s: some rank does not take part'
    ended "$name" 14
done
run hang=3
says 'a rank that never calls MPI_Init' 1 'MPI_Init has taken 2\.[0-9] s: some rank does not take part'
ended 'a rank that never calls MPI_Init' 12

run read="$work/no-such-file:1"
says 'an unreadable file' 1 "no-such-file: cannot be read"
ended 'an unreadable file' 10

# Three of four, each by itself, as a launcher of another MPI would start them.
case $kind in
openmpi) size=PMI_SIZE rank=PMI_RANK ;;
mpich) size=OMPI_COMM_WORLD_SIZE rank=OMPI_COMM_WORLD_RANK ;;
esac
start
: >"$work/err"
for r in 0 1 2; do
    env $size=4 $rank=$r timeout -k 5 30 "$driver" status="$board" timeout=2 \
        >>"$work/err" 2>&1 &
    pids[r]=$!
done
for r in 0 1 2; do
    wait "${pids[r]}" && fail "singleton $r ended with status 0"
done
status=3
says 'three singletons of four' 1 'but .* started it: 4 processes were started and MPI sees 1'
[ "$(wc -l <"$work/err")" -eq 1 ] || { cat "$work/err"; fail 'more than one line'; }
ended 'three singletons of four' 10
