/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of `weft train`. */
#include <stdio.h>
#include <string.h>

#include "arch/fields.h"
#include "base/error.h"
#include "layout/fields.h"
#include "plan/tool.h"

/* ---- the model ------------------------------------------------------------------------ */

static int same_field(const wf_field *f, const void *a, const void *b)
{
    const char *x = (const char *)a + f->offset, *y = (const char *)b + f->offset;
    return f->type == WF_STRING ? !strcmp(x, y) : !memcmp(x, y, f->size);
}

static int same_arch(const weft_arch *a, const weft_arch *b)
{
    const wf_table *t = wf_arch_table();
    for (int i = 0; i < t->n; i++)
        if (!same_field(&t->field[i], a, b)) return 0;
    return 1;
}

/* ",key=value", and the same onto what has been said so far: sizes follow each other. */
static void say(int i, const weft_arch *a, weft_arch *said, int first, weft_writer *out)
{
    const wf_table *t = wf_arch_table();
    weft_text value = {NULL, 0, 0};
    weft_writer w = weft_text_writer(&value);

    wf_field_print(t, i, a, &w);
    if (w.failed || weft_arch_set(said, t->field[i].name, value.s) != WEFT_OK)
        out->failed = 1;
    weft_print(out, "%s%s=%s", first ? "" : ",", t->field[i].name,
               value.s ? value.s : "");
    weft_text_clear(&value);
}

static int said_first(const char *name)
{
    static const char *const first[] = {"family", "layers", "hidden", "heads"};
    for (int i = 0; i < 4; i++)
        if (!strcmp(first[i], name)) return 1;
    return 0;
}

void wf_arch_text(const weft_arch *a, weft_writer *out)
{
    const wf_table *t = wf_arch_table();
    weft_arch said;
    int n = 0;

    if (weft_arch_parse(a->name, &said) == WEFT_OK && same_arch(a, &said)) {
        weft_print(out, "%s", a->name);
        return;
    }
    weft_arch_defaults(&said);
    for (int i = 0; i < t->n; i++)
        if (said_first(t->field[i].name)) say(i, a, &said, !n++, out);
    for (int i = 0; i < t->n; i++)
        if (strcmp(t->field[i].name, "name") && !same_field(&t->field[i], a, &said))
            say(i, a, &said, !n++, out);
}

static void put_model(const weft_arch *a, weft_writer *out)
{
    weft_text text = {NULL, 0, 0};
    weft_writer w = weft_text_writer(&text);

    wf_arch_text(a, &w);
    if (w.failed) out->failed = 1;
    wf_quote(out, text.s ? text.s : "");
    weft_text_clear(&text);
}

/* ---- the layout ----------------------------------------------------------------------- */

static int is_default(const wf_table *t, int i, const void *obj, const void *usual)
{
    const wf_field *f = &t->field[i];
    const char *a = (const char *)obj + f->offset, *b = (const char *)usual + f->offset;
    if (!f->size) return 1;
    return f->type == WF_STRING ? !strcmp(a, b) : !memcmp(a, b, f->size);
}

static void put_field(const wf_table *t, int i, const weft_layout *l, weft_writer *out)
{
    weft_text text = {NULL, 0, 0};
    weft_writer w = weft_text_writer(&text);
    char label[64];

    wf_field_print(t, i, l, &w);
    if (w.failed) out->failed = 1;
    if (t->field[i].type == WF_BOOL && text.s && !strcmp(text.s, "true")) {
        weft_print(out, " %s", wf_field_label(t, i, label));
    } else {
        weft_print(out, " %s ", wf_field_label(t, i, label));
        wf_quote(out, text.s ? text.s : "");
    }
    weft_text_clear(&text);
}

/* The text to train on is the reader's. */
static void write_train(const weft_layout *l, const weft_arch *a,
                        const weft_cost_options *o, int per_node, weft_writer *out)
{
    const wf_table *t = wf_layout_table();
    weft_layout usual;

    weft_layout_defaults(&usual);
    weft_print(out, "mpirun -n %d weft train --model ", weft_layout_world(l));
    put_model(a, out);
    weft_print(out, " --data \"$DATA\" --dtype %s",
               o->math == WEFT_MATH_F64   ? "f64"
               : o->math == WEFT_MATH_F32 ? "f32"
                                          : "bf16");
    for (int i = 0; i < t->n; i++)
        if (!is_default(t, i, l, &usual)) put_field(t, i, l, out);
    weft_print(out, "\n");
}

static weft_status check_options(const weft_cost_options *o)
{
    if (o->math > WEFT_MATH_BF16)
        return WF_FAIL(WEFT_E_INFEASIBLE, "--math %s: weft train has f64, f32 and bf16",
                       weft_math_name((weft_math)o->math));
    if (o->dropout) return WF_FAIL(WEFT_E_INFEASIBLE, "--dropout: weft train has none");
    return WEFT_OK;
}

static weft_status check_train(const weft_layout *l, const weft_arch *a)
{
    char why[512];
    weft_status st = weft_arch_require_family(a, "gpt2");

    if (st == WEFT_OK) st = weft_layout_check(l, a);
    if (st == WEFT_OK || st == WEFT_E_NOMEM) return st;
    snprintf(why, sizeof why, "%s", weft_status_message());
    return WF_FAIL(WEFT_E_INFEASIBLE, "%s", why);
}

const wf_tool wf_tool_weft = {.name = "weft",
                              .order = "tp,cp,pp,dp",
                              .check = check_train,
                              .write = write_train,
                              .check_options = check_options};
