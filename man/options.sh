#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Writes the options of each page from `weft COMMAND --help`, which prints the program's own
# tables. usage: options.sh PROGRAM [--check]   (--check: change nothing, exit 1 if stale)
set -euo pipefail
program=$(readlink -f "$1")
check=${2:-}
cd "$(dirname "$0")"
new=$(mktemp)
trap 'rm -f "$new"' EXIT
stale=0
for page in weft-*.1; do
    command=${page#weft-}
    command=${command%.1}
    # weft-machine-measure.1 is of `weft machine measure`
    # shellcheck disable=SC2086
    "$program" ${command//-/ } --help | awk -f options.awk - "$page" >"$new"
    cmp -s "$new" "$page" && continue
    stale=1
    if [ "$check" = --check ]; then
        diff "$page" "$new" || true
        echo "$page does not list the options of weft $command: run man/options.sh $1"
    else
        cat "$new" >"$page"
    fi
done
[ "$check" != --check ] || exit $stale
