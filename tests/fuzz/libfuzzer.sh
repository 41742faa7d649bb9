#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# libFuzzer over one harness, or the build of all of them with clang and the address and
# undefined behaviour sanitizers. The inputs found stay in the build folder, so that the next
# run goes on from them. usage: libfuzzer.sh SOURCE FOLDER [NAME]
# WEFT_FUZZ_SECONDS: how long a harness runs (300; at most 540)
# WEFT_FUZZ_SEED: where its random numbers begin (1: a run says what the last one said of the
# same program; 0: elsewhere each time, to look for more)
set -euo pipefail
source=$1 folder=$2 name=${3:-}
for package in clang-14 libclang-rt-14-dev; do
    status=$(dpkg-query -W -f='${db:Status-Status}' $package 2>/dev/null || true)
    [ "$status" = installed ] ||
        { echo "SKIP: no libFuzzer; needs: clang-14 libclang-rt-14-dev"; exit 77; }
done
mkdir -p "$folder"
if [ -z "$name" ]; then
    cmake -S "$source" -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_COMPILER=clang-14 \
        -DWEFT_SANITIZE=fuzzer-no-link,address,undefined -DWEFT_FUZZ=ON -DWEFT_RUN=OFF \
        -DWEFT_BENCH=OFF -DBUILD_SHARED_LIBS=OFF >"$folder/configure.log" 2>&1 ||
        { cat "$folder/configure.log"; exit 1; }
    cmake --build "$folder" --target fuzz >"$folder/build.log" 2>&1 || { tail -n 50 "$folder/build.log"; exit 1; }
    exit 0
fi
seconds=${WEFT_FUZZ_SECONDS:-300}
[ "$seconds" -le 540 ] || seconds=540
mkdir -p "$folder/found/$name"
cd "$folder/found" # what breaks a promise is left here as crash-*, leak-*, timeout-*
"$folder/fuzz_$name" -seed="${WEFT_FUZZ_SEED:-1}" -max_total_time="$seconds" \
    -timeout=10 -rss_limit_mb=2048 -max_len=8192 -artifact_prefix="$name-" \
    "$name" "$source/tests/fuzz/seeds/$name" >"$name.log" 2>&1 ||
    { tail -n 40 "$name.log"; exit 1; }
tail -n 1 "$name.log"
