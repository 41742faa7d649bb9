#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every include line of src/, runtime/, cmd/ and include/ follows the module table of
# docs/architecture.md. usage: edges.sh SOURCE_TREE
set -euo pipefail
cd "$1"
find src runtime cmd include \( -name '*.c' -o -name '*.h' \) | LC_ALL=C sort |
    xargs grep -nE '^[[:space:]]*#[[:space:]]*include' /dev/null |
    awk -f tests/install/edges.awk docs/architecture.md -
