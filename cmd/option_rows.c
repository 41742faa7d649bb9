/* SPDX-License-Identifier: Apache-2.0 */
/* Rows and field tables as one list: finding, setting and printing options. */
#include "cmd/option_rows.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/near.h"

/* ---- names ---------------------------------------------------------------------- */

static void hyphens(const char *name, char flag[WF_FLAG_SIZE])
{
    int n = 0;
    for (; name[n] && n + 1 < WF_FLAG_SIZE; n++)
        flag[n] = name[n] == '_' ? '-' : name[n];
    flag[n] = 0;
}

int wf_has_word(const char *words, const char *word)
{
    size_t n = strlen(word);
    while (words && *words) {
        size_t k = strcspn(words, " ");
        if (k == n && !strncmp(words, word, n)) return 1;
        words += k + strspn(words + k, " ");
    }
    return 0;
}

static int has_alias(const char *aliases, const char *flag)
{
    char one[WF_FLAG_SIZE], plain[WF_FLAG_SIZE];
    while (aliases && *aliases) {
        size_t n = strcspn(aliases, " ");
        snprintf(one, sizeof one, "%.*s", (int)n, aliases);
        hyphens(one, plain);
        if (!strcmp(plain, flag)) return 1;
        aliases += n + strspn(aliases + n, " ");
    }
    return 0;
}

const char *wf_item_alias(const wf_item *it)
{
    const char *a = it->row ? it->row->alias : it->table->field[it->field].alias;
    return a ? a : "";
}

int wf_items_find(const wf_arg_store *s, const char *name)
{
    char flag[WF_FLAG_SIZE];
    hyphens(name, flag);
    for (int i = 0; i < s->n_items; i++)
        if (!strcmp(s->item[i].flag, flag)) return i;
    for (int i = 0; i < s->n_items; i++)
        if (has_alias(wf_item_alias(&s->item[i]), flag)) return i;
    return -1;
}

static const char *flag_at(const void *ctx, int i)
{
    return ((const wf_arg_store *)ctx)->item[i].flag;
}

const char *wf_items_nearest(const wf_arg_store *s, const char *name)
{
    char flag[WF_FLAG_SIZE];
    hyphens(name, flag);
    return wf_nearest(flag, (int)s->n_items, flag_at, s);
}

const char *wf_item_label(const wf_item *it, char *buf)
{
    snprintf(buf, 80, it->flag[1] ? "--%s" : "-%s", it->flag);
    return buf;
}

int wf_item_is_flag(const wf_item *it)
{
    if (it->row) return it->row->type == WF_OPT_FLAG;
    return it->table->field[it->field].type == WF_BOOL;
}

char wf_item_letter(const wf_item *it)
{
    if (it->row && it->row->letter) return it->row->letter;
    return it->flag[1] ? 0 : it->flag[0];
}

static weft_status add_item(wf_arg_store *s, wf_item it, const char *name)
{
    void *block = s->item;
    hyphens(name, it.flag);
    assert(wf_items_find(s, name) < 0); /* two options of one name */
    WF_TRY(wf_grow(&block, &s->cap_items, s->n_items + 1, sizeof *s->item));
    s->item = block;
    s->item[s->n_items++] = it;
    return WEFT_OK;
}

weft_status wf_items_list(const wf_command_line *line, wf_arg_store *s)
{
    for (int g = 0; g < WF_MAX_GROUPS; g++) {
        const wf_option_group *from = &line->group[g];
        for (const wf_option *r = from->row; r && r->name; r++)
            WF_TRY(add_item(s, (wf_item){.row = r, .group = g}, r->name));
        for (int i = 0; from->table && i < from->table->n; i++)
            WF_TRY(add_item(s,
                            (wf_item){.table = from->table,
                                      .field = i,
                                      .object = from->object,
                                      .group = g},
                            from->table->field[i].name));
    }
    return WEFT_OK;
}

/* ---- values --------------------------------------------------------------------- */

static weft_status check_range(const wf_option *r, const char *label, double x)
{
    char a[32], b[32], v[32];
    if ((r->min == 0 && r->max == 0) || (x >= r->min && x <= r->max)) return WEFT_OK;
    return WF_FAIL(WEFT_E_INVALID, "%s %s is outside %s .. %s", label,
                   wf_num_text(x, v), wf_num_text(r->min, a), wf_num_text(r->max, b));
}

static weft_status set_int(const wf_option *r, const char *label, const char *text)
{
    int64_t x;
    WF_TRY(wf_num_i64(label, text, WF_PLAIN, &x));
    WF_TRY(check_range(r, label, (double)x));
    if (x < INT_MIN || x > INT_MAX)
        return WF_FAIL(WEFT_E_INVALID, "%s %s is beyond %d", label, text,
                       x < 0 ? INT_MIN : INT_MAX);
    *(int *)r->out = (int)x;
    return WEFT_OK;
}

static weft_status set_count(const wf_option *r, const char *label, const char *text)
{
    int64_t x;
    WF_TRY(wf_num_i64(label, text, r->unit, &x));
    WF_TRY(check_range(r, label, (double)x));
    *(int64_t *)r->out = x;
    return WEFT_OK;
}

static weft_status set_number(const wf_option *r, const char *label, const char *text)
{
    double x;
    WF_TRY(wf_num_f64(label, text, r->unit, &x));
    WF_TRY(check_range(r, label, x));
    *(double *)r->out = x + 0.0; /* "-0" is 0, also when it is written again */
    return WEFT_OK;
}

static weft_status set_choice(const wf_option *r, const char *label, const char *text)
{
    enum { MOST = 32 };
    char words[MOST][32];
    const char *list[MOST], *near;
    int n = 0;

    if (wf_has_word(r->choices, text)) {
        *(const char **)r->out = text;
        return WEFT_OK;
    }
    for (const char *c = r->choices; *c && n < MOST; n++) {
        size_t k = strcspn(c, " ");
        snprintf(words[n], sizeof words[n], "%.*s", (int)k, c);
        list[n] = words[n];
        c += k + strspn(c + k, " ");
    }
    near = wf_nearest_in(text, n, list);
    return WF_FAIL(WEFT_E_INVALID, "%s %.40s is none of: %s%s%s%s", label, text,
                   r->choices, near ? "; did you mean " : "", near ? near : "",
                   near ? "?" : "");
}

static weft_status add_to_list(wf_list *list, const char *text)
{
    void *block = list->item;
    int64_t cap = list->n;
    WF_TRY(wf_grow(&block, &cap, list->n + 1, sizeof *list->item));
    list->item = block;
    list->item[list->n++] = text;
    return WEFT_OK;
}

static weft_status set_row(const wf_option *r, const char *label, const char *text)
{
    switch (r->type) {
    case WF_OPT_TEXT: *(const char **)r->out = text; return WEFT_OK;
    case WF_OPT_FLAG: {
        int32_t x;
        WF_TRY(wf_num_bool(label, text, &x));
        *(int *)r->out = x;
        return WEFT_OK;
    }
    case WF_OPT_INT: return set_int(r, label, text);
    case WF_OPT_COUNT: return set_count(r, label, text);
    case WF_OPT_NUMBER: return set_number(r, label, text);
    case WF_OPT_CHOICE: return set_choice(r, label, text);
    case WF_OPT_LIST: return add_to_list(r->out, text);
    case WF_OPT_SET: return r->set(r->out, r->name, text);
    }
    return WF_FAIL(WEFT_E_INVALID, "%s has an unknown type", label);
}

static weft_status set_item(const wf_item *it, const char *text)
{
    char label[80];
    wf_item_label(it, label);
    if (!*text) return WF_FAIL(WEFT_E_INVALID, "%s: a value is missing", label);
    if (it->row) return set_row(it->row, label, text);
    return wf_field_set(it->table, it->object, it->table->field[it->field].name, text);
}

/* Lengths of sequences are powers of two to everyone, and "4k" is 4000. */
void wf_item_note(const wf_item *it, const char *command)
{
    size_t n = it->text ? strlen(it->text) : 0;
    char k[32], ki[40], a[32], b[32];
    double thousands, binary;

    if (strcmp(it->flag, "seq") || n < 2 || n >= sizeof k ||
        !strchr("kK", it->text[n - 1]))
        return;
    snprintf(k, sizeof k, "%s", it->text);
    snprintf(ki, sizeof ki, "%.*sKi", (int)n - 1, it->text);
    if (wf_num_f64("seq", k, WF_COUNT, &thousands) != WEFT_OK ||
        wf_num_f64("seq", ki, WF_COUNT, &binary) != WEFT_OK)
        return;
    wf_cmd_note(command, "--seq %s is %s; %s is %s", k, wf_num_text(thousands, a), ki,
                wf_num_text(binary, b));
}

weft_status wf_item_set(wf_item *it, const wf_assignment *a)
{
    weft_status st = set_item(it, a->text);
    if (st != WEFT_OK && a->where)
        return WF_FAIL(st, "%s: %s", a->where, weft_status_message());
    it->given = 1;
    it->typed |= !a->where;
    it->text = a->text;
    return st;
}

weft_status wf_assign(wf_arg_store *s, int item, const char *text, const char *where)
{
    void *block = s->set;
    char *copy;
    int64_t n = (int64_t)strlen(text) + 1;
    WF_TRY(wf_grow(&block, &s->cap_set, s->n_set + 1, sizeof *s->set));
    s->set = block;
    WF_TRY(WF_ALLOC(n, &copy));
    memcpy(copy, text, (size_t)n);
    s->set[s->n_set++] = (wf_assignment){item, copy, where};
    return WEFT_OK;
}

/* ---- printing ------------------------------------------------------------------- */

/* Is a number outside what the option takes? That is how "not given" is held: as a default
 * to show, or in a run file, it would be refused. */
static int outside(double x, double min, double max)
{
    return (min != 0 || max != 0) && !(x >= min && x <= max);
}

static int row_not_given(const wf_option *r)
{
    switch (r->type) {
    case WF_OPT_INT: return outside(*(int *)r->out, r->min, r->max);
    case WF_OPT_COUNT: return outside((double)*(int64_t *)r->out, r->min, r->max);
    case WF_OPT_NUMBER: return outside(*(double *)r->out, r->min, r->max);
    default: return 0;
    }
}

static int field_not_given(const wf_item *it)
{
    const wf_field *f = &it->table->field[it->field];
    const char *at = (const char *)it->object + f->offset;
    int32_t i32;
    int64_t i64;
    double f64;

    if (!f->size) return 0;
    switch (f->type) {
    case WF_I32: memcpy(&i32, at, sizeof i32); return outside(i32, f->min, f->max);
    case WF_I64:
        memcpy(&i64, at, sizeof i64);
        return outside((double)i64, f->min, f->max);
    case WF_F64: memcpy(&f64, at, sizeof f64); return outside(f64, f->min, f->max);
    default: return 0;
    }
}

static int not_given(const wf_item *it)
{
    return it->row ? row_not_given(it->row) : field_not_given(it);
}

static const char *row_text(const wf_item *it)
{
    const wf_option *r = it->row;
    const char *t = r->type == WF_OPT_SET ? (it->text ? it->text : r->preset)
                                          : *(const char **)r->out;
    return t ? t : "";
}

void wf_item_print(const wf_item *it, weft_writer *out)
{
    char buf[32];
    const wf_option *r = it->row;
    if (not_given(it)) return;
    if (!r) {
        wf_field_print(it->table, it->field, it->object, out);
        return;
    }
    switch (r->type) {
    case WF_OPT_FLAG: weft_print(out, *(int *)r->out ? "on" : ""); break;
    case WF_OPT_INT: weft_print(out, "%d", *(int *)r->out); break;
    case WF_OPT_COUNT: weft_print(out, "%lld", (long long)*(int64_t *)r->out); break;
    case WF_OPT_NUMBER:
        weft_print(out, "%s", wf_num_text(*(double *)r->out, buf));
        break;
    case WF_OPT_LIST: break;
    default: weft_print(out, "%s", row_text(it));
    }
}

static void put_row_json(const wf_item *it, const char *key, wf_json *j)
{
    const wf_option *r = it->row;
    const wf_list *list = r->out;
    switch (r->type) {
    case WF_OPT_FLAG: wf_json_put_bool(j, key, *(int *)r->out); break;
    case WF_OPT_INT: wf_json_put_i64(j, key, *(int *)r->out); break;
    case WF_OPT_COUNT: wf_json_put_i64(j, key, *(int64_t *)r->out); break;
    case WF_OPT_NUMBER: wf_json_put_f64(j, key, *(double *)r->out); break;
    case WF_OPT_LIST:
        if (!list->n) return;
        wf_json_key(j, key);
        wf_json_array(j);
        for (int i = 0; i < list->n; i++)
            wf_json_string(j, list->item[i]);
        wf_json_end_array(j);
        break;
    default:
        if (*row_text(it)) wf_json_put_string(j, key, row_text(it));
    }
}

static void put_field_json(const wf_item *it, const char *key, wf_json *j)
{
    const wf_field *f = &it->table->field[it->field];
    const char *at = (const char *)it->object + f->offset;
    wf_table one = {it->table->what, it->table->prefix, 1, f};
    if (!f->size || f->when == WF_LATER) return;
    if (f->type == WF_STRING && !*at) return;
    (void)key;
    wf_field_put_json(&one, it->object, j);
}

void wf_item_put_json(const wf_item *it, wf_json *j)
{
    char key[WF_FLAG_SIZE];
    int n = 0;
    for (; it->flag[n]; n++)
        key[n] = it->flag[n] == '-' ? '_' : it->flag[n];
    key[n] = 0;
    if (not_given(it)) return;
    if (it->row)
        put_row_json(it, key, j);
    else
        put_field_json(it, key, j);
}
