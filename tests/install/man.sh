#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every manual page is clean for mandoc and has the sections a reader looks for.
set -euo pipefail
cd "$1/man"
for page in *.1; do
    for section in NAME SYNOPSIS DESCRIPTION 'EXIT STATUS' ENVIRONMENT FILES EXAMPLES 'SEE ALSO'; do
        grep -qx "\.Sh $section" "$page" || { echo "$page has no $section"; exit 1; }
    done
done
command -v mandoc >/dev/null || { echo "SKIP: pages not checked; needs: mandoc"; exit 77; }
mandoc -T lint -W warning *.1
