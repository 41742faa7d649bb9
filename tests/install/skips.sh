#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A skip passes only when it names a need that is not met here.
set -euo pipefail
top=$1
me=test
. "$top/cmake/setup.sh"
. "$top/cmake/skips.sh"
installed() { [ "$1" = mpich ]; }
list=$(mktemp)
trap 'rm -f "$list"' EXIT
printf 'skip\tb\t%s\t%s\n' \
    lacking 'SKIP: no pages; needs: mandoc' \
    present 'SKIP: why not; needs: mpich' \
    one_lacks 'SKIP: two things; needs: mpich, mandoc' \
    unnamed 'SKIP: not today' \
    unknown 'SKIP: typing; needs: mpihc' \
    cores 'SKIP: small; needs: cores:1' \
    many_cores 'SKIP: small; needs: cores:100000' >"$list"
printf 'pass\tb\tgood\t\n' >>"$list"
judge_skips "$list"
diff - <(cut -f1,3 "$list") <<'EOF'
skip	lacking
fail	present
skip	one_lacks
fail	unnamed
fail	unknown
fail	cores
skip	many_cores
pass	good
EOF
