/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_CMD_TRAIN_H
#define WF_CMD_TRAIN_H
#include <stdio.h>
#include <weft/run/log.h>
#include <weft/run/verify.h>

#include "cmd/launch.h"

typedef struct wf_train_forecast wf_train_forecast; /* cmd/train_machine.h */

/* What weft train was asked to do, shared by all ranks of the process. */
typedef struct wf_train {
    wf_job job;
    weft_train_config cfg;
    const char *model, *dtype, *backend, *optimizer, *decay;
    const char *log_path, *trace_dir, *prompt, *machine;
    wf_list files;
    int64_t iters, eval_interval, eval_iters, log_interval, sample, vocab;
    int compare, dry_run, verify_steps, threads;
    double temperature;
    int64_t seed;

    int world_given;     /* ranks of the launcher; 0: this process decides */
    const char *derived; /* the degree that was derived, or NULL           */
    weft_data *data;
    weft_train_config check; /* f64 config of --verify                         */
    weft_reference *ref;
    weft_log *log;
    int stopped;   /* a signal came before all that was asked for was done           */
    double bigram; /* entropy of the text, nats per token            */
    wf_train_forecast *forecast; /* of --machine, or NULL              */
} wf_train;

/* One rank of the run; for wf_job_run(). */
weft_status wf_train_rank(weft_comm *comm, void *train);

/* train_report.c: words on stdout and stderr, by rank 0 alone */
void wf_train_banner(const wf_train *t, weft_comm *comm, weft_engine *e, double peak);
void wf_train_dry_run(const wf_train *t);
weft_status wf_train_log_start(wf_train *t, weft_comm *comm, weft_engine *e,
                               double peak);
weft_status wf_train_log_step(wf_train *t, const weft_step_result *r, double held_out,
                              double peak, int64_t memory);
/* FLOP/s of the model in this step, of all ranks together. */
double wf_train_flops_per_s(const wf_train *t, const weft_step_result *r);
void wf_train_progress(const wf_train *t, const weft_step_result *r, double peak,
                       int64_t memory, double elapsed_s);
void wf_train_held_out(const wf_train *t, int64_t steps, double loss);
void wf_train_verified(const wf_train *t, const weft_verify_report *r);
void wf_train_sample(const wf_train *t, const int32_t *tokens, int64_t n_prompt,
                     int64_t n);

/* train_compare.c: the measured timeline beside the predicted one */
int wf_train_recorded(const weft_trace *all, int *first); /* steps in it */
weft_status wf_train_compare(const weft_engine *e, const weft_trace *all);
weft_status wf_train_write_traces(const wf_train *t, const weft_engine *e,
                                  const weft_trace *all);
#endif
