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

int wf_terminal_color(void)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    if (no && *no) return 0;
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
