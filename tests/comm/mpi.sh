# SPDX-License-Identifier: Apache-2.0
# Sourced by the MPI tests: launch N PROGRAM ARGS... with the MPI of this build, bounded.
#   $1 openmpi|mpich   $2 launcher   rest: the test's own
kind=$1
launcher=$2
limit=${limit:-60}
if [ -z "$launcher" ] || ! [ -x "$launcher" ]; then
    package=mpich
    [ "$kind" = mpich ] || package=openmpi-bin
    echo "SKIP: no launcher of $kind is installed; needs: $package"
    exit 77
fi
# Root in a container, more ranks than cores: what a test machine is like.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
export OMPI_MCA_mpi_yield_when_idle=1
# Open MPI's own leaks are not ours.
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A launcher that lost its ranks may not listen to SIGTERM: -k.
launch() {
    local n=$1
    shift
    timeout -k 5 "$limit" "$launcher" -n "$n" "$@"
}

fail() {
    echo "FAILED: $*"
    exit 1
}
