/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the option helper: rows and field tables as one list of items. */
#ifndef WF_CMD_OPTION_ROWS_H
#define WF_CMD_OPTION_ROWS_H
#include "cmd/options.h"

enum { WF_FLAG_SIZE = 64 };

/* One option, whether it came from a row or from a field table. */
typedef struct wf_item {
    char flag[WF_FLAG_SIZE]; /* long name with hyphens */
    const wf_option *row;    /* or: */
    const wf_table *table;
    int field;
    void *object;
    int group, given, typed; /* given; given on the command line */
    const char *text;        /* last text given (owned by the store); NULL: none */
} wf_item;

/* One value that the run file or the command line gives an item. */
typedef struct wf_assignment {
    int item;
    char *text;
    const char *where; /* NULL: command line; else the run file's name */
} wf_assignment;

typedef struct wf_arg_store {
    int64_t n_items, cap_items;
    wf_item *item;
    int64_t n_set, cap_set;
    wf_assignment *set;
    char **argv; /* normalised copy */
    int64_t argc;
    char **word;
    int help, print_config;
    const char *config; /* file; points into set or argv */
} wf_arg_store;

/* List the items of all groups; a repeated name is a bug and asserted. */
weft_status wf_items_list(const wf_command_line *line, wf_arg_store *s);
/* By long name or alias, '-' and '_' alike, without dashes; -1: none. */
int wf_items_find(const wf_arg_store *s, const char *name);
/* Item of an on/off flag: takes no value. */
int wf_item_is_flag(const wf_item *it);
char wf_item_letter(const wf_item *it);
const char *wf_item_alias(const wf_item *it); /* "" when none */
/* "--micro-batch" or, for a name of one letter, "-p". buf >= 80 bytes. */
const char *wf_item_label(const wf_item *it, char *buf);

/* Set the variable of an item from text; the message names the flag, or file and
 * key. */
weft_status wf_item_set(wf_item *it, const wf_assignment *a);

/* A note on stderr where a value that was taken is likely to mean another. */
void wf_item_note(const wf_item *it, const char *command);

/* The default for --help: what the variable holds; nothing for off, "" and a number that
 * the option itself does not take. */
void wf_item_print(const wf_item *it, weft_writer *out);
/* The same as a member of an open JSON object; nothing for options without a value or
 * with one that would be refused. */
void wf_item_put_json(const wf_item *it, wf_json *j);

/* Read a JSON run file into assignments. layout: it may be one as weft plan writes it. */
weft_status wf_config_read(const char *path, int layout, wf_arg_store *s);
void wf_config_print(const wf_arg_store *s, weft_writer *out);
void wf_help_print(const wf_command_line *line, const wf_arg_store *s,
                   weft_writer *out);

weft_status wf_assign(wf_arg_store *s, int item, const char *text, const char *where);
/* The name nearest to a mistyped one, without dashes; NULL: none. */
const char *wf_items_nearest(const wf_arg_store *s, const char *name);
/* Is `word` one of the blank-separated words? */
int wf_has_word(const char *words, const char *word);
#endif
