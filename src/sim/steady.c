/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When do repeated steps become steady? What a step does follows from the times that the
 * one before left behind, and it is later by d when all of those are: ops only take maxima
 * and sums. So one step that is an earlier one, all times later by the same, proves that
 * every further step is.
 */
#include <math.h>

#include "sim/record.h"

/* Is step k step k - c, later by the same everywhere? */
static int repeats(const wf_history *h, int k, int c, double *shift)
{
    const double *now = h->x + k * h->width, *then = h->x + (k - c) * h->width;
    double d = now[0] - then[0];
    for (int64_t i = 1; i < h->width; i++)
        if (!(fabs(now[i] - then[i] - d) <= 1e-9 * (fabs(now[i]) + fabs(then[i]))))
            return 0;
    *shift = d;
    return 1;
}

int wf_history_period(const wf_history *h, double *shift, int *from)
{
    int last = h->steps - 1;
    for (int c = 1; c <= last; c++) {
        double d;
        int k = last;
        if (!repeats(h, last, c, shift)) continue;
        while (k - 1 >= c && repeats(h, k - 1, c, &d))
            k--;
        *from = k - c;
        return c;
    }
    return 0;
}
