#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the planner's model predicts of real training runs on this machine. First the machine
# is measured (weft machine measure, loop and MPI), then layouts of one and two ranks are
# trained: step time predicted and measured, memory class by class. The machine files are
# never changed by what the runs take.
#
#   bench/predict.sh [--build DIR] [--model MODEL] [--dtype T] [--seq N] [--global-batch G]
#                    [--steps N] [--passes N] [--seconds S] [--work DIR]
#                    [--loop FILE] [--mpi FILE]        (machine files already measured)
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
build=$here/../build model=layers=8,hidden=512,heads=8,vocab=4096,positions=256 dtype=f32
seq=128 batch=8 steps=4 passes=2 seconds=30 loop= mpi=
work=${TMPDIR:-/tmp}/weft-predict
usage() { sed -n '3,11s/^# \{0,1\}//p' "$0" >&2; exit 2; }
while [ $# -gt 0 ]; do
    [ $# -ge 2 ] || usage
    case $1 in
    --build) build=$2 ;;
    --model) model=$2 ;;
    --dtype) dtype=$2 ;;
    --seq) seq=$2 ;;
    --global-batch) batch=$2 ;;
    --steps) steps=$2 ;;
    --passes) passes=$2 ;;
    --seconds) seconds=$2 ;;
    --work) work=$2 ;;
    --loop) loop=$2 ;;
    --mpi) mpi=$2 ;;
    *) usage ;;
    esac
    shift 2
done
weft=$build/weft
[ -x "$weft" ] || { echo "$weft is not there: ./run --build makes it, or --build DIR" >&2; exit 2; }
mkdir -p "$work"
rm -f "$work"/run-*.jsonl
[ -s "$work/text" ] || head -c 1000000 /dev/urandom | base64 -w 60 >"$work/text"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
launch=
case $("$weft" --version) in
*openmpi*) launch="mpirun.openmpi --bind-to core -n 2" ;;
*mpich*) launch="mpiexec.hydra -n 2" ;;
esac

measure() { # FILE [LAUNCHER...]
    local file=$1
    shift
    "$@" "$weft" machine measure --dtype "$dtype" --seconds "$seconds" -o "$file" | tail -1
}
[ -n "$loop" ] || { loop=$work/loop.json; measure "$loop" env; }
# shellcheck disable=SC2086
[ -n "$mpi" ] || [ -z "$launch" ] || { mpi=$work/mpi.json; measure "$mpi" $launch; }

# one NAME COMM FLAGS...: train once; its log is kept
one() {
    local name=$1 comm=$2 machine=$loop by=
    shift 2
    [ "$comm" = loop ] || { machine=$mpi by=$launch; }
    # shellcheck disable=SC2086
    $by "$weft" train --model "$model" --data "$work/text" --seq "$seq" --dtype "$dtype" \
        --threads 1 --global-batch "$batch" --train-iters "$steps" --eval-iters 0 \
        --machine "$machine" --compare --log "$work/run-$pass-$comm-$name.jsonl" "$@" \
        >"$work/out" 2>&1 || { cat "$work/out" >&2; exit 1; }
}

all() {
    one "1 rank, b 1" loop --micro-batch 1
    one "1 rank, b 4" loop --micro-batch 4
    for comm in $([ -n "$launch" ] && echo loop mpi || echo loop); do
        one "tp 2, b 1" "$comm" --tp 2 --micro-batch 1
        one "tp 2, b 4" "$comm" --tp 2 --micro-batch 4
        one "pp 2 1f1b, b 1" "$comm" --pp 2 --micro-batch 1
        one "dp 2, b 1" "$comm" --dp 2 --micro-batch 1
        one "dp 2, b 4" "$comm" --dp 2 --micro-batch 4
    done
    one "pp 2 1f1b, b 2" loop --pp 2 --micro-batch 2
    one "pp 2 gpipe, b 1" loop --pp 2 --schedule gpipe --micro-batch 1
    one "pp 2 interleaved, b 1" loop --pp 2 --vpp 2 --schedule interleaved --micro-batch 1
    one "pp 2 zb-h1, b 1" loop --pp 2 --schedule zb-h1 --micro-batch 1
    one "pp 2 zb-v, b 1" loop --pp 2 --vpp 2 --schedule zb-v --micro-batch 1
}
for pass in $(seq "$passes"); do all; done

python3 - "$work" <<'PY'
import glob, json, os, statistics, sys
runs = {}
for path in sorted(glob.glob(sys.argv[1] + "/run-*.jsonl")):
    _, _, comm, name = os.path.basename(path)[:-6].split("-", 3)
    rows = [json.loads(x) for x in open(path)]
    r = runs.setdefault((comm, name), {"steps": []})
    r["steps"] += [x["step_time_s"] for x in rows if x.get("step", 0) > 0]
    r["end"] = rows[-1]
print(f"{'layout':<28}{'comm':>6}{'predicted ms':>14}{'measured ms':>13}{'error':>9}"
      f"{'memory, worst class':>32}")
errors, by_comm = [], {}
for (comm, name), r in sorted(runs.items(), key=lambda x: statistics.median(x[1]["steps"])):
    p, m = r["end"]["predicted_step_s"], statistics.median(r["steps"])
    worst = max(r["end"]["memory"], default=None,
                key=lambda x: abs(x["predicted_bytes"] / x["used_bytes"] - 1)
                if x["used_bytes"] else 0)
    off = 100 * (worst["predicted_bytes"] / worst["used_bytes"] - 1)
    errors.append(abs(p / m - 1))
    if not name.startswith("1 rank"):
        by_comm.setdefault(comm, []).append((p, m, name))
    print(f"{name:<28}{comm:>6}{1e3 * p:14.1f}{1e3 * m:13.1f}{100 * (p / m - 1):+8.1f}%"
          f"{worst['class']:>22}{off:+9.2f}%")
print(f"\n{len(errors)} layouts: mean |error| {100 * statistics.mean(errors):.1f} %, "
      f"largest {100 * max(errors):.1f} %")
for comm, rows in by_comm.items():
    first, best = min(rows), min(rows, key=lambda x: x[1])
    print(f"{comm}: predicted best of two ranks: {first[2]}; measured best: {best[2]}; the "
          f"predicted one takes {100 * (first[1] / best[1] - 1):.1f} % longer")
PY
