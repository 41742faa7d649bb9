#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The examples of the manual work as printed, in their order, on some text called book.txt
# and a table of two runs.
# Trainings that leave nothing for a later example stop before the first step; those under
# mpirun and the long verification are not started. usage: manual_examples.sh SOURCE PROGRAM
set -euo pipefail
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ln -s "$2" "$work/weft"
PATH=$work:$PATH
cd "$work"
cat "$source"/{LICENSE,LICENSE,LICENSE,LICENSE,LICENSE,LICENSE} >book.txt
cp "$source/tests/fuzz/seeds/runs/two.csv" published_runs.csv
ran=0
for page in "$source"/man/*.1; do
    while read -r line; do
        case $line in
        mpirun* | *--all-layouts*) continue ;;
        'weft train'*--trace*) ;;
        'weft train'*) line="$line --dry-run" ;;
        esac
        status=0
        bash -c "$line" >log 2>&1 || status=$?
        # doctor says 1 where this machine has something to mend.
        [ $status = 0 ] || { [ "$line" = 'weft doctor' ] && [ $status = 1 ]; } ||
            { cat log; echo "$(basename "$page"): status $status: $line"; exit 1; }
        [ -s log ] || [[ $line == *\>* ]] || { echo "$(basename "$page"): no output: $line"; exit 1; }
        ran=$((ran + 1))
    done < <(sed -n 's/^\.Dl \\\{0,1\}\$ //p' "$page")
done
[ $ran -ge 12 ] || { echo "only $ran examples found"; exit 1; }
echo "$ran examples of the manual ran"
