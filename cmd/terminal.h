/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_CMD_TERMINAL_H
#define WF_CMD_TERMINAL_H

/* Columns of the terminal behind the standard output; else COLUMNS; else 80. */
int wf_terminal_width(void);
/* The standard output is a terminal, and neither NO_COLOR nor TERM=dumb forbids
 * colours. */
int wf_terminal_color(void);
/* The locale in the environment says that the output is not UTF-8. */
int wf_terminal_ascii(void);
#endif
