/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <weft/run/tensor.h>

enum { TEXT_BYTES = 96 }; /* what the header asks of the caller's buffer */

static const char *axis_name(int axis)
{
    static const char *const names[WEFT_MAX_AXES] = {"tp", "cp", "pp", "dp",
                                                     "ep", "a5", "a6", "a7"};
    return names[axis];
}

/* Cut off rather than overrun: eight axes of ten signs always fit. */
static int append(char *buf, int at, const char *mark, const char *word)
{
    int n = snprintf(buf + at, (size_t)(TEXT_BYTES - at), "%s%s", mark, word);
    return at + n < TEXT_BYTES ? at + n : TEXT_BYTES - 1;
}

static int append_splits(const weft_view *v, int dim, char *buf, int at)
{
    for (int a = 0; a < WEFT_MAX_AXES; a++)
        if (v->at[a].how == WEFT_SPLIT && v->at[a].dim == dim)
            at = append(buf, at, "/", axis_name(a));
    return at;
}

const char *weft_view_text(const weft_view *v, char *buf)
{
    int at = snprintf(buf, TEXT_BYTES, "[%lld", (long long)v->rows);
    at = append_splits(v, 0, buf, at);
    at += snprintf(buf + at, (size_t)(TEXT_BYTES - at), ", %lld", (long long)v->cols);
    at = append_splits(v, 1, buf, at);
    at = append(buf, at, "]", "");
    for (int a = 0; a < WEFT_MAX_AXES; a++) {
        if (v->at[a].how == WEFT_PARTIAL_SUM) at = append(buf, at, "+", axis_name(a));
        if (v->at[a].how == WEFT_PARTIAL_MAX) at = append(buf, at, "^", axis_name(a));
    }
    return buf;
}
