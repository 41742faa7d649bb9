/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/tokens.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

static int peek(const wf_reader *in)
{
    return in->at < in->n ? (unsigned char)in->text[in->at] : -1;
}

static int is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static void skip_blanks(wf_reader *in)
{
    while (peek(in) == ' ' || peek(in) == '\t' || peek(in) == '\r')
        in->at++;
}

static weft_status fail_here(const wf_reader *in, const char *need)
{
    int c = peek(in);
    char seen[32] = "the end";
    if (c == '\n')
        strcpy(seen, "the end of the line");
    else if (c > ' ' && c < 127)
        snprintf(seen, sizeof seen, "'%c'", c);
    else if (c >= 0)
        snprintf(seen, sizeof seen, "byte 0x%02x", c);
    return WF_FAIL(WEFT_E_INVALID, "line %lld column %lld: found %s, needed %s",
                   (long long)in->line, (long long)(in->at - in->line_start + 1), seen,
                   need);
}

static weft_status read_number(wf_reader *in, const char *what, int *out)
{
    int64_t value = 0, start = in->at;
    if (!is_digit(peek(in))) return fail_here(in, what);
    for (; is_digit(peek(in)); in->at++) {
        value = value * 10 + (peek(in) - '0');
        if (value >= INT_MAX)
            return WF_FAIL(WEFT_E_INVALID, "line %lld column %lld: %s is above %d",
                           (long long)in->line, (long long)(start - in->line_start + 1),
                           what, INT_MAX - 1);
    }
    *out = (int)value;
    return WEFT_OK;
}

static weft_status read_kind(wf_reader *in, int *out)
{
    static const char letters[] = "FBIWR";
    const char *at = peek(in) > 0 ? strchr(letters, peek(in)) : NULL;
    if (!at) return fail_here(in, "one of F B I W R");
    *out = (int)(at - letters);
    in->at++;
    return WEFT_OK;
}

static int skip_word(wf_reader *in, const char *word)
{
    int64_t len = (int64_t)strlen(word);
    if (in->n - in->at < len || memcmp(in->text + in->at, word, (size_t)len)) return 0;
    in->at += len;
    return 1;
}

/* F12.1 or B3.0& */
static weft_status read_ops_token(wf_reader *in, wf_token *t)
{
    WF_TRY(read_kind(in, &t->kind));
    WF_TRY(read_number(in, "a micro-batch number", &t->micro));
    if (!skip_word(in, ".")) return fail_here(in, "'.' and the chunk");
    WF_TRY(read_number(in, "a chunk number", &t->part));
    if (skip_word(in, "&")) t->flags = WEFT_OPF_PAIR;
    return WEFT_OK;
}

/* 0F3, or one half of (0F3;7B1)OVERLAP_F_B */
static weft_status read_csv_token(wf_reader *in, wf_token *t)
{
    int first = !in->in_pair && skip_word(in, "(");
    WF_TRY(read_number(in, "a stage number", &t->part));
    WF_TRY(read_kind(in, &t->kind));
    WF_TRY(read_number(in, "a micro-batch number (communication is added by weft)",
                       &t->micro));
    if (first) {
        if (!skip_word(in, ";")) return fail_here(in, "';' between two overlapped ops");
        t->flags = WEFT_OPF_PAIR;
        in->in_pair = 1;
    } else if (in->in_pair) {
        if (!skip_word(in, ")OVERLAP_F_B")) return fail_here(in, "\")OVERLAP_F_B\"");
        in->in_pair = 0;
    }
    return WEFT_OK;
}

/* Cells of CSV end with a comma or the line, after blanks; tokens of the ops form with a
 * blank or the line. */
static weft_status end_token(wf_reader *in)
{
    int64_t end = in->at;
    skip_blanks(in);
    int c = peek(in);
    if (c < 0 || c == '\n') return WEFT_OK;
    if (!in->csv) return in->at > end ? WEFT_OK : fail_here(in, "a space");
    return skip_word(in, ",") ? WEFT_OK : fail_here(in, "a comma");
}

/* At the end of a row or of the text? Idle cells before it are passed over. */
static int at_end(wf_reader *in, wf_found *what)
{
    skip_blanks(in);
    while (in->csv && skip_word(in, ","))
        skip_blanks(in);
    if (peek(in) >= 0 && peek(in) != '\n') return 0;
    *what = peek(in) < 0 ? WF_TEXT_END : WF_ROW_END;
    if (*what == WF_ROW_END) {
        in->at++;
        in->line++;
        in->line_start = in->at;
    }
    return 1;
}

weft_status wf_reader_next(wf_reader *in, wf_token *t, wf_found *what)
{
    if (!in->in_pair && at_end(in, what)) return WEFT_OK;
    *t = (wf_token){.line = in->line, .column = in->at - in->line_start + 1};
    WF_TRY(in->csv ? read_csv_token(in, t) : read_ops_token(in, t));
    if (!in->in_pair) WF_TRY(end_token(in));
    *what = WF_OP;
    return WEFT_OK;
}

weft_status wf_reader_open(const char *text, int64_t n, wf_reader *out)
{
    *out = (wf_reader){.text = text, .n = n, .line = 1};
    int64_t i = 0;
    while (i < n &&
           (text[i] == ' ' || text[i] == '\t' || text[i] == '\r' || text[i] == '\n'))
        i++;
    if (i == n) return WF_FAIL(WEFT_E_INVALID, "the text holds no schedule");
    out->csv = is_digit((unsigned char)text[i]) || text[i] == '(' || text[i] == ',';
    return WEFT_OK;
}
