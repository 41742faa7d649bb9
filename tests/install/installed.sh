#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `cmake --install` under a prefix gives a package that pkg-config finds, that the examples
# build against, shared and static, outside the tree; DESTDIR stages the same files.
set -euo pipefail
source=$1 build=$2 cc=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "$@"; exit 1; }
quiet() { "$@" >"$work/log" 2>&1 || { cat "$work/log"; fail "failed: $*"; }; }

quiet cmake --install "$build" --prefix "$work/usr"
DESTDIR="$work/stage" quiet cmake --install "$build" --prefix /opt/weft
diff <(cd "$work/usr" && find . | LC_ALL=C sort) <(cd "$work/stage/opt/weft" && find . | LC_ALL=C sort) ||
    fail "DESTDIR stages other files"
grep -rlF "$work" "$work/stage" && fail "a staged file names the staging folder"

pc=$(dirname "$(find "$work/usr" -name weft.pc)")
export PKG_CONFIG_PATH=$pc LD_LIBRARY_PATH=$(dirname "$pc")
for file in bin/weft include/weft.h include/weft/schedule.h share/man/man1/weft.1 \
            share/bash-completion/completions/weft; do
    [ -e "$work/usr/$file" ] || fail "$file is not installed"
done
version=$(pkg-config --modversion weft)
"$work/usr/bin/weft" --version | grep -F "$version" >/dev/null || fail "the program says another version than weft.pc"
case $(pkg-config --libs weft) in *-lm*) fail "weft.pc: -lm is private" ;; esac
case $(pkg-config --static --libs weft) in *-lweft*-lm*) ;; *) fail "weft.pc: no -lm for static" ;; esac

flags="-std=c17 -Wall -Werror"
built=0
for example in "$source"/examples/*.c; do
    name=$(basename "$example" .c)
    package=weft mpi=
    if grep -q '<weft/run/' "$example"; then
        [ -e "$pc/weft-run.pc" ] || continue
        package=weft-run
    fi
    quiet "$cc" $flags "$example" -o "$work/$name" $(pkg-config --cflags --libs $package) -lm
    objdump -p "$work/$name" | grep 'NEEDED.*libweft' >/dev/null || fail "$name does not use the shared library"
    # Static: our archives, everybody else's shared libraries, and the MPI of the build.
    if [ $package = weft-run ]; then
        mpi=$(sed -n 's/^WEFT_MPI:STRING=//p' "$build/CMakeCache.txt")
        case $mpi in
        openmpi) mpi=$(pkg-config --libs ompi-c) ;;
        mpich) mpi=$(pkg-config --libs mpich) ;;
        *) mpi= ;;
        esac
    fi
    static=$(pkg-config --static --cflags --libs $package |
             sed -E 's/-l(weft(-run)?)( |$)/-l:lib\1.a /g')
    quiet "$cc" $flags "$example" -o "$work/$name.static" $static $mpi -lm
    objdump -p "$work/$name.static" | grep 'NEEDED.*libweft' >/dev/null && fail "$name is not static"
    built=$((built + 1))
done
[ $built -gt 0 ] || fail "no example was built"
echo "$built examples built against the installed package, shared and static"
