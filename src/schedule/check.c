/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/check.h"

#include "base/alloc.h"
#include "base/error.h"
#include "schedule/walk.h"

enum { DEFAULT_OUTSTANDING = 2 };

static weft_status run_rules(const weft_schedule *s, int outstanding,
                             weft_schedule_report *report)
{
    wf_link *link;
    WF_TRY(wf_links(s, &link));
    weft_status st = wf_check_lists(s, link, report);
    if (st == WEFT_OK)
        st = s->lowered ? wf_check_rendezvous(s, link, outstanding)
                        : wf_walk(s, link, 0, NULL, NULL);
    wf_free(link);
    return st;
}

weft_status weft_schedule_check(const weft_schedule *s, int outstanding,
                                weft_schedule_report *report)
{
    weft_schedule_report found = {.n_ops = 0};
    if (outstanding < 0)
        return WF_FAIL(WEFT_E_INVALID,
                       "%d sends in flight per peer, at least 1 is needed",
                       outstanding);
    WF_TRY(wf_shape_check(s));
    found.n_ops = s->first[s->p];
    weft_status st = WF_ALLOC(s->p, &found.peak_in_flight);
    if (st == WEFT_OK) st = WF_ALLOC(s->p, &found.peak_in_flight_w);
    if (st == WEFT_OK)
        st = run_rules(s, outstanding ? outstanding : DEFAULT_OUTSTANDING, &found);
    if (st == WEFT_OK && report)
        *report = found;
    else
        weft_schedule_report_clear(&found);
    return st;
}

void weft_schedule_report_clear(weft_schedule_report *r)
{
    wf_free(r->peak_in_flight);
    wf_free(r->peak_in_flight_w);
    *r = (weft_schedule_report){.n_ops = 0};
}
