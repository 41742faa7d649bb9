/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_CMD_TRAIN_MACHINE_H
#define WF_CMD_TRAIN_MACHINE_H
#include <weft/predict.h>
#include <weft/run/probe.h>

#include "cmd/train.h"

enum { WF_KEPT_STEPS = 40 };

/* What the run is expected to take, and the steps of rank 0. */
struct wf_train_forecast {
    char name[32];
    int threads; /* of a rank, when the machine was measured */
    weft_cost cost;
    weft_memory *memory; /* [pp] */
    int n_steps;
    double step_s[WF_KEPT_STEPS]; /* the last ones */
};

/* Scratch that the matmul library takes for one micro-batch's products over the heads: it
 * is asked by running them. */
weft_status wf_train_scratch(const weft_train_config *c, double *bytes);

/* t->forecast from --machine, if given. */
weft_status wf_train_plan(wf_train *t);
void wf_train_forecast_clear(wf_train *t);
void wf_train_put_forecast(const wf_train *t);
void wf_train_time_step(wf_train *t, const weft_step_result *s);
/* Collective; rank 0 prints and logs. */
weft_status wf_train_compare_machine(wf_train *t, weft_engine *e, weft_comm *comm,
                                     weft_group *world);
#endif
