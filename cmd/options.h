/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flags of a subcommand, from tables. Every flag can also stand in a JSON run file
 * (--config); the order is: default, run file, command line, and the last one wins.
 * --help, --config, --print-config and --no-NAME of on/off flags come by themselves.
 *
 *     double tf = 1;
 *     weft_layout layout;
 *     weft_layout_defaults(&layout);
 *     const wf_option rows[] = {
 *         {"tf", .type = WF_OPT_NUMBER, .out = &tf, .arg = "T", .help = "forward"},
 *         {0}};
 *     const wf_command_line line = {.command = "schedule", .usage = "KIND -p P -m M",
 *                                   .group = {{"Costs", .row = rows},
 *                                             {"Layout", .table = wf_layout_table(),
 *                                              .object = &layout}}};
 *     wf_args args;
 *     int rc;
 *     if (wf_args_parse(&line, argc, argv, &args, &rc)) return rc;
 *     ...
 *     wf_args_clear(&args);
 *
 * Names may be typed with '-' or '_'; aliases (Megatron's long names) are as good.
 */
#ifndef WF_CMD_OPTIONS_H
#define WF_CMD_OPTIONS_H
#include <stdint.h>

#include "base/field.h"

/* Exit status of the program. */
enum { WF_EXIT_OK = 0, WF_EXIT_NO = 1, WF_EXIT_USAGE = 2, WF_EXIT_FAULT = 3 };

typedef enum wf_option_type {
    WF_OPT_TEXT,   /* const char *; owned by wf_args                             */
    WF_OPT_FLAG,   /* int; --name, --no-name, --name=0|1                         */
    WF_OPT_INT,    /* int                                                        */
    WF_OPT_COUNT,  /* int64_t; units as base/num.h: 7B, 80GiB                    */
    WF_OPT_NUMBER, /* double, finite; units as base/num.h                        */
    WF_OPT_CHOICE, /* const char *: one of the words of `choices`, nearest named */
    WF_OPT_LIST,   /* wf_list: may be given more than once, all are kept; those of the
                      command line replace those of the run file                 */
    WF_OPT_SET     /* calls set(out, name, text)                                 */
} wf_option_type;

typedef struct wf_list {
    int n;
    const char **item; /* owned by wf_args */
} wf_list;

/* One row of a table; the last row has name NULL. The variable behind `out` holds the
 * default: it is written only when a flag or the run file names the option. */
typedef struct wf_option {
    const char *name; /* long name without dashes */
    char letter;      /* 0: none                  */
    wf_option_type type;
    void *out;
    const char *arg;     /* word for the value in --help, such as "N"                 */
    const char *help;    /* one line, no full stop                                    */
    const char *alias;   /* other long names, blank-separated                         */
    const char *choices; /* WF_OPT_CHOICE: blank-separated                            */
    wf_unit unit;        /* WF_OPT_COUNT, WF_OPT_NUMBER                               */
    double min, max;     /* INT, COUNT, NUMBER, inclusive; both 0: no limits          */
    weft_status (*set)(void *obj, const char *name, const char *text); /* WF_OPT_SET  */
    const char *preset; /* WF_OPT_SET: its default as text, for --print-config        */
} wf_option;

/* Rows, or a field table with the struct it describes (already at its defaults). */
typedef struct wf_option_group {
    const char *heading;
    const wf_option *row;
    const wf_table *table;
    void *object;
} wf_option_group;

enum { WF_MAX_GROUPS = 8 };

typedef struct wf_command_line {
    const char *command;  /* "schedule"                                    */
    const char *usage;    /* what follows the name: "KIND -p P -m M [-v V]" */
    const char *about;    /* lines under the usage; may be NULL            */
    const char *examples; /* lines such as "  weft mesh --tp 2\n"          */
    const char *later;    /* flags known but not in this version, blank-separated */
    const char *hidden;   /* flags that only their default is legal for here: not in
                             --help, blank-separated                     */
    int layout;           /* 1: a run file may be a layout of weft plan --json   */
    wf_option_group group[WF_MAX_GROUPS];
} wf_command_line;

typedef struct wf_args {
    int n;             /* words that are not flags */
    const char **word; /* [n], then NULL           */
    struct wf_arg_store *store;
} wf_args;

/* Returns 0: go on. Returns 1: stop with *exit_code (help or the resolved configuration
 * was printed, or an error was). argv[0] is the subcommand's name. */
int wf_args_parse(const wf_command_line *line, int argc, char **argv, wf_args *out,
                  int *exit_code);
/* Was the option (its long name) given, by flag or run file? */
int wf_args_given(const wf_args *args, const char *name);
/* Was one of the options (blank-separated) typed on the command line? *which names it. A
 * run file does not count: it may hold options of another use, as --print-config writes. */
int wf_args_typed(const wf_args *args, const char *names, char *which, size_t size);
void wf_args_clear(wf_args *args);

/* "weft schedule: <message of the last failure>" on stderr; returns the exit status
 * that the failure has: 1 infeasible, 2 bad usage or input, 3 a fault while running. */
int wf_cmd_fail(const char *command, weft_status st);
/* Same with words of its own; returns WF_EXIT_USAGE. */
int wf_cmd_usage(const char *command, const char *fmt, ...) WEFT_PRINTF(2, 3);
/* "weft schedule: note: ..." on stderr. */
void wf_cmd_note(const char *command, const char *fmt, ...) WEFT_PRINTF(2, 3);
#endif
