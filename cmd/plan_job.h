/* SPDX-License-Identifier: Apache-2.0 */
/* Inside `weft report` and `weft plan`: what both are asked. */
#ifndef WF_CMD_PLAN_JOB_H
#define WF_CMD_PLAN_JOB_H
#include <weft/plan.h>

#include "cmd/options.h"

typedef struct wf_plan_job {
    const char *command;
    weft_cost_model q;
    weft_layout layout; /* as given; degrees that were not are 0 */
    weft_cost_options cost;
    const char *machine, *emit, *from, *math;
    double reserve; /* below 0: the machine's */
    int json;
    int order_given;
} wf_plan_job;

enum { WF_PLAN_JOB_ROWS = 8 };
/* Rows that both have, ending with an empty one. */
void wf_plan_job_rows(wf_plan_job *job, wf_option rows[WF_PLAN_JOB_ROWS]);
void wf_plan_job_init(wf_plan_job *job, const char *command);
/* From the words and flags to q and layout. Notes go to stderr. */
weft_status wf_plan_job_prepare(wf_plan_job *job, const wf_args *args) WEFT_MUST_CHECK;
/* Writes a layout for job->emit; what a file cannot say goes to stderr. */
weft_status wf_plan_job_emit(const wf_plan_job *job, weft_tool tool,
                             const weft_layout *l, weft_writer *out) WEFT_MUST_CHECK;
/* Dimensions of the space that flags fix. */
uint32_t wf_plan_job_fixed(const wf_args *args);
/* "tp=8,pp=4,order=tp,cp,dp,pp": onto a layout, and which dimensions that fixes. */
weft_status wf_plan_job_dims(const char *text, weft_layout *l,
                             uint32_t *fixed) WEFT_MUST_CHECK;
#endif
