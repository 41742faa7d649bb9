#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Several hosts on this machine, by network namespaces: every operation over TCP between
# them and shared memory inside; and a link that is cut while a job runs.
#   hosts.sh openmpi|mpich LAUNCHER ON_MPI DRIVER
. "$(dirname "$0")/mpi.sh"
. "$(dirname "$0")/netns/hosts.sh"
on_mpi=$3 driver=$4

# In a plain chroot a namespace can be made, but nothing started in it.
can=0
ip netns add "wf$$probe" 2>/dev/null && ip netns exec "wf$$probe" true 2>/dev/null && can=1
ip netns del "wf$$probe" 2>/dev/null
if [ $can = 0 ]; then
    echo "SKIP: network namespaces cannot be made or entered here; needs: iproute2 netns"
    exit 77
fi
trap 'hosts_down; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

# on_hosts SLOTS PROGRAM ARGS: that many ranks on every host, started from host 0.
on_hosts() {
    local n=$(($1 * hosts)) list
    list=$(host_list "$1")
    shift
    case $kind in
    openmpi)
        OMPI_MCA_plm_rsh_agent=$agent OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader,tcp \
        OMPI_MCA_btl_tcp_if_include=eth0 OMPI_MCA_oob_tcp_if_include=eth0 \
        timeout -k 5 "$limit" ip netns exec "${WEFT_HOSTS}0" \
            "$launcher" -host "$list" -n "$n" "$@" ;;
    mpich) # shared memory would be tried between namespaces: UCX sees one machine
        UCX_TLS=tcp,self UCX_NET_DEVICES=eth0 \
        timeout -k 5 "$limit" ip netns exec "${WEFT_HOSTS}0" \
            "$launcher" -launcher ssh -launcher-exec "$agent" -iface eth0 \
            -hosts "$list" -n "$n" "$@" ;;
    esac
}

operations() {
    hosts_up "$1" || fail "no namespaces for $1 hosts"
    on_hosts "$2" "$on_mpi" "${@:3}" >"$work/out" 2>&1 || {
        cat "$work/out"
        fail "$1 hosts with $2 ranks each, arguments: ${*:3}"
    }
    echo "$1 hosts with $2 ranks each: $(grep -c '^ok' "$work/out") claims hold"
    hosts_down
}

# The last host is cut off after the job has begun. Ranks see it by their own time limit;
# a launcher that waits for the lost host is ended by the ranks' guard.
cut_link() {
    local from status=0
    hosts_up "$1" || fail "no namespaces for $1 hosts"
    from=$(date +%s)
    on_hosts "$2" "$driver" status="$work/board" timeout=2 sleep=0.05 steps=600 \
        >"$work/out" 2>&1 &
    local job=$!
    until grep -q . "$work/board/rank-$(($1 * $2 - 1)).status" 2>/dev/null; do
        kill -0 $job 2>/dev/null || { cat "$work/out"; fail 'the job did not begin'; }
        sleep 0.1
    done
    sleep 1
    host_cut $(($1 - 1))
    wait $job || status=$?
    local took=$(($(date +%s) - from))
    grep -q 'step [0-9]*, op .*: waited 2\.[0-9] s for rank' "$work/out" ||
        { cat "$work/out"; fail 'no rank says what it waited for'; }
    [ $status -ne 0 ] || fail 'the job ended with status 0'
    [ $took -le 20 ] || { cat "$work/out"; fail "it took $took s"; }
    echo "$1 hosts with $2 ranks each, one cut off: status $status after $took s"
    hosts_down
    rm -rf "$work/board"
}

case $kind in
openmpi)
    operations 2 2
    operations 4 2
    cut_link 2 2
    ;;
mpich) # UCX polls without a pause: more than 4 ranks starve each other on 2 cores
    operations 2 2
    operations 4 1
    cut_link 2 2
    ;;
esac
