#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The source is as clang-format 14 lays it out, and every file names its licence.
set -euo pipefail
cd "$1"
list=$(find include src runtime cmd tests bench examples \( -name '*.c' -o -name '*.h' \) | LC_ALL=C sort)
bare=$(grep -L 'SPDX-License-Identifier: Apache-2.0' $list run check .ci/run \
    $(find . -path './build*' -prune -o \( -name CMakeLists.txt -o -name '*.cmake' -o -name '*.sh' \) -print) || true)
[ -z "$bare" ] || { echo "no SPDX line: $bare"; exit 1; }
command -v clang-format-14 >/dev/null ||
    { echo "SKIP: layout not checked; needs: clang-format-14"; exit 77; }
unlike=$(clang-format-14 --dry-run $list 2>&1 | sed -n 's/^\([a-z][^: ]*\):[0-9].*/\1/p' | LC_ALL=C sort -u)
[ -z "$unlike" ] || { echo "run: clang-format-14 -i" $unlike; exit 1; }
