#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# docs/dependencies.md is what cmake/package_table.sh makes of packages.txt, and every row
# of packages.txt is well formed and named once.
set -euo pipefail
cd "$1"
diff <(cmake/package_table.sh) docs/dependencies.md
bad=$(awk '!/^#/ && NF { if (seen[$1]++ || ($2 != "run" && $2 != "check") || NF < 3) print }' packages.txt)
[ -z "$bad" ] || { echo "packages.txt: $bad"; exit 1; }
