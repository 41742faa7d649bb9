#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The shared libraries have a SONAME and show weft_ names only (libweft also wf_ names, in
# the node WEFT_PRIVATE); libweft needs the C and math libraries alone and asks them for
# no file, no thread, no environment.
set -euo pipefail
build=$2
with_run=$3
fail() { echo "$@"; exit 1; }

soname() { objdump -p "$1" | awk '$1 == "SONAME" { print $2 }'; }
exported() { nm -D --defined-only "$1" | awk '$2 != "A" { print $3 }'; }

pure=$build/src/libweft.so
[ "$(soname "$pure")" = libweft.so.0 ] || fail "SONAME of libweft: $(soname "$pure")"
odd=$(exported "$pure" | grep -vE '^(weft_[a-z0-9_]+@@WEFT_0|wf_[a-z0-9_]+@@WEFT_PRIVATE)$' || true)
[ -z "$odd" ] || fail "libweft exports:" $odd
exported "$pure" | grep '^weft_schedule_make@@WEFT_0$' >/dev/null || fail "libweft hides weft_schedule_make"

libraries=$(objdump -p "$pure" | awk '$1 == "NEEDED" { print $2 }' | grep -vE '^lib[cm]\.so|^ld-linux' || true)
[ -z "$libraries" ] || fail "libweft needs" $libraries
# Only memory, text and numbers.
asked=$(nm -D --undefined-only "$pure" | awk '$1 == "U" { sub(/@.*/, "", $2); print $2 }' | grep -vE \
    '^(realloc|malloc|calloc|free|abort|qsort|bsearch|mem[a-z]+|str[a-z]+|__isoc[0-9]+_[a-z]+|vsnprintf|snprintf|(to|is)[a-z]+|__ctype_[a-z_]+|__[a-z_]+_chk|__assert_fail|__errno_location|__tls_get_addr|l?l?abs|(f?(abs|max|min|mod)|ceil|floor|l?l?r(ound|int)|trunc|nearbyint|sqrt|exp2?|log(2|10|1p)?|pow|expm1|ldexp|frexp|scalbn|tanh|erf|cos|sin|hypot|fma|copysign)[fl]?)$' || true)
[ -z "$asked" ] || fail "libweft calls" $asked

[ "$with_run" = ON ] || exit 0
run=$build/runtime/libweft-run.so
[ "$(soname "$run")" = libweft-run.so.0 ] || fail "SONAME of libweft-run: $(soname "$run")"
odd=$(exported "$run" | grep -vE '^weft_[a-z0-9_]+@@WEFT_RUN_0$' || true)
[ -z "$odd" ] || fail "libweft-run exports:" $odd
# One copy of each function: what libweft has, libweft-run takes from there.
twice=$(comm -12 <(exported "$pure" | sed 's/@.*//' | LC_ALL=C sort) \
                 <(exported "$run" | sed 's/@.*//' | LC_ALL=C sort))
[ -z "$twice" ] || fail "in both libraries:" $twice
