/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cmd/option_rows.h"

enum { HELP_COLUMN = 28, WIDTH = 88 };

/* Words of `text` from column `at` on, wrapped, later lines from HELP_COLUMN. */
static void put_wrapped(weft_writer *out, const char *text, int at)
{
    while (*text) {
        int n = (int)strcspn(text, " ");
        if (at > HELP_COLUMN && at + 1 + n > WIDTH) {
            weft_print(out, "\n%*s", HELP_COLUMN, "");
            at = HELP_COLUMN;
        } else if (at > HELP_COLUMN) {
            weft_print(out, " ");
            at++;
        }
        weft_print(out, "%.*s", n, text);
        at += n;
        text += n;
        text += strspn(text, " ");
    }
    weft_print(out, "\n");
}

static const char *value_word(const wf_item *it)
{
    if (wf_item_is_flag(it)) return "";
    if (it->row) return it->row->arg ? it->row->arg : it->row->choices ? "WORD" : "X";
    switch (it->table->field[it->field].type) {
    case WF_STRING: return "TEXT";
    case WF_CHOICE: return "WORD";
    default: return "N";
    }
}

/* "--sp", or "--[no-]sp" where it is on by default: how to switch it off. */
static const char *label_of(const wf_item *it, const weft_text *now, char buf[88])
{
    char plain[80];
    wf_item_label(it, plain);
    if (!wf_item_is_flag(it) || !now->n || !strcmp(now->s, "false"))
        return strcpy(buf, plain);
    snprintf(buf, 88, "--[no-]%s", it->flag);
    return buf;
}

static void put_item(weft_writer *out, const wf_item *it)
{
    char left[128], label[88];
    const char *value = value_word(it), *help;
    char letter = wf_item_letter(it);
    weft_text now = {0}, all = {0};
    weft_writer w = weft_text_writer(&now), text = weft_text_writer(&all);
    int n = letter && it->flag[1] ? snprintf(left, sizeof left, "  -%c, ", letter)
                                  : snprintf(left, sizeof left, "  ");

    wf_item_print(it, &w);
    n += snprintf(left + n, sizeof left - (size_t)n, "%s%s%s",
                  label_of(it, &now, label), *value ? " " : "", value);
    help = it->row ? it->row->help : it->table->field[it->field].help;
    weft_print(&text, "%s", help ? help : "");
    if (it->row && it->row->choices) weft_print(&text, ": %s", it->row->choices);
    if (now.n) weft_print(&text, " [%s]", now.s);
    weft_print(out, "%-*s", HELP_COLUMN, left);
    if (n >= HELP_COLUMN) weft_print(out, "\n%*s", HELP_COLUMN, "");
    put_wrapped(out, all.s, HELP_COLUMN);
    weft_text_clear(&now);
    weft_text_clear(&all);
}

/* Fields that only their default is legal for are no help to anyone yet. */
static int is_later(const wf_item *it)
{
    return it->table && it->table->field[it->field].when == WF_LATER;
}

void wf_help_print(const wf_command_line *line, const wf_arg_store *s, weft_writer *out)
{
    weft_print(out, "Usage: weft %s %s\n", line->command,
               line->usage ? line->usage : "");
    if (line->about) weft_print(out, "\n%s\n", line->about);
    for (int g = 0; g < WF_MAX_GROUPS; g++) {
        if (line->group[g].heading) weft_print(out, "\n%s\n", line->group[g].heading);
        for (int i = 0; i < s->n_items; i++)
            if (s->item[i].group == g && !is_later(&s->item[i]) &&
                !wf_has_word(line->hidden, s->item[i].flag))
                put_item(out, &s->item[i]);
    }
    weft_print(
        out,
        "\nCommon\n"
        "  --config FILE             options from a JSON run file; flags override it\n"
        "  --print-config            write the resolved run file and stop\n"
        "  -h, --help                this text\n");
    if (line->examples) weft_print(out, "\nExamples\n%s", line->examples);
}
