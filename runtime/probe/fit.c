/* SPDX-License-Identifier: Apache-2.0 */
/* From timings to constants. Pure arithmetic. */
#include <math.h>
#include <stdlib.h>
#include <weft/run/probe.h>

#include "base/error.h"

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double weft_median(int n, double *x)
{
    qsort(x, (size_t)n, sizeof *x, ascending);
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

static weft_status check_timings(int n, int least, const weft_timing *t)
{
    if (n < least)
        return WF_FAIL(WEFT_E_INVALID, "a line through %d timing%s; %d needed", n,
                       n == 1 ? "" : "s", least);
    for (int i = 0; i < n; i++)
        if (!(t[i].seconds > 0) || !(t[i].steps > 0) || !(t[i].bytes >= 0))
            return WF_FAIL(WEFT_E_INVALID, "timing %d: %g steps and %g bytes took %g s",
                           i, t[i].steps, t[i].bytes, t[i].seconds);
    return WEFT_OK;
}

/* Sums over the timings, each divided by its seconds so that the residual is relative. */
typedef struct sums {
    double aa, ab, bb, a, b; /* of a = steps, b = bytes, right side 1 */
} sums;

static sums sums_of(int n, const weft_timing *t)
{
    sums s = {0};
    for (int i = 0; i < n; i++) {
        double a = t[i].steps / t[i].seconds, b = t[i].bytes / t[i].seconds;
        s.aa += a * a;
        s.ab += a * b;
        s.bb += b * b;
        s.a += a;
        s.b += b;
    }
    return s;
}

/* Least seconds a byte that can be told from none: see the header. */
static double least_slope(int n, const weft_timing *t)
{
    double fastest = t[0].seconds, most = 0;
    for (int i = 0; i < n; i++) {
        fastest = fmin(fastest, t[i].seconds);
        most = fmax(most, t[i].bytes);
    }
    return most > 0 ? fastest / 100 / most : 0;
}

weft_status weft_fit_alpha_beta(int n, const weft_timing *t, weft_alpha_beta *out)
{
    WF_TRY(check_timings(n, 2, t));
    sums s = sums_of(n, t);
    double det = s.aa * s.bb - s.ab * s.ab, least = least_slope(n, t);
    if (!(s.bb > 0) || !(det > 1e-12 * s.aa * s.bb))
        return WF_FAIL(WEFT_E_INVALID,
                       "%d timings of messages of one size tell latency from bandwidth "
                       "no better than one",
                       n);
    double alpha = (s.a * s.bb - s.b * s.ab) / det,
           slope = (s.b * s.aa - s.a * s.ab) / det;
    if (alpha < 0) {
        alpha = 0;
        slope = s.b / s.bb;
    } else if (slope < least) {
        slope = least;
        alpha = fmax(0, (s.a - slope * s.ab) / s.aa);
    }
    *out = (weft_alpha_beta){alpha, 1 / slope};
    return WEFT_OK;
}

weft_status weft_fit_bandwidth(int n, const weft_timing *t, double alpha_s,
                               double *bytes_per_s)
{
    WF_TRY(check_timings(n, 1, t));
    sums s = sums_of(n, t);
    if (!(s.bb > 0) || !(alpha_s >= 0))
        return WF_FAIL(
            WEFT_E_INVALID,
            "a bandwidth of messages without bytes, or after a latency of %g s",
            alpha_s);
    *bytes_per_s = 1 / fmax((s.b - alpha_s * s.ab) / s.bb, least_slope(n, t));
    return WEFT_OK;
}

weft_status weft_fit_half_k(int n, const double *k, const double *rate, double peak,
                            double *top, double *half_k)
{
    double sx = 0, sy = 0, sxx = 0, sxy = 0, best = 0;

    if (n < 2 || !(peak > 0))
        return WF_FAIL(WEFT_E_INVALID, "a curve through %d rates below a peak of %g", n,
                       peak);
    for (int i = 0; i < n; i++) {
        double y = k[i] / rate[i]; /* = half_k / top + k / top */
        if (!(rate[i] > 0) || !(k[i] > 0))
            return WF_FAIL(WEFT_E_INVALID, "rate %d: %g at an inner size of %g", i,
                           rate[i], k[i]);
        sx += k[i];
        sy += y;
        sxx += k[i] * k[i];
        sxy += k[i] * y;
        best = fmax(best, rate[i]);
    }
    double det = n * sxx - sx * sx;
    double slope = det > 0 ? (n * sxy - sx * sy) / det : 0;
    if (!(slope > 1 / peak)) slope = 1 / peak;
    double level = fmax(0, (sy - slope * sx) / n);
    if (level == 0) slope = fmax(1 / peak, sxy / sxx); /* the best line through 0 */
    *top = 1 / slope;
    *half_k = level / slope;
    return WEFT_OK;
}
