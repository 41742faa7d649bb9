#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints docs/dependencies.md, made from packages.txt.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
cat <<'EOF'
# Dependencies

`packages.txt` names every Debian 12 package once; `./run` and `./check` install from it
(with apt, as root or by sudo without a password) or say what is missing. This page is
written from it by `cmake/package_table.sh`; a test compares the two.

libweft itself needs the C and math libraries only. "run" is what building and running the
program takes, "check" what the tests take besides.

| package | for | what it does here |
|---|---|---|
EOF
awk '!/^#/ && NF { line = $0; sub(/^[^ ]+ +[^ ]+ +/, "", line)
                   printf "| `%s` | %s | %s |\n", $1, $2, line }' "$top/packages.txt"
