/* SPDX-License-Identifier: Apache-2.0 */
#include "base/near.h"

#include <string.h>

enum { MAX_WORD = 48 };

static int lower(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

static int min3(int a, int b, int c)
{
    int m = a < b ? a : b;
    return m < c ? m : c;
}

int wf_distance(const char *a, const char *b)
{
    int la = (int)strlen(a), lb = (int)strlen(b);
    int d[3][MAX_WORD + 1];

    if (la > MAX_WORD || lb > MAX_WORD) return la > lb ? la : lb;
    for (int j = 0; j <= lb; j++)
        d[0][j] = j;
    for (int i = 1; i <= la; i++) {
        int *cur = d[i % 3], *up = d[(i + 2) % 3], *up2 = d[(i + 1) % 3];
        cur[0] = i;
        for (int j = 1; j <= lb; j++) {
            int x = lower(a[i - 1]), y = lower(b[j - 1]);
            cur[j] = min3(up[j] + 1, cur[j - 1] + 1, up[j - 1] + (x != y));
            int swapped =
                i > 1 && j > 1 && x == lower(b[j - 2]) && lower(a[i - 2]) == y;
            if (swapped && up2[j - 2] + 1 < cur[j]) cur[j] = up2[j - 2] + 1;
        }
    }
    return d[la % 3][lb];
}

const char *wf_nearest(const char *word, int n,
                       const char *(*name)(const void *ctx, int i), const void *ctx)
{
    const char *best = NULL;
    int len = (int)strlen(word), best_d = 2 + len / 3;

    for (int i = 0; i < n; i++) {
        const char *s = name(ctx, i);
        int d = wf_distance(word, s);
        if (len >= 3 && !strncmp(word, s, (size_t)len)) d = 0;
        if (d < best_d) {
            best_d = d;
            best = s;
        }
    }
    return best;
}

static const char *in_array(const void *ctx, int i)
{
    return ((const char *const *)ctx)[i];
}

const char *wf_nearest_in(const char *word, int n, const char *const *names)
{
    return wf_nearest(word, n, in_array, names);
}
