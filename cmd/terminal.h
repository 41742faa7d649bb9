/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_CMD_TERMINAL_H
#define WF_CMD_TERMINAL_H

/* Columns of the terminal behind the standard output; else COLUMNS; else 80. */
int wf_terminal_width(void);
/* The standard output is a terminal, and neither NO_COLOR nor TERM=dumb forbids
 * colours; CLICOLOR_FORCE asks for them anywhere. Under a launcher the standard output says
 * nothing of where the words end up (Open MPI gives rank 0 a terminal of its own), so there
 * they are off unless asked for. */
int wf_terminal_color(void);
/* The locale in the environment says that the output is not UTF-8. */
int wf_terminal_ascii(void);
/* Not under an MPI launcher, or its rank 0: a note is said once. */
int wf_launch_speaks(void);
#endif
