/* SPDX-License-Identifier: Apache-2.0 */
#include "base/num.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

/* A number taken apart: value = digits * 10^exp10 * 2^exp2, digits without a point. */
typedef struct parts {
    int negative;
    const char *digits; /* first character of the mantissa  */
    int n;              /* characters of it, the point included */
    int exp10, exp2;
} parts;

typedef struct suffix {
    const char *text;
    int exp10, exp2;
} suffix;

static const suffix count_suffix[] = {
    {"k", 3, 0},   {"K", 3, 0},   {"M", 6, 0},   {"B", 9, 0},   {"G", 9, 0},
    {"T", 12, 0},  {"P", 15, 0},  {"Ki", 0, 10}, {"Mi", 0, 20}, {"Gi", 0, 30},
    {"Ti", 0, 40}, {"Pi", 0, 50}, {NULL, 0, 0}};
static const suffix byte_prefix[] = {
    {"", 0, 0},    {"k", 3, 0},   {"K", 3, 0},   {"M", 6, 0},   {"G", 9, 0},
    {"T", 12, 0},  {"P", 15, 0},  {"Ki", 0, 10}, {"Mi", 0, 20}, {"Gi", 0, 30},
    {"Ti", 0, 40}, {"Pi", 0, 50}, {NULL, 0, 0}};
static const suffix flop_prefix[] = {{"", 0, 0},   {"k", 3, 0},  {"M", 6, 0},
                                     {"G", 9, 0},  {"T", 12, 0}, {"P", 15, 0},
                                     {"E", 18, 0}, {NULL, 0, 0}};
static const suffix time_suffix[] = {
    {"s", 0, 0}, {"ms", -3, 0}, {"us", -6, 0}, {"ns", -9, 0}, {NULL, 0, 0}};

static const struct {
    const suffix *prefix;
    const char *base[3]; /* one of these ends the text */
    const char *help;
} units[] = {
    [WF_PLAIN] = {NULL, {NULL}, "a number without a unit"},
    [WF_COUNT] = {count_suffix,
                  {"", NULL},
                  "a number such as 7B, 70e9 or 4k (4000; 4Ki is 4096)"},
    [WF_BYTES] = {byte_prefix, {"B", NULL}, "bytes such as 80GiB, 24GB or 1048576"},
    [WF_BYTES_S] = {byte_prefix, {"B/s", NULL}, "bytes per second such as 450GB/s"},
    [WF_FLOPS_S] = {flop_prefix,
                    {"FLOP/s", "FLOPS", NULL},
                    "a rate such as 989TFLOP/s"},
    [WF_SECONDS] = {time_suffix, {"", NULL}, "a time such as 2ms or 0.5"},
};

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* 1 and the exponents added if `s` is a suffix of the unit (or nothing). */
static int take_suffix(const char *s, wf_unit unit, parts *p)
{
    if (!*s) return 1;
    if (!units[unit].prefix) return 0;
    for (const suffix *x = units[unit].prefix; x->text; x++) {
        size_t n = strlen(x->text);
        if (strncmp(s, x->text, n)) continue;
        for (const char *const *b = units[unit].base; *b; b++) {
            if (strcmp(s + n, *b)) continue;
            p->exp10 += x->exp10;
            p->exp2 += x->exp2;
            return 1;
        }
    }
    return 0;
}

/* [eE][+-]digits at s, if it is one: added to p; returns what follows. Exponents beyond
 * 99999 stop growing: they are out of every range anyway. */
static const char *take_exponent(const char *s, parts *p)
{
    const char *t = s + 1;
    int e = 0, negative = 0;

    if (*s != 'e' && *s != 'E') return s;
    if (*t == '+' || *t == '-') negative = *t++ == '-';
    if (!is_digit(*t)) return s; /* the E of EFLOP/s */
    for (; is_digit(*t); t++)
        if (e < 99999) e = e * 10 + (*t - '0');
    p->exp10 += negative ? -e : e;
    return t;
}

static weft_status take_apart(const char *name, const char *text, wf_unit unit,
                              parts *p)
{
    const char *s = text;
    int digits = 0, points = 0;

    *p = (parts){0};
    if (!*s) return WF_FAIL(WEFT_E_INVALID, "%s: a value is missing", name);
    if (*s == '+' || *s == '-') p->negative = *s++ == '-';
    p->digits = s;
    for (; is_digit(*s) || (*s == '.' && !points); s++) {
        points += *s == '.';
        digits += *s != '.';
    }
    p->n = (int)(s - p->digits);
    if (!digits)
        return WF_FAIL(WEFT_E_INVALID, "%s: '%.40s' is not a number; %s is needed",
                       name, text, units[unit].help);
    s = take_exponent(s, p);
    if (!take_suffix(s, unit, p))
        return WF_FAIL(WEFT_E_INVALID,
                       "%s: '%.20s' after the number in '%.40s'; %s is needed", name, s,
                       text, units[unit].help);
    return WEFT_OK;
}

/* strtod() reads the decimal point of the current locale: ask printf which one it is. */
static void locale_point(char *point)
{
    char one[16];
    snprintf(one, sizeof one, "%.1f", 1.5);
    size_t n = strlen(one) - 2;
    memcpy(point, one + 1, n);
    point[n] = 0;
}

static weft_status to_f64(const char *name, const char *text, const parts *p,
                          double *out)
{
    enum { MAX_DIGITS = 400 };
    char buf[MAX_DIGITS + 40], point[16];
    int n = 0;

    if (p->n > MAX_DIGITS)
        return WF_FAIL(WEFT_E_INVALID, "%s: %d digits are more than %d", name, p->n,
                       MAX_DIGITS);
    locale_point(point);
    for (int i = 0; i < p->n; i++) {
        if (p->digits[i] == '.')
            n += snprintf(buf + n, sizeof point, "%s", point);
        else
            buf[n++] = p->digits[i];
    }
    snprintf(buf + n, sizeof buf - (size_t)n, "e%d", p->exp10);
    double x = ldexp(strtod(buf, NULL), p->exp2);
    if (!isfinite(x))
        return WF_FAIL(WEFT_E_INVALID, "%s: %.60s is larger than any double", name,
                       text);
    *out = p->negative ? -x : x;
    return WEFT_OK;
}

weft_status wf_num_f64(const char *name, const char *text, wf_unit unit, double *out)
{
    parts p;
    const char *word = text + (*text == '+' || *text == '-');
    if (!strcmp(word, "nan") || !strcmp(word, "inf") || !strcmp(word, "NaN"))
        return WF_FAIL(WEFT_E_INVALID, "%s: %s is not finite; %s is needed", name, text,
                       units[unit].help);
    WF_TRY(take_apart(name, text, unit, &p));
    return to_f64(name, text, &p, out);
}

weft_status wf_num_f64_any(const char *name, const char *text, wf_unit unit,
                           double *out)
{
    double sign = *text == '-' ? -1.0 : 1.0;
    const char *word = text + (*text == '+' || *text == '-');
    if (!strcmp(word, "inf")) return *out = sign * (double)INFINITY, WEFT_OK;
    if (!strcmp(word, "nan") || !strcmp(word, "NaN"))
        return *out = (double)NAN, WEFT_OK;
    return wf_num_f64(name, text, unit, out);
}

/* x * b^n exactly; n < 0 divides, and a remainder is reported as 2, overflow as 1. */
static int scale(int64_t *x, int64_t b, int n)
{
    for (; n > 0 && *x; n--)
        if (wf_mul_i64(*x, b, x)) return 1;
    for (; n < 0 && *x; n++) {
        if (*x % b) return 2;
        *x /= b;
    }
    return 0;
}

weft_status wf_num_i64(const char *name, const char *text, wf_unit unit, int64_t *out)
{
    parts p;
    int64_t x = 0;
    int bad = 0, fraction = 0, zeros = 0;

    WF_TRY(take_apart(name, text, unit, &p));
    /* trailing zeros of the mantissa wait, so that 1.50000000000000000000k still fits */
    for (int i = 0; i < p.n && !bad; i++) {
        char c = p.digits[i];
        if (c == '.') {
            fraction = 1;
            continue;
        }
        zeros++;
        if (fraction) p.exp10--;
        if (c == '0') continue;
        bad = scale(&x, 10, zeros) || wf_add_i64(x, p.negative ? '0' - c : c - '0', &x);
        zeros = 0;
    }
    if (!bad) bad = scale(&x, 2, p.exp2);
    if (!bad) bad = scale(&x, 10, p.exp10 + zeros);
    if (bad == 2)
        return WF_FAIL(WEFT_E_INVALID, "%s: %.60s is not a whole number", name, text);
    if (bad)
        return WF_FAIL(WEFT_E_INVALID, "%s: %.60s does not fit 64 bits", name, text);
    *out = x;
    return WEFT_OK;
}

weft_status wf_num_bool(const char *name, const char *text, int32_t *out)
{
    static const char *const words[] = {"false", "true", "no", "yes",
                                        "off",   "on",   "0",  "1"};
    for (int i = 0; i < 8; i++)
        if (!strcmp(text, words[i])) return *out = i % 2, WEFT_OK;
    return WF_FAIL(WEFT_E_INVALID,
                   "%s: '%.40s' is not one of true, false (yes no on off 1 0)", name,
                   text);
}

wf_scale wf_scale_of(double x, double largest)
{
    static const wf_scale all[] = {{1e15, "P"}, {1e12, "T"}, {1e9, "G"},
                                   {1e6, "M"},  {1e3, "k"},  {1, ""},
                                   {1e-3, "m"}, {1e-6, "u"}, {1e-9, "n"}};
    enum { N = sizeof all / sizeof *all };
    int i = 0;

    while (i + 1 < N && all[i].unit > largest)
        i++;
    if (!(fabs(x) > 0) || !isfinite(x)) return all[i];
    while (i + 1 < N && fabs(x) < all[i].unit)
        i++;
    return all[i];
}

const char *wf_num_text(double x, char *buf)
{
    enum { SIZE = 32 };
    int n = 0, at_point = 0;

    if (isnan(x)) return strcpy(buf, "nan");
    if (isinf(x)) return strcpy(buf, x < 0 ? "-inf" : "inf");
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(buf, SIZE, "%.*g", digits, x);
        if (strtod(buf, NULL) == x) break;
    }
    for (const char *s = buf; *s; s++) { /* whatever the locale's point is, write '.' */
        int plain = is_digit(*s) || *s == '-' || *s == '+' || *s == 'e';
        if (plain || !at_point) buf[n++] = plain ? *s : '.';
        at_point = !plain;
    }
    buf[n] = 0;
    return buf;
}
