#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The lessons' central claim, measured: two hosts with one rank each, the link between them
# shaped to 200 Mbit/s and to 1 Gbit/s, and tensor, pipeline and data parallelism across it.
# The hosts are network namespaces of this machine (root, iproute2, Open MPI). For each
# speed the machine is measured first, over that link, then the layouts are trained.
#
#   bench/hosts.sh [--build DIR] [--model MODEL] [--seq N] [--micro-batch B]
#                  [--global-batch G] [--steps N] [--seconds S] [--rates "200mbit 1gbit"]
#                  [--work DIR]
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
build=$here/../build model=layers=8,hidden=512,heads=8,vocab=512,positions=256
seq=256 micro=1 batch=8 steps=3 seconds=15 rates="200mbit 1gbit"
work=${TMPDIR:-/tmp}/weft-hosts
usage() { sed -n '3,10s/^# \{0,1\}//p' "$0" >&2; exit 2; }
while [ $# -gt 0 ]; do
    [ $# -ge 2 ] || usage
    case $1 in
    --build) build=$2 ;;
    --model) model=$2 ;;
    --seq) seq=$2 ;;
    --micro-batch) micro=$2 ;;
    --global-batch) batch=$2 ;;
    --steps) steps=$2 ;;
    --seconds) seconds=$2 ;;
    --rates) rates=$2 ;;
    --work) work=$2 ;;
    *) usage ;;
    esac
    shift 2
done
weft=$(cd "$build" && pwd)/weft
[ -x "$weft" ] || { echo "$weft is not there: ./run --build makes it, or --build DIR" >&2; exit 2; }
"$weft" --version | grep -q openmpi || { echo "$weft runs no Open MPI jobs" >&2; exit 2; }
# shellcheck source=tests/comm/netns/hosts.sh
. "$here/../tests/comm/netns/hosts.sh"
mkdir -p "$work"
rm -f "$work"/*.jsonl
[ -s "$work/text" ] || head -c 1000000 /dev/urandom | base64 -w 60 >"$work/text"
trap hosts_down EXIT
trap 'exit 1' INT TERM
hosts_up 2 || { echo "no network namespaces here: root and iproute2 are needed" >&2; exit 2; }

# Both ends of the link, each in the direction in which it sends. The queue holds what one
# host may have under way, so that nothing is dropped.
shape() {
    local i
    for ((i = 0; i < 2; i++)); do
        ip netns exec "$WEFT_HOSTS$i" tc qdisc replace dev eth0 root tbf rate "$1" \
            burst 64kb latency 200ms
    done
}

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
on_hosts() {
    OMPI_MCA_plm_rsh_agent=$agent OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader,tcp \
    OMPI_MCA_btl_tcp_if_include=eth0 OMPI_MCA_oob_tcp_if_include=eth0 \
    OMPI_MCA_mpi_yield_when_idle=1 \
    timeout -k 5 300 ip netns exec "${WEFT_HOSTS}0" unshare --uts --ipc /bin/sh -c \
        'hostname host0; exec "$@"' sh mpirun.openmpi --bind-to none \
        -host "$(host_list 1)" -n 2 "$@"
}

for rate in $rates; do
    shape "$rate"
    on_hosts "$weft" machine measure --dtype f32 --seconds "$seconds" --name "$rate" \
        -o "$work/$rate.json" | tail -1
    for layout in tp pp dp; do
        on_hosts "$weft" train --model "$model" --data "$work/text" --seq "$seq" --dtype f32 \
            --threads 1 --micro-batch "$micro" --global-batch "$batch" \
            --train-iters "$steps" --eval-iters 0 --machine "$work/$rate.json" --compare \
            --log "$work/$rate-$layout.jsonl" --$layout 2 >"$work/out" 2>&1 ||
            { cat "$work/out" >&2; exit 1; }
    done
done

python3 - "$work" $rates <<'PY'
import json, statistics, sys
work, rates = sys.argv[1], sys.argv[2:]
print(f"\n{'link':<10}{'layout':<10}{'predicted ms':>14}{'measured ms':>13}{'error':>9}")
for rate in rates:
    rows = []
    for layout in ("tp", "pp", "dp"):
        lines = [json.loads(x) for x in open(f"{work}/{rate}-{layout}.jsonl")]
        m = statistics.median(x["step_time_s"] for x in lines if x.get("step", 0) > 0)
        rows.append((lines[-1]["predicted_step_s"], m, layout + " 2"))
    for p, m, layout in rows:
        print(f"{rate:<10}{layout:<10}{1e3 * p:14.1f}{1e3 * m:13.1f}{100 * (p / m - 1):+8.1f}%")
    order = [[r[2] for r in sorted(rows, key=lambda r: r[i])] for i in (0, 1)]
    print(f"{rate:<10}fastest first, predicted: {', '.join(order[0])}; measured: "
          f"{', '.join(order[1])}: {'the same' if order[0] == order[1] else 'DIFFERENT'}")
PY
