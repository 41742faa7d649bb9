#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The check of module edges reports each kind of edge that it exists to find.
set -euo pipefail
cd "$1"
try() { # path, include, words the report must hold
    local out
    if out=$(printf '%s:7:#include %s\n' "$1" "$2" |
             awk -f tests/install/edges.awk docs/architecture.md -); then
        :
    fi
    grep -qF -- "$3" <<<"$out" || { echo "$1 with $2 reported: $out"; exit 1; }
}
try src/schedule/a.c '"mesh/b.h"' 'schedule may not include mesh'
try src/draw/a.c '<weft/run/comm.h>' 'draw may not include run/comm'
try src/draw/a.c '"comm/b.h"' 'draw may not include run/comm'
try include/weft/mesh.h '<weft/sim.h>' 'mesh may not include sim'
try runtime/nn/a.c '<weft/layout.h>' 'run/nn may not include layout'
try runtime/kernel/a.c '<weft/run/comm.h>' 'run/kernel may not include run/comm'
try src/base/a.c '<unistd.h>' 'needs only the C library'
try src/mesh/a.c '<mpi.h>' 'needs only the C library'
try src/new/a.c '<weft/mesh.h>' 'of no module'
try src/mesh/a.c '<weft.h>' 'not the umbrella'
try include/weft/mesh.h '"mesh/b.h"' 'includes a private one'
