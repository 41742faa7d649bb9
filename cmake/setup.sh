# SPDX-License-Identifier: Apache-2.0
# Sourced by ./run and ./check, which set `top` (the source tree) and `me` (their name):
# packages named in packages.txt, and builds that are quiet unless they fail.

say() { printf '%s: %s\n' "$me" "$*" >&2; }
die() { say "$@"; exit 2; }

# Names of the packages for the given purposes ("run", "run check").
package_list() {
    awk -v want=" $* " '!/^#/ && NF { if (index(want, " " $2 " ")) print $1 }' "$top/packages.txt"
}

installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# Prefix that makes apt-get work without asking anything; fails when there is none.
apt_prefix() {
    if [ "$(id -u)" = 0 ]; then echo env
    elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then echo "sudo -n env"
    else return 1; fi
}

# Make sure that everything for these purposes is here, or name what is not and stop.
need_packages() {
    local missing=() p as log
    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        say "this is no Debian; needed under other names (see packages.txt):" $(package_list "$@")
        return 0
    fi
    for p in $(package_list "$@"); do installed "$p" || missing+=("$p"); done
    [ ${#missing[@]} = 0 ] && return 0
    if ! as=$(apt_prefix); then
        say "missing packages: ${missing[*]}"
        say "install them as root, then run this again:"
        say "  apt-get install --no-install-recommends ${missing[*]}"
        exit 2
    fi
    say "installing ${missing[*]}"
    log=$(mktemp)
    if ! { $as apt-get update -q &&
           $as DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
               "${missing[@]}"; } >"$log" 2>&1; then
        tail -n 30 "$log" >&2
        rm -f "$log"
        die "apt-get failed (its last lines are above); missing: ${missing[*]}"
    fi
    rm -f "$log"
}

# A command whose output is shown only when it fails; it is kept in $1.
quietly() {
    local log=$1 status=0
    shift
    "$@" >"$log" 2>&1 || status=$?
    [ $status = 0 ] && return 0
    cat "$log" >&2
    say "failed ($status): $*"
    return $status
}

# build_tree DIR PRESET CMAKE_OPTION...: configure and build, on every core.
build_tree() {
    local dir=$1 preset=$2
    shift 2
    mkdir -p "$dir" 2>/dev/null && [ -w "$dir" ] ||
        die "cannot write $dir as $(id -un): made by another user? remove it or fix its owner"
    # A tree that was copied or moved keeps a cache that points to its old place.
    if [ -f "$dir/CMakeCache.txt" ] &&
       ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$top" "$dir/CMakeCache.txt"; then
        rm -rf "$dir/CMakeCache.txt" "$dir/CMakeFiles"
    fi
    quietly "$dir/configure.log" cmake -S "$top" -B "$dir" --preset "$preset" "$@" || exit 2
    quietly "$dir/build.log" cmake --build "$dir" -j "$(nproc)" || exit 2
}
