# SPDX-License-Identifier: Apache-2.0
# First input: docs/architecture.md (the table between the markers). Second: grep -n lines
# "path:line:#include ...". Prints every edge the table does not allow; exit 1 if any.
function trim(s) { gsub(/^ +| +$/, "", s); return s }
# may[m, x] over everything reachable from m.
function reach(top, m,    i, n, w) {
    n = split(direct[m], w, " ")
    for (i = 1; i <= n; i++) {
        if (!(w[i] in direct)) fault("docs/architecture.md", m " names an unknown module " w[i])
        if (level[w[i]] >= level[m]) fault("docs/architecture.md", m " includes " w[i] " of its own level or above")
        if ((top, w[i]) in may) continue
        may[top, w[i]] = 1
        reach(top, w[i])
    }
}
function fault(where, what) { print where ": " what; faults++ }
# Module of a source or header file of this tree; "" when it is none.
function module_of(path,    w, n) {
    n = split(path, w, "/")
    if (path ~ /^src\/[^\/]+\//) return w[2]
    if (path ~ /^runtime\/[^\/]+\//) return "run/" w[2]
    if (path ~ /^cmd\//) return "cmd"
    if (path ~ /^include\/weft\//) return header_module(substr(path, 9))
    return ""
}
# "weft/mesh.h" -> mesh, "weft/run/comm.h" -> run/comm
function header_module(name) {
    sub(/^weft\//, "", name); sub(/\.h$/, "", name)
    return name in owner ? owner[name] : name
}
function target_of(path, what,    dir) {
    if (what ~ /^<weft\//) return header_module(substr(what, 2, length(what) - 2))
    if (what !~ /^"/) return ""
    what = substr(what, 2, length(what) - 2)
    if (what !~ /\//) return module_of(path) # beside the file that includes it
    dir = what; sub(/\/.*/, "", dir)
    if (dir in direct) return dir
    if (("run/" dir) in direct) return "run/" dir
    return module_of(path) # a folder inside the module
}
FNR == NR && /<!-- modules -->/ { inside = 1; next }
FNR == NR && /<!-- end -->/ { inside = 0; next }
FNR == NR {
    if (!inside || $0 !~ /^\| [0-9]/) next
    split($0, col, "|")
    m = trim(col[3]); level[m] = trim(col[2]) + 0; direct[m] = trim(col[5])
    n = split(trim(col[4]), w, " ")
    for (i = 1; i <= n; i++) owner[w[i]] = m
    next
}
!started { started = 1; for (m in direct) reach(m, m) }
{
    path = $0; sub(/:.*/, "", path)
    place = $0; match(place, /^[^:]+:[0-9]+/); place = substr(place, 1, RLENGTH)
    if (!match($0, /[<"][^>"]+[>"]/)) { fault(place, "an include line that names no file"); next }
    what = substr($0, RSTART, RLENGTH)
    if (path == "include/weft.h") next
    from = module_of(path)
    if (!(from in direct)) { fault(place, "the file is of no module in the table"); next }
    if (what ~ /^<weft\.h>$/) { fault(place, "include the module's own header, not the umbrella"); next }
    to = target_of(path, what)
    if (to == "" ) {
        if (path ~ /^(src|include\/weft\/[a-z]+\.h)/ && !(what in standard))
            fault(place, "libweft needs only the C library; " what " is not of C17")
        next
    }
    if (!(to in direct)) { fault(place, what " is of no module in the table"); next }
    edges++
    if (from != to && !((from, to) in may)) fault(place, from " may not include " to " (" what ")")
    if (path ~ /^include\// && what ~ /^"/) fault(place, "a public header includes a private one")
}
BEGIN {
    n = split("assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal " \
              "stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string tgmath " \
              "threads time uchar wchar wctype", w, " ")
    for (i = 1; i <= n; i++) standard["<" w[i] ".h>"] = 1
}
END {
    if (edges < 20) fault("edges.awk", "only " edges " includes seen: is the tree where it should be?")
    printf "%d includes between modules, %d not allowed\n", edges, faults
    exit faults > 0
}
