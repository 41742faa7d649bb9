# SPDX-License-Identifier: Apache-2.0
# Sourced by ./check. A test that skips prints, as its last words,
#     SKIP: <reason>; needs: <word> ...
# where a word is a package of packages.txt, or one of: netns (ip netns add and exec work), shared
# (the folder of recorded data beside the source tree), cores:N, cpu:FLAG (a flag of
# /proc/cpuinfo), gpu, loadavg (/proc/loadavg), WEFT_X (a CMake option of that build).

# Is this here? 0 yes, 1 no, 2 no such word. $2: the build folder.
have_need() {
    local word=$1 build=$2 probe=wfprobe$$
    case $word in
    netns)
        ip netns add $probe 2>/dev/null || return 1
        # In a plain chroot a namespace can be made, but nothing started in it.
        local works=0
        ip netns exec $probe true 2>/dev/null || works=1
        ip netns del $probe
        return $works ;;
    shared) [ -d "$top/../shared" ] ;;
    loadavg) [ -r /proc/loadavg ] ;;
    gpu) [ -e /dev/nvidiactl ] ;;
    cores:*) [ "$(nproc)" -ge "${word#cores:}" ] ;;
    cpu:*) grep -qw "${word#cpu:}" /proc/cpuinfo ;;
    WEFT_*) grep -qE "^$word:[A-Z]+=(ON|openmpi|mpich)\$" "$top/$build/CMakeCache.txt" ;;
    *)
        package_list run check | grep -xF "$word" >/dev/null || return 2
        installed "$word" ;;
    esac
}

# Why a skip is not acceptable; nothing when it is. $1: its reason, $2: the build folder.
skip_fault() {
    local word words=${1##*needs:} lacking=
    [ "$words" != "$1" ] || { echo "skipped without saying what it needs"; return; }
    for word in ${words//,/ }; do
        have_need "$word" "$2" && continue
        [ $? = 2 ] && { echo "skipped for an unknown need: $word"; return; }
        lacking=$word
    done
    [ -n "$lacking" ] || echo "skipped although this is here: ${words# }"
}

# Turn the skips that are not acceptable into failures, in place.
judge_skips() {
    local what build test reason fault
    while IFS=$'\t' read -r what build test reason; do
        if [ "$what" = skip ]; then
            fault=$(skip_fault "$reason" "$build")
            [ -z "$fault" ] || { what=fail; reason="$fault; $reason"; }
        fi
        printf '%s\t%s\t%s\t%s\n' "$what" "$build" "$test" "$reason"
    done <"$1" >"$1.judged"
    mv "$1.judged" "$1"
}
