/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_PLAN_WORDS_H
#define WF_PLAN_WORDS_H
#include <stdint.h>
#include <weft/status.h>

typedef struct wf_word {
    char *text;
    int line;       /* from 1 */
    int unexpanded; /* holds a $ whose value the text does not tell */
} wf_word;

/* A command line as a shell would split it. */
typedef struct wf_words {
    int64_t n, cap;
    wf_word *word;
} wf_words;

/*
 * Blanks, line ends and unquoted ( ) ; & | part words; quotes, backslashes and comments are
 * those of POSIX sh; backslash and line end vanish. NAME=value words before any flag are
 * remembered, and $NAME or ${NAME} is replaced by a value so remembered: launch scripts
 * are read without running them.
 * @return WEFT_OK; WEFT_E_INVALID for a quote that never ends, with its line.
 */
weft_status wf_words_split(const char *text, wf_words *out) WEFT_MUST_CHECK;
void wf_words_clear(wf_words *w);
#endif
