#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Completion offers the commands, a command's own flags, and the schedule kinds.
# usage: completion.sh SOURCE PROGRAM
set -euo pipefail
. "$1/cmake/weft.bash-completion"
offers() { # expected candidate, then the words typed so far
    local want=$1
    shift
    COMP_WORDS=("$@")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    COMPREPLY=()
    _weft
    printf '%s\n' "${COMPREPLY[@]}" | grep -x -- "$want" >/dev/null ||
        { echo "'${*:2}' offers '${COMPREPLY[*]}', not $want"; exit 1; }
}
offers schedule "$2" sch
offers doctor "$2" ""
offers --svg "$2" schedule 1f1b --s
offers --json "$2" mesh --
offers --overlap-dp "$2" report --overl
offers --no-overlap-dp "$2" report --no-
offers compare "$2" schedule com
offers interleaved "$2" schedule in
offers check "$2" schedule ch
offers llama3-8b "$2" model llama3-
offers list "$2" model ""
offers gpt2-xl "$2" train --model gpt2
COMP_WORDS=("$2" model ./REA) COMP_CWORD=2 COMPREPLY=()
_weft
[ ${#COMPREPLY[@]} = 0 ] || { echo "no file names for weft model"; exit 1; }
COMP_WORDS=("$2" compare REA) COMP_CWORD=2 COMPREPLY=()
_weft
[ ${#COMPREPLY[@]} = 0 ] || { echo "no file names for weft compare"; exit 1; }
