/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line, by popt. Its option table is built from the items; what it returns
 * becomes assignments, which are applied after those of the run file.
 */
#include "cmd/options.h"

#include <popt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cmd/option_rows.h"
#include "cmd/stdio_writer.h"
#include "cmd/terminal.h"

/* popt's return values: item + 1, the same + NEGATED for --no-NAME, or a common one. */
enum { NEGATED = 1 << 16, CONFIG = 1 << 17, PRINT_CONFIG, HELP };

typedef struct popt_table {
    int64_t n, cap;
    struct poptOption *row;
    int64_t n_names, cap_names;
    char **name; /* owned long names of aliases and --no-NAME */
} popt_table;

/* ---- popt's table --------------------------------------------------------------- */

static weft_status add_row(popt_table *t, const char *name, char letter, int is_flag,
                           int val)
{
    void *block = t->row;
    WF_TRY(wf_grow(&block, &t->cap, t->n + 1, sizeof *t->row));
    t->row = block;
    t->row[t->n++] = (struct poptOption){
        name, letter, is_flag ? POPT_ARG_NONE : POPT_ARG_STRING, NULL, val, NULL, NULL};
    return WEFT_OK;
}

static weft_status own_name(popt_table *t, const char *prefix, const char *name,
                            size_t n, const char **out)
{
    void *block = t->name;
    size_t size = strlen(prefix) + n + 1;
    char *copy;
    WF_TRY(wf_grow(&block, &t->cap_names, t->n_names + 1, sizeof *t->name));
    t->name = block;
    WF_TRY(WF_ALLOC((int64_t)size, &copy));
    snprintf(copy, size, "%s%.*s", prefix, (int)n, name);
    for (char *c = copy; *c; c++)
        if (*c == '_') *c = '-';
    t->name[t->n_names++] = copy;
    *out = copy;
    return WEFT_OK;
}

static weft_status add_item(popt_table *t, const wf_item *it, int val)
{
    const char *name;
    int flag = wf_item_is_flag(it);

    WF_TRY(add_row(t, it->flag, wf_item_letter(it), flag, val));
    for (const char *a = wf_item_alias(it); *a;) {
        size_t n = strcspn(a, " ");
        WF_TRY(own_name(t, "", a, n, &name));
        WF_TRY(add_row(t, name, 0, flag, val));
        a += n + strspn(a + n, " ");
    }
    if (!flag) return WEFT_OK;
    WF_TRY(own_name(t, "no-", it->flag, strlen(it->flag), &name));
    return add_row(t, name, 0, 1, val + NEGATED);
}

static weft_status make_table(const wf_arg_store *s, popt_table *t)
{
    for (int i = 0; i < s->n_items; i++)
        WF_TRY(add_item(t, &s->item[i], i + 1));
    WF_TRY(add_row(t, "config", 0, 0, CONFIG));
    WF_TRY(add_row(t, "print-config", 0, 1, PRINT_CONFIG));
    WF_TRY(add_row(t, "help", 'h', 1, HELP));
    return add_row(t, NULL, 0, 1, 0);
}

static void clear_table(popt_table *t)
{
    for (int64_t i = 0; i < t->n_names; i++)
        wf_free(t->name[i]);
    wf_free(t->name);
    wf_free(t->row);
}

/* ---- the words of the command line ---------------------------------------------- */

/* --micro_batch is --micro-batch; --sp=0 of an on/off flag is --no-sp. */
static weft_status normalise(const wf_arg_store *s, const char *word, char **out)
{
    size_t n = strlen(word), name = strcspn(word, "=");
    char *copy;

    WF_TRY(WF_ALLOC((int64_t)n + 8, &copy));
    memcpy(copy, word, n);
    *out = copy;
    if (strncmp(word, "--", 2) || n < 3) return WEFT_OK;
    for (size_t i = 0; i < name; i++)
        if (copy[i] == '_') copy[i] = '-';
    if (!word[name]) return WEFT_OK;
    copy[name] = 0;
    int item = wf_items_find(s, copy + 2);
    if (item >= 0 && wf_item_is_flag(&s->item[item])) {
        int32_t on;
        WF_TRY(wf_num_bool(copy, word + name + 1, &on));
        if (!on) snprintf(copy, n + 8, "--no-%s", s->item[item].flag);
        return WEFT_OK;
    }
    copy[name] = '=';
    return WEFT_OK;
}

static weft_status copy_words(wf_arg_store *s, int argc, char **argv)
{
    int only_words = 0; /* after "--" */
    WF_TRY(WF_ALLOC(argc + 1, &s->argv));
    for (int i = 0; i < argc; i++) {
        static const wf_arg_store no_items;
        s->argc = i + 1; /* a word that is refused is freed as well */
        WF_TRY(normalise(only_words ? &no_items : s, argv[i], &s->argv[i]));
        if (!strcmp(argv[i], "--")) only_words = 1;
    }
    return WEFT_OK;
}

static weft_status bad_option(const wf_command_line *line, const wf_arg_store *s,
                              const char *word)
{
    char name[WF_FLAG_SIZE];
    const char *bare = word + strspn(word, "-");
    snprintf(name, sizeof name, "%.*s", (int)strcspn(bare, "="), bare);
    if (wf_has_word(line->later, name))
        return WF_FAIL(WEFT_E_INVALID, "--%s is not in this version", name);
    const char *near = wf_items_nearest(s, name);
    if (!near)
        return WF_FAIL(WEFT_E_INVALID,
                       "there is no flag %.60s; weft %s --help lists them", word,
                       line->command);
    return WF_FAIL(WEFT_E_INVALID, "there is no flag %.60s; did you mean %s%s?", word,
                   near[1] ? "--" : "-", near);
}

static weft_status popt_error(const wf_command_line *line, const wf_arg_store *s,
                              poptContext con, int rc)
{
    const char *word = poptBadOption(con, POPT_BADOPTION_NOALIAS);
    if (rc == POPT_ERROR_BADOPT) return bad_option(line, s, word);
    if (rc == POPT_ERROR_NOARG)
        return WF_FAIL(WEFT_E_INVALID, "%s needs a value", word);
    if (rc == POPT_ERROR_UNWANTEDARG)
        return WF_FAIL(WEFT_E_INVALID, "%s takes no value", word);
    return WF_FAIL(WEFT_E_INVALID, "%s: %s", word, poptStrerror(rc));
}

static weft_status take(wf_arg_store *s, int val, char *arg)
{
    if (val == HELP) return s->help = 1, WEFT_OK;
    if (val == PRINT_CONFIG) return s->print_config = 1, WEFT_OK;
    if (val == CONFIG) {
        if (!*arg) return WF_FAIL(WEFT_E_INVALID, "--config: a value is missing");
        WF_TRY(wf_assign(s, -1, arg, NULL));
        s->config = s->set[s->n_set - 1].text;
        return WEFT_OK;
    }
    if (val & NEGATED) return wf_assign(s, (val & ~NEGATED) - 1, "false", NULL);
    return wf_assign(s, val - 1, arg ? arg : "true", NULL);
}

static int is_truth(const char *word)
{
    return wf_has_word("true false yes no on off", word);
}

/* "--sp false": the flag takes no next word, and the word says nothing to anyone. */
static weft_status check_truths(const wf_arg_store *s)
{
    for (int64_t k = 2; k < s->argc && strcmp(s->argv[k - 1], "--"); k++) {
        const char *flag = s->argv[k - 1], *word = s->argv[k];
        int item = strncmp(flag, "--", 2) ? -1 : wf_items_find(s, flag + 2);
        if (item < 0 || !wf_item_is_flag(&s->item[item]) || !is_truth(word)) continue;
        return WF_FAIL(WEFT_E_INVALID,
                       "%s %s: an on/off flag has its value after '=': %s=%s, or "
                       "--no-%s to switch it off",
                       flag, word, flag, word, s->item[item].flag);
    }
    return WEFT_OK;
}

static weft_status collect_words(wf_arg_store *s, poptContext con, wf_args *out)
{
    const char **words = poptGetArgs(con);
    int n = 0;
    while (words && words[n])
        n++;
    WF_TRY(WF_ALLOC(n + 1, &s->word));
    for (int i = 0; i < n; i++)
        for (int64_t k = 1; k < s->argc;
             k++) /* popt's words end with it; ours are the same */
            if (!strcmp(words[i], s->argv[k])) s->word[i] = s->argv[k];
    out->n = n;
    out->word = (const char **)s->word;
    return WEFT_OK;
}

static weft_status read_line(const wf_command_line *line, wf_arg_store *s,
                             popt_table *t, wf_args *out)
{
    int rc;
    weft_status st = make_table(s, t);
    if (st != WEFT_OK) return st;
    poptContext con =
        poptGetContext(line->command, (int)s->argc, (const char **)s->argv, t->row, 0);
    if (!con) return WF_FAIL(WEFT_E_NOMEM, "out of memory");
    while (st == WEFT_OK && (rc = poptGetNextOpt(con)) != -1) {
        char *arg = rc > 0 ? poptGetOptArg(con) : NULL;
        st = rc > 0 ? take(s, rc, arg) : popt_error(line, s, con, rc);
        free(arg); /* popt's own, by malloc */
    }
    if (st == WEFT_OK) st = check_truths(s);
    if (st == WEFT_OK) st = collect_words(s, con, out);
    poptFreeContext(con);
    return st;
}

/* ---- all of it ------------------------------------------------------------------ */

/* Does the command line give a list? Its entries take the place of the run file's. */
static int replaced(const wf_arg_store *s, int64_t n_line, int item)
{
    const wf_option *row = s->item[item].row;
    for (int64_t k = 0; row && row->type == WF_OPT_LIST && k < n_line; k++)
        if (s->set[k].item == item) return 1;
    return 0;
}

/* The run file's assignments stand after those of the command line: apply them
 * first. */
static weft_status apply(wf_arg_store *s, int64_t n_line)
{
    for (int64_t k = 0; k < s->n_set; k++) {
        int64_t n_file = s->n_set - n_line;
        const wf_assignment *a = &s->set[k < n_file ? n_line + k : k - n_file];
        if (a->item < 0 || (k < n_file && replaced(s, n_line, a->item))) continue;
        WF_TRY(wf_item_set(&s->item[a->item], a));
    }
    return WEFT_OK;
}

static weft_status parse(const wf_command_line *line, int argc, char **argv,
                         wf_arg_store *s, wf_args *out)
{
    popt_table table = {0};
    WF_TRY(wf_items_list(line, s));
    WF_TRY(copy_words(s, argc, argv));
    weft_status st = read_line(line, s, &table, out);
    clear_table(&table);
    if (st != WEFT_OK || s->help) return st;
    int64_t n_line = s->n_set;
    if (s->config) WF_TRY(wf_config_read(s->config, line->layout, s));
    WF_TRY(apply(s, n_line));
    for (int64_t i = 0; i < s->n_items && wf_launch_speaks(); i++)
        wf_item_note(&s->item[i], line->command);
    return WEFT_OK;
}

int wf_args_parse(const wf_command_line *line, int argc, char **argv, wf_args *out,
                  int *exit_code)
{
    weft_writer w = wf_stdout_writer();
    wf_args args = {0};
    weft_status st = WF_ALLOC(1, &args.store);

    if (st == WEFT_OK) st = parse(line, argc, argv, args.store, &args);
    *exit_code = st == WEFT_OK ? WF_EXIT_OK : wf_cmd_fail(line->command, st);
    if (st == WEFT_OK && args.store->help) {
        wf_help_print(line, args.store, &w);
    } else if (st == WEFT_OK && args.store->print_config) {
        wf_config_print(args.store, &w);
    } else if (st == WEFT_OK) {
        *out = args;
        return 0;
    }
    wf_args_clear(&args);
    return 1;
}

int wf_args_given(const wf_args *args, const char *name)
{
    int i = wf_items_find(args->store, name);
    return i >= 0 && args->store->item[i].given;
}

int wf_args_typed(const wf_args *args, const char *names, char *which, size_t size)
{
    for (const char *at = names; *at; at += strspn(at, " ")) {
        size_t n = strcspn(at, " ");
        snprintf(which, size, "%.*s", (int)n, at);
        int i = wf_items_find(args->store, which);
        if (i >= 0 && args->store->item[i].typed) return 1;
        at += n;
    }
    return 0;
}

void wf_args_clear(wf_args *args)
{
    wf_arg_store *s = args->store;
    if (!s) return;
    for (int64_t i = 0; i < s->n_items; i++) {
        const wf_option *row = s->item[i].row;
        if (row && row->type == WF_OPT_LIST) {
            wf_free(((wf_list *)row->out)->item);
            *(wf_list *)row->out = (wf_list){0};
        }
    }
    for (int64_t i = 0; i < s->n_set; i++)
        wf_free(s->set[i].text);
    for (int64_t i = 0; i < s->argc; i++)
        wf_free(s->argv[i]);
    wf_free(s->argv);
    wf_free(s->word);
    wf_free(s->set);
    wf_free(s->item);
    wf_free(s);
    *args = (wf_args){0};
}
