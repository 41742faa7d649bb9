/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_CMD_COMMANDS_H
#define WF_CMD_COMMANDS_H

/* A subcommand. argv[0] is its name; returns the exit status. */
typedef struct wf_command {
    const char *name;
    const char *summary; /* one line of `weft --help` */
    int (*run)(int argc, char **argv);
} wf_command;

int wf_cmd_schedule(int argc, char **argv);
int wf_cmd_mesh(int argc, char **argv);
int wf_cmd_model(int argc, char **argv);
int wf_cmd_compare(int argc, char **argv);
int wf_cmd_doctor(int argc, char **argv);
int wf_cmd_machine(int argc, char **argv);
int wf_cmd_report(int argc, char **argv);
int wf_cmd_plan(int argc, char **argv);
int wf_cmd_score(int argc, char **argv);
/* In builds with libweft-run (WEFT_HAVE_RUN). */
int wf_cmd_train(int argc, char **argv);
int wf_cmd_verify(int argc, char **argv);
int wf_machine_measure(int argc, char **argv); /* `weft machine measure` */
#endif
