#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Two ranks of one thread beside one rank of two: tokens per second of TP 2, PP 2 and DP 2,
# over threads (loop) and over MPI, each beside one rank and beside what the simulation
# predicts from measured op times.
#
#   bench/ranks.sh [--build DIR] [--model MODEL] [--dtype T] [--seq N] [--micro-batch B]
#                  [--global-batch G] [--steps N] [--work DIR]
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
build=$here/../build model=gpt2 dtype=bf16 seq=512 micro=2 batch=16 steps=6
work=${TMPDIR:-/tmp}/weft-ranks
while [ $# -gt 0 ]; do
    [ $# -ge 2 ] || { sed -n '3,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
    case $1 in
    --build) build=$2 ;;
    --model) model=$2 ;;
    --dtype) dtype=$2 ;;
    --seq) seq=$2 ;;
    --micro-batch) micro=$2 ;;
    --global-batch) batch=$2 ;;
    --steps) steps=$2 ;;
    --work) work=$2 ;;
    *) sed -n '3,9s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
    shift 2
done
weft=$build/weft
[ -x "$weft" ] || { echo "$weft is not there: ./run --build makes it, or --build DIR" >&2; exit 2; }
mkdir -p "$work"
[ -s "$work/text" ] || head -c 4000000 /dev/urandom | base64 -w 60 >"$work/text"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpirun=$("$weft" --version | grep -q MPICH && echo mpiexec.hydra || echo "mpirun.openmpi --bind-to core")

# one NAME LAUNCHER FLAGS...: train, then name, tokens/s, step, pipeline measured, predicted
one() {
    local name=$1 launcher=$2
    shift 2
    # shellcheck disable=SC2086
    $launcher "$weft" train --model "$model" --data "$work/text" --seq "$seq" \
        --micro-batch "$micro" --global-batch "$batch" --dtype "$dtype" \
        --train-iters $((steps + 2)) --eval-iters 0 --compare --log "$work/$name.jsonl" "$@" \
        >"$work/$name.out"
    python3 - "$work/$name.jsonl" "$work/$name.out" "$name" <<'PY'
import json, re, statistics, sys
rows = [json.loads(x) for x in open(sys.argv[1])]
rows = [r for r in rows if "step_time_s" in r][2:]
step = statistics.median(r["step_time_s"] for r in rows)
rate = statistics.median(r["tokens_per_s"] for r in rows)
line = [x for x in open(sys.argv[2]) if x.startswith("pipeline time")][-1]
measured, predicted = (float(x) for x in re.findall(r"([\d.]+) ms", line))
print(f"{sys.argv[3]:<16} {rate:9.1f} {1e3*step:10.1f} {measured:11.1f} {predicted:11.1f} "
      f"{100*(predicted/measured-1):+7.1f} % {1e3*step-measured:12.1f}", flush=True)
PY
}

grep -o 'load.*' <(uptime) || true
printf '%-16s %9s %10s %11s %11s %9s %12s\n' layout tok/s "step ms" "pipe ms" "predicted" error "rest ms"
one 1x2-threads "" --threads 2
for mode in loop mpi; do
    [ $mode = mpi ] && launcher="$mpirun -n 2" || launcher=
    one "tp2-$mode" "$launcher" --tp 2 --threads 1
    one "pp2-$mode" "$launcher" --pp 2 --threads 1
    one "dp2-$mode" "$launcher" --dp 2 --threads 1
done
echo "pipe: first op to last op of a step; rest: gradient reduction left over, norm, optimizer"
