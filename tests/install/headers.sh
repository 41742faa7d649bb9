#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Each public header compiles alone, twice included, as C99 and as C++17.
set -euo pipefail
cc=$2
cd "$1/include"
cxx=$(command -v g++ || true)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
strict="-Wall -Wextra -pedantic-errors -Werror -fsyntax-only -I."
for header in $(find . -name '*.h' | LC_ALL=C sort); do
    printf '#include <%s>\n#include <%s>\nint header_ends_well;\n' "${header#./}" "${header#./}" \
        >"$work/alone.c"
    "$cc" -std=c99 $strict "$work/alone.c" || { echo "$header is no C99"; exit 1; }
    [ -n "$cxx" ] || continue
    "$cxx" -std=c++17 -x c++ $strict "$work/alone.c" || { echo "$header is no C++17"; exit 1; }
done
# The umbrella names every header of libweft.
for header in weft/*.h; do
    [ "$header" = weft/export.h ] || grep -qF "#include <$header>" weft.h ||
        { echo "weft.h does not include $header"; exit 1; }
done
[ -n "$cxx" ] || { echo "SKIP: no C++ compiler, C99 only; needs: g++"; exit 77; }
