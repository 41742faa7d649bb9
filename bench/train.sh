#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tokens per second of a training step, GPT-2 124M: weft on one rank, then, in the same run
# and where they are given, llm.c and PyTorch; last, the ratios. See peers/README.md.
#
#   bench/train.sh [--llmc CHECKOUT] [--torch PYTHON] [--threads N] [--steps N]
#                  [--llmc-steps N] [--llmc-batch B] [--build DIR] [--work DIR]
#
# Shape: seq 512, micro-batch 2, global batch 8 (llm.c has no accumulation: one batch of B).
# A smaller run of the same kind: --seq, --micro-batch, --global-batch.
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
llmc='' torch='' threads=2 steps=5 llmc_steps=2 llmc_batch=2 build=$here/../build
work=${TMPDIR:-/tmp}/weft-bench seq=512 micro=2 batch=8
while [ $# -gt 0 ]; do
    case $1 in
    --llmc | --torch | --threads | --steps | --llmc-steps | --llmc-batch | --build | --work | \
        --seq | --micro-batch | --global-batch)
        [ $# -ge 2 ] || { echo "$1 needs a value" >&2; exit 2; } ;;
    esac
    case $1 in
    --llmc) llmc=$2 ;;
    --torch) torch=$2 ;;
    --threads) threads=$2 ;;
    --steps) steps=$2 ;;
    --llmc-steps) llmc_steps=$2 ;;
    --llmc-batch) llmc_batch=$2 ;;
    --build) build=$2 ;;
    --work) work=$2 ;;
    --seq) seq=$2 ;;
    --micro-batch) micro=$2 ;;
    --global-batch) batch=$2 ;;
    *) sed -n '3,10s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
    shift 2
done
weft=$build/weft
[ -x "$weft" ] || { echo "$weft is not there: ./run --build makes it, or --build DIR" >&2; exit 2; }
python3 "$here/peers/llmc_inputs.py" "$work"
results=$work/results.jsonl
: >"$results"

say() { printf '%s (load %s)\n' "$*" "$(cut -d' ' -f1 /proc/loadavg)" >&2; }

# Median over the steps after the first two, as for PyTorch.
run_weft() {
    say "weft, $1"
    "$weft" train --model gpt2 --data "$work/tokens.bin" --seq "$seq" --micro-batch "$micro" \
        --global-batch "$batch" --tp 1 --pp 1 --dp 1 --dtype "$1" --threads "$threads" \
        --train-iters $((steps + 2)) --eval-iters 0 --log "$work/weft.jsonl" >"$work/weft.out"
    python3 - "$work/weft.jsonl" "$1" "$threads" "$batch" "$seq" >>"$results" <<'PY'
import json, statistics, sys
path, dtype, threads, batch, seq = sys.argv[1:]
rows = [json.loads(line) for line in open(path)]
took = [row["step_time_s"] for row in rows if "step_time_s" in row][2:]
median = statistics.median(took)
print(json.dumps({"peer": "weft", "dtype": dtype, "batch": int(batch), "seq": int(seq),
                  "threads": int(threads), "steps": len(took),
                  "step_time_s": round(median, 3),
                  "tokens_per_s": round(int(batch) * int(seq) / median, 2)}))
PY
}

run_llmc() {
    say "llm.c, f32, batch $llmc_batch"
    gcc -O3 -Ofast -march=native -fopenmp -DOMP -w -I "$llmc" "$here/peers/llmc.c" -lm \
        -o "$work/llmc"
    OMP_NUM_THREADS=$threads "$work/llmc" "$work/gpt2.bin" "$work/tokens.bin" "$llmc_batch" \
        "$seq" "$llmc_steps" | grep '^{' >>"$results"
}

run_torch() {
    say "PyTorch, $1"
    "$torch" -W ignore "$here/peers/torch_gpt2.py" --dtype "$1" --threads "$threads" \
        --steps "$steps" --seq "$seq" --micro-batch "$micro" --global-batch "$batch" \
        >>"$results"
}

if [ -x "$build/bench_gemm" ]; then
    say "matrix products of the same shapes"
    "$build/bench_gemm" "$threads"
fi
run_weft f32
run_weft bf16
[ -z "$llmc" ] || run_llmc
for dtype in f32 bf16; do
    [ -z "$torch" ] || run_torch $dtype
done

python3 - "$results" <<'PY'
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
ours = {row["dtype"]: row["tokens_per_s"] for row in rows if row["peer"] == "weft"}
print(f'{"program":24} {"type":5} {"batch":>5} {"seq":>5} {"threads":>7} '
      f'{"step s":>8} {"tokens/s":>9} {"weft is":>8}')
for row in rows:
    ratio = ours[row["dtype"]] / row["tokens_per_s"]
    print(f'{row["peer"]:24} {row["dtype"]:5} {row["batch"]:5} {row["seq"]:5} '
          f'{row["threads"]:7} {row["step_time_s"]:8.2f} {row["tokens_per_s"]:9.1f} '
          f'{ratio:7.2f}x')
print(f'weft bf16 is {ours["bf16"] / ours["f32"]:.2f}x weft f32')
PY
