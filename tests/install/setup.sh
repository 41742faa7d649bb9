#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./run names what is missing and how to install it, and changes nothing, when the user may
# not install; it installs exactly what is missing when the user may; it goes on where
# there is no dpkg. apt-get, dpkg-query and sudo are stand-ins that record.
set -euo pipefail
top=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/tools"
for tool in awk bash cat env true mktemp rm tail grep; do
    ln -s "$(type -P $tool)" "$work/tools/$tool"
done
stub() { printf '#!/bin/bash\n%s\n' "$2" >"$work/bin/$1"; chmod +x "$work/bin/$1"; }
fail() { echo "$1"; cat "$work/out" "$work/apt" 2>/dev/null; exit 1; }
need() { # runs need_packages with the stand-ins; output in out, status in $status
    rm -f "$work/apt"
    status=0
    PATH=$work/bin:$work/tools WORK=$work top=$top me=run bash -c \
        'set -euo pipefail; . "$top/cmake/setup.sh"; need_packages run; echo went on' \
        >"$work/out" 2>&1 || status=$?
}

stub id 'echo 1000'
stub dpkg-query 'case "${@: -1}" in cmake|libpopt-dev) exit 1 ;; *) echo -n installed ;; esac'
stub apt-get 'echo "$DEBIAN_FRONTEND $@" >>"$WORK/apt"'
need
[ $status = 2 ] || fail "status $status, not 2, for a user who may not install"
grep -q 'missing packages: cmake libpopt-dev$' "$work/out" || fail "does not name what is missing"
grep -q 'apt-get install --no-install-recommends cmake libpopt-dev$' "$work/out" || fail "no command"
[ ! -e "$work/apt" ] || fail "called apt-get without the right to"

stub id 'echo 0'
need
[ $status = 0 ] || fail "status $status for root"
grep -qx 'noninteractive install -q -y --no-install-recommends cmake libpopt-dev' "$work/apt" ||
    fail "root did not install exactly what is missing"

stub id 'echo 1000'
stub sudo '[ "$1" = -n ] && shift; exec "$@"'
need
[ $status = 0 ] || fail "status $status with sudo that asks nothing"
grep -q 'install .* cmake libpopt-dev$' "$work/apt" || fail "sudo was not used"

stub apt-get 'echo "E: no such host" ; exit 100'
need
[ $status = 2 ] || fail "status $status when apt-get fails"
grep -q 'E: no such host' "$work/out" || fail "hides what apt-get said"

stub dpkg-query 'echo -n installed'
need
[ $status = 0 ] && grep -qx 'went on' "$work/out" || fail "stops though nothing is missing"

rm "$work/bin/dpkg-query" "$work/bin/apt-get"
need
[ $status = 0 ] && grep -q 'no Debian.*libpopt-dev' "$work/out" || fail "stops on another system"
