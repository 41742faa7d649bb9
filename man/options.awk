# SPDX-License-Identifier: Apache-2.0
# First input: the text of --help. Second: a page, printed with the lines between its
# markers replaced by the options, as mdoc.
function text(s) {
    gsub(/\\/, "\\e", s)
    if (s ~ /^[.']/) s = "\\&" s
    out = out s "\n"
}
function end_list() { if (open) out = out ".El\n"; open = 0 }
# "-p, --pp N" -> "Fl p , Fl -pp Ar N"
function flags(s,    n, w, i, r) {
    n = split(s, w, " ")
    for (i = 1; i <= n; i++) {
        if (w[i] ~ /^-/) {
            comma = sub(/,$/, "", w[i])
            r = r (r == "" ? "" : " ") "Fl " substr(w[i], 2) (comma ? " ," : "")
        } else {
            r = r " Ar " w[i]
        }
    }
    return r
}
FNR == NR {
    if (/^[^ ]/) {
        end_list()
        heading = $0
        inside = !(heading ~ /^(Usage|Examples|Exit status|Subcommands)/)
        next
    }
    if (!inside) next
    if (/^  ? ?-/) {
        if (!open) {
            out = out ".Ss " heading "\n.Bl -tag -width Ds\n"
            open = 1
        }
        left = $0; right = ""
        if (match(substr($0, 3), /  +/)) {
            left = substr($0, 3, RSTART - 1)
            right = substr($0, 3 + RSTART + RLENGTH - 1)
        }
        sub(/^ +/, "", left)
        out = out ".It " flags(left) "\n"
        if (right != "") text(right)
    } else if (/^                /) {
        line = $0
        sub(/^ +/, "", line)
        text(line)
    }
    next
}
FNR == 1 { end_list() }
/^\.\\" options$/ { print; printf "%s", out; skip = 1; next }
/^\.\\" end$/ { skip = 0 }
!skip { print }
