# SPDX-License-Identifier: Apache-2.0
# Sourced: hosts_up N makes N "hosts", network namespaces ${WEFT_HOSTS}0 ... with addresses
# 10.77.0.10 ..., joined by a bridge that has a namespace of its own, so that nothing is
# added to the machine's own network. Names hold this shell's pid: runs do not meet.
export WEFT_HOSTS=wf$$h
bridge=wf$$sw
agent=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/agent

hosts_up() {
    local i
    hosts=$1
    ip netns add "$bridge" || return
    ip -n "$bridge" link add br0 type bridge
    ip -n "$bridge" link set br0 up
    for ((i = 0; i < hosts; i++)); do
        local ns=$WEFT_HOSTS$i
        ip netns add "$ns"
        ip -n "$ns" link set lo up
        ip -n "$ns" link add eth0 type veth peer name "p$i" netns "$bridge"
        ip -n "$ns" addr add "10.77.0.$((10 + i))/24" dev eth0
        ip -n "$ns" link set eth0 up
        ip -n "$bridge" link set "p$i" master br0
        ip -n "$bridge" link set "p$i" up
    done
}

# Whatever still runs in a namespace would keep it alive.
hosts_down() {
    local ns
    for ns in $(ip netns list 2>/dev/null | awk -v a="$WEFT_HOSTS" -v b="$bridge" \
        '$1 == b || index($1, a) == 1 {print $1}'); do
        ip netns pids "$ns" 2>/dev/null | xargs -r kill -9 2>/dev/null
        ip netns del "$ns"
    done
}

host_cut() { # link of host $1
    ip -n "$bridge" link set "p$1" down
}

# host_list SEPARATOR SLOTS: 10.77.0.10:2,10.77.0.11:2 ...
host_list() {
    local i list=
    for ((i = 0; i < hosts; i++)); do list=$list,10.77.0.$((10 + i)):$1; done
    echo "${list#,}"
}
