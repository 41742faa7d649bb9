/* SPDX-License-Identifier: Apache-2.0 */
/* Names of axes, the order as users type it, and the text form of a mesh. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <weft/mesh.h>

#include "base/error.h"
#include "base/near.h"

static const char *const names[WEFT_N_AXES] = {"tp", "cp", "pp", "dp", "ep"};

const char *weft_axis_name(int axis)
{
    return axis >= 0 && axis < WEFT_N_AXES ? names[axis] : NULL;
}

weft_status weft_axis_parse(const char *name, weft_axis *out)
{
    for (int a = 0; a < WEFT_N_AXES; a++) {
        if (!strcmp(name, names[a])) {
            *out = (weft_axis)a;
            return WEFT_OK;
        }
    }
    const char *near = wf_nearest_in(name, WEFT_N_AXES, names);
    return WF_FAIL(WEFT_E_INVALID,
                   "there is no axis '%s'; %s%s%sthe axes are tp cp pp dp ep", name,
                   near ? "did you mean " : "", near ? near : "", near ? "? " : "");
}

/* Copy up to the next character of `stops` into word [16]; returns what follows the
 * stop, NULL after the last word. Longer words are cut, they match no name anyway. */
static const char *next_word(const char *text, const char *stops, char word[16])
{
    size_t n = strcspn(text, stops), keep = n < 15 ? n : 15;
    memcpy(word, text, keep);
    word[keep] = 0;
    return text[n] ? text + n + 1 : NULL;
}

static weft_status add_axis(weft_mesh *mesh, unsigned *seen, const char *name,
                            int degree, const char *where)
{
    weft_axis axis;
    WF_TRY(weft_axis_parse(name, &axis));
    if (*seen >> axis & 1)
        return WF_FAIL(WEFT_E_INVALID, "%s names %s twice", where, name);
    *seen |= 1u << axis;
    mesh->axis[mesh->n_axes] = (unsigned char)axis;
    mesh->size[mesh->n_axes++] = degree;
    return WEFT_OK;
}

weft_status weft_mesh_make(const int degree[WEFT_MAX_AXES], const char *order,
                           weft_mesh *out)
{
    weft_mesh mesh = {0};
    unsigned seen = 0;
    const char *at = order && *order ? order : "tp,cp,pp,dp";
    const char *whole = at;

    while (at) {
        char word[16];
        weft_axis axis;
        at = next_word(at, ",-", word);
        weft_status st = weft_axis_parse(word, &axis);
        if (st == WEFT_OK) st = add_axis(&mesh, &seen, word, degree[axis], "the order");
        if (st != WEFT_OK)
            return WF_FAIL(st, "--order %s: %s", whole, weft_status_message());
    }
    for (int a = 0; a < WEFT_N_AXES; a++)
        if (!(seen >> a & 1) && (degree[a] < 0 || degree[a] > 1))
            return WF_FAIL(
                WEFT_E_INVALID,
                "--%s %d needs a place in the order; --order %s does not name %s",
                names[a], degree[a], whole, names[a]);
    WF_TRY(weft_mesh_check(&mesh));
    *out = mesh;
    return WEFT_OK;
}

void weft_mesh_write_text(const weft_mesh *mesh, weft_writer *out)
{
    for (int a = 0; a < mesh->n_axes; a++)
        weft_print(out, "%s%s=%d", a ? "," : "", weft_axis_name(mesh->axis[a]),
                   mesh->size[a]);
}

static weft_status parse_degree(const char *text, int *out)
{
    char *end;
    long v = strtol(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || v < 1 || v > INT_MAX)
        return WF_FAIL(WEFT_E_INVALID,
                       "'%s' is no degree; a whole number from 1 is needed", text);
    *out = (int)v;
    return WEFT_OK;
}

weft_status weft_mesh_parse(const char *text, weft_mesh *out)
{
    weft_mesh mesh = {0};
    unsigned seen = 0;

    for (const char *at = *text ? text : NULL; at;) {
        char word[16], name[16];
        int degree;
        at = next_word(at, ",", word);
        const char *value = next_word(word, "=", name);
        if (!value)
            return WF_FAIL(WEFT_E_INVALID, "'%s' is no axis=degree, such as tp=2",
                           word);
        WF_TRY(parse_degree(value, &degree));
        WF_TRY(add_axis(&mesh, &seen, name, degree, "the text"));
    }
    WF_TRY(weft_mesh_check(&mesh));
    *out = mesh;
    return WEFT_OK;
}
