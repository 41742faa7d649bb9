/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "comm/cases.h"
#include "comm/comm_impl.h"

static weft_status sum_one(weft_comm *c, weft_group *g, weft_purpose why, double *v)
{
    weft_event ev;
    WF_TRY(weft_all_reduce(g, why, v, 1, WEFT_F64, WEFT_SUM, &ev));
    return weft_wait(c, &ev);
}

static weft_status use_first(weft_comm *sub, int n)
{
    weft_group *g;
    double v = 1;
    int me = weft_comm_rank(sub), out = me, in = -1;
    weft_event s, r;

    CLAIM(weft_comm_size(sub) == n, "%d ranks", weft_comm_size(sub));
    WF_TRY(everyone(sub, "tp", &g));
    WF_TRY(sum_one(sub, g, WEFT_FOR_NORM, &v));
    CLAIM(v == n, "the sum over the first %d is %g", n, v);
    WF_TRY(weft_recv(sub, WEFT_FOR_ACT, (me + n - 1) % n, 4, &in, sizeof in, &r));
    WF_TRY(weft_send(sub, WEFT_FOR_ACT, (me + 1) % n, 4, &out, sizeof out, &s));
    WF_TRY(weft_wait(sub, &r));
    WF_TRY(weft_wait(sub, &s));
    CLAIM(in == (me + n - 1) % n, "%d came", in);
    weft_group_destroy(g);
    return WEFT_OK;
}

/* A message of the whole lies in the mailbox while the part uses the same tag. */
weft_status case_first(weft_comm *c, void *ctx)
{
    int n = weft_comm_size(c), me = weft_comm_rank(c), out = 900 + me, in = 0;
    weft_event s, r;
    (void)ctx;
    WF_TRY(weft_send(c, WEFT_FOR_ACT, (me + 1) % n, 4, &out, sizeof out, &s));
    for (int k = n; k >= 1; k--) {
        weft_comm *sub;
        WF_TRY(weft_comm_first(c, k, &sub));
        CLAIM((sub != NULL) == (me < k), "rank %d of the first %d", me, k);
        if (!sub) continue;
        WF_TRY(use_first(sub, k));
        weft_comm_destroy(sub);
    }
    WF_TRY(weft_recv(c, WEFT_FOR_ACT, (me + n - 1) % n, 4, &in, sizeof in, &r));
    WF_TRY(weft_wait(c, &r));
    WF_TRY(weft_wait(c, &s));
    CLAIM(in == 900 + (me + n - 1) % n, "%d came", in);
    return WEFT_OK;
}

/* ---- counting ---------------------------------------------------------------------- */

static weft_status expect_count(weft_comm *c, const char *axes, weft_purpose why,
                                int64_t calls, int64_t bytes)
{
    weft_count_row rows[64];
    int n = weft_count_rows(c, rows, 64);
    for (int i = 0; i < n; i++) {
        if (strcmp(rows[i].axes, axes) || rows[i].purpose != why) continue;
        CLAIM(rows[i].calls == calls && rows[i].bytes == bytes,
              "%s %s: %lld calls, %lld bytes; %lld and %lld are right", axes,
              weft_purpose_name(why), (long long)rows[i].calls,
              (long long)rows[i].bytes, (long long)calls, (long long)bytes);
        return WEFT_OK;
    }
    CLAIM(calls == 0, "%s %s is not counted", axes, weft_purpose_name(why));
    return WEFT_OK;
}

static weft_status some_traffic(weft_comm *c, weft_group *tp, weft_group *dp)
{
    int n = weft_comm_size(c), me = weft_comm_rank(c);
    float x[64 * 7] = {0}, y[64 * 7];
    weft_event e, f;
    for (int k = 0; k < 3; k++) {
        WF_TRY(weft_all_reduce(tp, WEFT_FOR_G_MLP, x, 7, WEFT_F32, WEFT_SUM, &e));
        WF_TRY(weft_wait(c, &e));
        WF_TRY(weft_reduce_scatter(dp, WEFT_FOR_DP_GRAD, x, 7, WEFT_F32, y, &e));
        WF_TRY(weft_wait(c, &e));
        WF_TRY(weft_all_gather(dp, WEFT_FOR_LOSS, x, 5, y, &e));
        WF_TRY(weft_wait(c, &e));
        WF_TRY(weft_recv(c, WEFT_FOR_ACT, (me + n - 1) % n, k, y, 11, &e));
        WF_TRY(weft_send(c, WEFT_FOR_ACT, (me + 1) % n, k, x, 11, &f));
        WF_TRY(weft_wait(c, &e));
        WF_TRY(weft_wait(c, &f));
        WF_TRY(weft_all_reduce(NULL, WEFT_FOR_NORM, x, 7, WEFT_F32, WEFT_SUM, &e));
        WF_TRY(weft_wait(c, &e));
    }
    return WEFT_OK;
}

weft_status case_count(weft_comm *c, void *ctx)
{
    weft_group *tp, *dp;
    int n = weft_comm_size(c), many = n > 1;
    (void)ctx;
    WF_TRY(everyone(c, "tp", &tp));
    WF_TRY(everyone(c, "dp", &dp));
    weft_count_start(c);
    WF_TRY(some_traffic(c, tp, dp));
    WF_TRY(expect_count(c, "tp", WEFT_FOR_G_MLP, many * 3, many * 3 * 7 * 4));
    WF_TRY(expect_count(c, "dp", WEFT_FOR_DP_GRAD, many * 3, many * 3 * n * 7 * 4));
    WF_TRY(expect_count(c, "dp", WEFT_FOR_LOSS, many * 3, many * 3 * 5));
    WF_TRY(expect_count(c, "p2p", WEFT_FOR_ACT, 3, 33));
    WF_TRY(expect_count(c, "tp", WEFT_FOR_NORM, 0, 0));
    CLAIM(weft_count_rows(c, NULL, 0) == 1 + 3 * many, "%d rows",
          weft_count_rows(c, NULL, 0));
    weft_count_start(c);
    CLAIM(weft_count_rows(c, NULL, 0) == 0, "starting again does not zero");
    weft_group_destroy(tp);
    weft_group_destroy(dp);
    return WEFT_OK;
}

/* ---- tampering --------------------------------------------------------------------- */

weft_status case_tamper(weft_comm *c, void *ctx)
{
    weft_group *g;
    int n = weft_comm_size(c);
    double v = 3, w = 3, x = 3;
    (void)ctx;
    WF_TRY(everyone(c, "tp", &g));
    weft_tamper(c, WEFT_FOR_NORM, 1);
    WF_TRY(sum_one(c, g, WEFT_FOR_NORM, &v));
    CLAIM(v == 3, "a dropped sum is %g", v);
    weft_tamper(c, WEFT_FOR_NORM, 2);
    WF_TRY(sum_one(c, g, WEFT_FOR_NORM, &w));
    CLAIM(w == 3.0 * n * n, "a doubled sum is %g", w);
    WF_TRY(sum_one(c, g, WEFT_FOR_TIED, &x));
    CLAIM(x == 3.0 * n, "the sum of another purpose is %g", x);
    weft_tamper(c, WEFT_FOR_NORM, 0);
    weft_group_destroy(g);
    return WEFT_OK;
}

weft_status case_delay(weft_comm *c, void *ctx)
{
    weft_group *g;
    weft_event slow, quick;
    double a = 1, b = 1;
    int done = 1, n = weft_comm_size(c);
    (void)ctx;

    WF_TRY(everyone(c, "dp", &g));
    weft_tamper_delay(c, WEFT_FOR_DP_GRAD, 0.15);
    weft_tamper_jitter(c, 0.001, 7);
    WF_TRY(weft_all_reduce(g, WEFT_FOR_DP_GRAD, &a, 1, WEFT_F64, WEFT_SUM, &slow));
    WF_TRY(weft_all_reduce(g, WEFT_FOR_NORM, &b, 1, WEFT_F64, WEFT_SUM, &quick));
    WF_TRY(weft_wait(c, &quick));
    if (n > 1) WF_TRY(weft_test(c, &slow, &done));
    CLAIM(n == 1 || !done, "the delayed sum is done at once");
    WF_TRY(weft_wait(c, &slow));
    CLAIM(n == 1 || wf_now_s() - slow.started_s >= 0.1499, "the wait ended after %g s",
          wf_now_s() - slow.started_s);
    CLAIM(n == 1 || slow.done_s - slow.started_s >= 0.1499, "it took %g s",
          slow.done_s - slow.started_s);
    CLAIM(a == n && b == n, "the sums are %g and %g", a, b);
    weft_tamper_delay(c, WEFT_FOR_DP_GRAD, 0);
    weft_tamper_jitter(c, 0, 0);
    weft_group_destroy(g);
    return WEFT_OK;
}

/* ---- refusals ---------------------------------------------------------------------- */

static weft_status refuses(weft_status st, const char *word)
{
    CLAIM(st == WEFT_E_INVALID, "status %d where \"%s\" should be refused", (int)st,
          word);
    CLAIM(strstr(weft_status_message(), word), "\"%s\" does not name \"%s\"",
          weft_status_message(), word);
    return WEFT_OK;
}

weft_status case_refused(weft_comm *c, void *ctx)
{
    weft_event ev;
    weft_group *g;
    int n = weft_comm_size(c), me = weft_comm_rank(c), out[2] = {me, n},
        twice[2] = {me, me};
    int other = (me + 1) % n;
    char buf[8];
    (void)ctx;
    WF_TRY(refuses(weft_send(c, WEFT_FOR_ACT, n, 0, buf, 8, &ev), "ranks are 0 to"));
    WF_TRY(refuses(weft_recv(c, WEFT_FOR_ACT, -1, 0, buf, 8, &ev), "rank -1"));
    WF_TRY(refuses(weft_send(c, WEFT_FOR_ACT, 0, -5, buf, 8, &ev), "tag -5"));
    WF_TRY(refuses(weft_send(c, WEFT_FOR_ACT, 0, 0, buf, -8, &ev), "-8"));
    WF_TRY(
        refuses(weft_all_reduce(NULL, WEFT_FOR_NORM, buf, 4, WEFT_BF16, WEFT_SUM, &ev),
                "bf16"));
    WF_TRY(refuses(weft_group_create(c, 2, out, "tp", &g), "ranks are 0 to"));
    WF_TRY(refuses(weft_group_create(c, 2, twice, "tp", &g), "twice"));
    if (n > 1) WF_TRY(refuses(weft_group_create(c, 1, &other, "tp", &g), "not in"));
    WF_TRY(refuses(weft_group_create(c, 1, &me, "", &g), "axis text"));
    weft_comm *sub;
    WF_TRY(refuses(weft_comm_first(c, n + 1, &sub), "ranks were asked for"));
    return refuses(weft_comm_first(c, 0, &sub), "0 ranks");
}

weft_status case_spent_event(weft_comm *c, void *ctx)
{
    int me = weft_comm_rank(c), out = 5, in = 0;
    weft_event s, r, copy, none = {0};
    (void)ctx;
    WF_TRY(weft_wait(c, &none));
    WF_TRY(weft_recv(c, WEFT_FOR_ACT, me, 9, &in, sizeof in, &r));
    WF_TRY(weft_send(c, WEFT_FOR_ACT, me, 9, &out, sizeof out, &s));
    copy = r;
    WF_TRY(weft_wait(c, &r));
    WF_TRY(weft_wait(c, &s));
    WF_TRY(weft_wait(c, &r)); /* finished: nothing to do */
    return refuses(weft_wait(c, &copy), "finished");
}
