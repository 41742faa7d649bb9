# SPDX-License-Identifier: Apache-2.0
# Counts the cases in a ctest --output-junit file. A cmocka program counts case by case
# (ranks of one MPI job print the same names: each name counts once, the worst wins), any
# other test counts as one. Prints tab-separated lines:
#   pass|fail|skip  <build>  <test>[: case]  <reason of a skip>
function unescape(s) {
    gsub(/&lt;/, "<", s); gsub(/&gt;/, ">", s); gsub(/&quot;/, "\"", s)
    gsub(/&apos;/, "'", s); gsub(/&amp;/, "\\&", s)
    return s
}
function worst(c, what) {
    if (!(c in rank)) order[++n] = c
    if (!(c in rank) || level[what] > level[rank[c]]) rank[c] = what
}
# A line of the test's own output.
function body(line,    c) {
    if (match(line, /^\[[ A-Z]+\] /)) {
        c = substr(line, RLENGTH + 1)
        if (line ~ /^\[ RUN      \] /) { last = ""; return }
        if (line ~ /^\[ +OK \] /) worst(c, "pass")
        else if (line ~ /^\[  FAILED  \] / && c !~ /test\(s\), listed below/) worst(c, "fail")
        else if (line ~ /^\[  ERROR   \] [A-Za-z_]/) worst(c, "fail")
        else if (line ~ /^\[  SKIPPED \] / && c !~ /test\(s\), listed below/) {
            worst(c, "skip")
            if (!(c in reason)) reason[c] = last
        }
        return
    }
    if (line ~ /[^ \t]/) { any = line; if (last == "" || line ~ /SKIP/) last = line }
}
function finish(    i, c, failed) {
    failed = (status == "fail" || (status == "notrun" && !skipped))
    if (skipped && n == 0) print "skip\t" build "\t" test "\t" any
    else if (n == 0) print (failed ? "fail" : "pass") "\t" build "\t" test "\t"
    for (i = 1; i <= n; i++) {
        c = order[i]
        if (rank[c] == "fail") failed = 0
        print rank[c] "\t" build "\t" test ": " c "\t" (rank[c] == "skip" ? reason[c] : "")
    }
    # No case says so, but the program failed: a crash, a leak, a time limit.
    if (failed && n) print "fail\t" build "\t" test ": (the program)\t"
}
BEGIN { level["pass"] = 1; level["skip"] = 2; level["fail"] = 3 }
/^\t<testcase / {
    match($0, / name="[^"]*"/); test = unescape(substr($0, RSTART + 7, RLENGTH - 8))
    match($0, / status="[^"]*"/); status = substr($0, RSTART + 9, RLENGTH - 10)
    split("", rank); split("", order); split("", reason)
    n = 0; skipped = 0; last = any = ""; inside = 0
}
/^\t\t<skipped message="SKIP_/ { skipped = 1 }
{
    line = $0
    if (!inside && match(line, /^\t\t<system-out>/)) { inside = 1; line = substr(line, RLENGTH + 1) }
    if (inside) {
        closed = sub(/<\/system-out>$/, "", line)
        body(unescape(line))
        if (closed) inside = 0
    }
}
/^\t<\/testcase>/ { finish() }
