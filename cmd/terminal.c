/* SPDX-License-Identifier: Apache-2.0 */
#define _DEFAULT_SOURCE
#include "cmd/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

int wf_terminal_width(void)
{
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col > 0) return size.ws_col;
    long n = columns ? strtol(columns, NULL, 10) : 0;
    return n >= 24 && n <= 10000 ? (int)n : 80;
}

/* Set by Open MPI and PMIx launchers, by hydra and by srun with PMI. */
static const char *launch_rank(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                        "PMI_RANK"};
    const char *rank = NULL;
    for (int i = 0; i < 3 && !rank; i++)
        rank = getenv(names[i]);
    return rank;
}

int wf_launch_speaks(void)
{
    const char *rank = launch_rank();
    return !rank || !strcmp(rank, "0");
}

int wf_terminal_color(void)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM"),
               *force = getenv("CLICOLOR_FORCE");
    if (no && *no) return 0;
    if (force && *force && strcmp(force, "0")) return 1;
    if (launch_rank()) return 0;
    return isatty(STDOUT_FILENO) && term && strcmp(term, "dumb");
}

/* The first of the three that is set decides; none set says nothing against UTF-8. */
int wf_terminal_ascii(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (int i = 0; i < 3; i++) {
        const char *v = getenv(names[i]);
        if (v && *v)
            return !(strstr(v, "UTF-8") || strstr(v, "utf-8") || strstr(v, "utf8") ||
                     strstr(v, "UTF8"));
    }
    return 0;
}
