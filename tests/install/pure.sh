#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Without libweft-run the rest still builds and draws, and the same source built in two
# places gives the same bytes. usage: pure.sh SOURCE CC
set -euo pipefail
source=$1 cc=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
quiet() { "$@" >"$work/log" 2>&1 || { cat "$work/log"; echo "failed: $*"; exit 1; }; }
for place in one two; do
    mkdir -p "$work/$place"
    cp -r "$source"/{CMakeLists.txt,LICENSE,README.md,CHANGELOG.md,cmake,include,src,runtime,cmd,man,examples} \
        "$work/$place/"
    quiet cmake -S "$work/$place" -B "$work/$place/build" -G Ninja -DCMAKE_C_COMPILER="$cc" \
        -DCMAKE_BUILD_TYPE=Release -DWEFT_RUN=OFF -DWEFT_TESTS=OFF -DWEFT_BENCH=OFF
    quiet cmake --build "$work/$place/build"
done
cmp "$work"/{one,two}/build/src/libweft.so
cmp "$work"/{one,two}/build/weft
"$work/one/build/weft" schedule 1f1b -p 4 -m 8 >"$work/picture"
[ -s "$work/picture" ]
quiet cmake --install "$work/one/build" --prefix "$work/usr"
[ ! -e "$work/usr/include/weft/run" ] || { echo "headers of libweft-run are installed"; exit 1; }
