/* SPDX-License-Identifier: Apache-2.0 */
/* weft train: options, preparation, and the run on all ranks. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "cmd/train.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "cmd/commands.h"
#include "cmd/model_file.h"
#include "cmd/stdio_writer.h"
#include "cmd/train_machine.h"
#include "layout/fields.h"

static weft_backend backend_of(const char *name)
{
    if (!strcmp(name, "ref")) return WEFT_BACKEND_REF;
    if (!strcmp(name, "blas")) return WEFT_BACKEND_BLAS;
    if (!strcmp(name, "onednn")) return WEFT_BACKEND_ONEDNN;
    return WEFT_BACKEND_AUTO;
}

/* Threads of a rank: the cores this process may use, shared by the ranks on it. */
static int threads_of(const wf_train *t)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN),
         ranks = weft_layout_world(&t->cfg.layout);

    if (t->threads > 0) return t->threads;
    return cores / ranks > 1 ? (int)(cores / ranks) : 1;
}

static weft_status read_data(wf_train *t)
{
    const weft_layout *l = &t->cfg.layout;

    if (t->files.n == 0)
        return WF_FAIL(WEFT_E_INVALID,
                       "--data FILE is needed: text, or a .bin of tokens");
    WF_TRY(weft_data_read(t->files.n, t->files.item, l->seq, t->cfg.arch.vocab,
                          t->cfg.seed, &t->data));
    return weft_data_bigram_entropy(t->data, &t->bigram);
}

static weft_status check_numbers(const wf_train *t)
{
    const weft_train_config *c = &t->cfg;

    WF_TRY(weft_lr_check(&c->lr));
    if (c->beta1 >= 1 || c->beta2 >= 1)
        return WF_FAIL(WEFT_E_INVALID,
                       "--adam-beta1 %g and --adam-beta2 %g must be below 1", c->beta1,
                       c->beta2);
    if (t->sample > 0 && t->cfg.arch.vocab < 256)
        return WF_FAIL(WEFT_E_INVALID,
                       "--sample continues bytes: --vocab 256 or more is needed, "
                       "found %lld",
                       (long long)t->cfg.arch.vocab);
    return WEFT_OK;
}

/* OpenBLAS takes a work area for each thread that calls it, and looks for one for ever where
 * the address space is limited and has none left: what the ranks of this process take must
 * fit together. A rank: its stack, malloc's arena, its tensors. */
static weft_status check_space(const wf_train *t)
{
    enum { AREA_MIB = 128, RANK_MIB = 128 };
    int ranks = t->world_given ? 1 : weft_layout_world(&t->cfg.layout);
    int64_t mib = (int64_t)ranks * (t->cfg.threads * AREA_MIB + RANK_MIB);
    struct rlimit space;

    if (t->cfg.backend == WEFT_BACKEND_REF || getrlimit(RLIMIT_AS, &space) ||
        space.rlim_cur == RLIM_INFINITY)
        return WEFT_OK;
    void *room = mmap(NULL, (size_t)mib << 20, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room != MAP_FAILED) {
        munmap(room, (size_t)mib << 20);
        return WEFT_OK;
    }
    return WF_FAIL(
        WEFT_E_NOMEM,
        "out of memory: ulimit -v leaves less than %lld MiB of address space: "
        "%d for OpenBLAS in each thread and %d for the rest of each of %d "
        "rank%s; a higher limit or --backend ref is needed",
        (long long)mib, AREA_MIB, RANK_MIB, ranks, ranks == 1 ? "" : "s");
}

/* Bytes of all ranks on this machine against what it has. */
static weft_status check_memory(const wf_train *t)
{
    double need = 0,
           have = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGE_SIZE);
    int world = weft_layout_world(&t->cfg.layout);
    char fewer[40] = "";

    if (t->world_given) return WEFT_OK; /* the ranks may be on several machines */
    for (int r = 0; r < world; r++) {
        weft_rank_bytes b;
        weft_train_rank_bytes(&t->cfg, r, &b);
        need += (double)(b.params + b.grads + b.optimizer);
    }
    if (need <= have) return WEFT_OK;
    int fits = (int)(have / need * t->cfg.layout.dp);
    if (fits > 0) snprintf(fewer, sizeof fewer, "at most --dp %d, ", fits);
    return WF_FAIL(WEFT_E_INVALID,
                   "%d rank%s need%s %.1f GB for parameters, gradients and optimizer, "
                   "this machine "
                   "has %.1f GB: %sa smaller model, or more machines (mpirun)",
                   world, world == 1 ? "" : "s", world == 1 ? "s" : "", need / 1e9,
                   have / 1e9, fewer);
}

static weft_status set_vocab(wf_train *t)
{
    char change[40];

    if (!t->vocab) return WEFT_OK;
    snprintf(change, sizeof change, "vocab=%lld", (long long)t->vocab);
    return weft_arch_change(&t->cfg.arch, change);
}

static weft_status resolve(wf_train *t)
{
    weft_train_config *c = &t->cfg;
    weft_layout *l = &c->layout;

    WF_TRY(wf_model_read_trained(t->model, &c->arch));
    WF_TRY(set_vocab(t));
    WF_TRY(weft_dtype_parse(t->dtype, &c->dtype));
    WF_TRY(weft_decay_parse(t->decay, &c->lr.style));
    if (!l->seq) l->seq = c->arch.positions;
    WF_TRY(weft_layout_resolve(l, t->world_given, &t->derived));
    if (!l->global_batch) l->global_batch = l->micro_batch * l->dp * 4 * l->pp;
    WF_TRY(weft_layout_check(l, &c->arch));
    WF_TRY(weft_train_check(c));
    weft_layout_settle_stages(l, &c->arch);
    if (c->lr.decay_iters == 0) c->lr.decay_iters = t->iters > 0 ? t->iters : 1;
    c->backend = backend_of(t->backend);
    c->optimizer = !strcmp(t->optimizer, "sgd") ? WEFT_SGD : WEFT_ADAMW;
    c->seed = (uint64_t)t->seed;
    c->threads = threads_of(t);
    return check_numbers(t);
}

/* Before anything is read or worked out. They are made and opened, which may replace what
 * was there, when all else is ready. */
static weft_status check_outputs(const wf_train *t)
{
    int why = t->trace_dir ? wf_out_folder_refused(t->trace_dir) : 0;

    if (why)
        return WF_FAIL(WEFT_E_IO, "--trace %s: cannot write there: %s", t->trace_dir,
                       strerror(why));
    if (!t->log_path) return WEFT_OK;
    if (access(t->log_path, F_OK))
        why = wf_out_refused(t->log_path);
    else
        why = access(t->log_path, W_OK) ? errno : 0;
    return why ? WF_FAIL(WEFT_E_IO, "--log %s: cannot open: %s", t->log_path,
                         strerror(why))
               : WEFT_OK;
}

/* What a run leaves behind is tried before the first step, not after the last. */
static weft_status check_trace_dir(const wf_train *t)
{
    struct stat at;
    int made = !mkdir(t->trace_dir, 0777) || errno == EEXIST;

    if (made && !stat(t->trace_dir, &at) && !S_ISDIR(at.st_mode)) {
        errno = ENOTDIR;
        made = 0;
    }
    if (made && !access(t->trace_dir, W_OK | X_OK)) return WEFT_OK;
    return WF_FAIL(WEFT_E_IO, "--trace %s: cannot write there: %s", t->trace_dir,
                   strerror(errno));
}

/* The log replaces what its file held. */
static weft_status check_log_file(const wf_train *t)
{
    struct stat log, data;

    if (stat(t->log_path, &log)) return WEFT_OK;
    for (int i = 0; i < t->files.n; i++)
        if (!stat(t->files.item[i], &data) && data.st_dev == log.st_dev &&
            data.st_ino == log.st_ino)
            return WF_FAIL(WEFT_E_INVALID,
                           "--log %s is the file of --data %s and would replace it",
                           t->log_path, t->files.item[i]);
    return WEFT_OK;
}

static weft_status open_outputs(wf_train *t)
{
    if (t->trace_dir) WF_TRY(check_trace_dir(t));
    if (!t->log_path) return WEFT_OK;
    WF_TRY(check_log_file(t));
    return weft_log_open(t->log_path, &t->log);
}

/* The trace keeps the last steps that ran, whenever a signal ends the run: one half predicts
 * the other. */
enum { TRACE_STEPS = 40 };

static weft_status plan_trace(wf_train *t)
{
    t->cfg.trace = t->compare || t->trace_dir;
    t->cfg.trace_last = TRACE_STEPS;
    if (!t->cfg.trace || t->iters >= 2) return WEFT_OK;
    return WF_FAIL(WEFT_E_INVALID,
                   "%s: --train-iters %lld: at least 2 are needed, one to predict the "
                   "other from",
                   t->compare ? "--compare" : "--trace", (long long)t->iters);
}

static weft_status prepare(wf_train *t)
{
    if (!t->dry_run && wf_job_speaks(&t->job)) WF_TRY(check_outputs(t));
    WF_TRY(resolve(t));
    WF_TRY(weft_fault_check(weft_layout_world(&t->cfg.layout),
                            t->iters > t->verify_steps ? t->iters : t->verify_steps));
    WF_TRY(plan_trace(t));
    WF_TRY(wf_train_plan(t));
    if (t->dry_run) return WEFT_OK;
    WF_TRY(check_memory(t));
    WF_TRY(check_space(t));
    WF_TRY(read_data(t));
    if (t->verify_steps > 0) {
        t->check = t->cfg;
        t->check.dtype = WEFT_F64;
        t->check.optimizer = WEFT_SGD;
        t->check.trace = 0;
        t->check.lr = (weft_lr){.lr = 0.1, .min_lr = 0.1, .style = WEFT_DECAY_CONSTANT};
        WF_TRY(weft_reference_create(&t->check, t->data, t->verify_steps, &t->ref));
    }
    return wf_job_speaks(&t->job) ? open_outputs(t) : WEFT_OK;
}

static int finish(wf_train *t, int rc)
{
    if (t->log && weft_log_close(t->log) != WEFT_OK && rc == WF_EXIT_OK) {
        wf_cmd_fail("train", WEFT_E_IO);
        rc = WF_EXIT_FAULT; /* it could be opened */
    }
    weft_reference_destroy(t->ref);
    weft_data_destroy(t->data);
    wf_train_forecast_clear(t);
    return rc;
}

static int run_train(wf_train *t)
{
    int rc = 0;

    if (wf_job_open(&t->job, &t->world_given, &rc)) return rc;
    if (!wf_job_agree(&t->job, prepare(t), &rc)) {
        if (t->dry_run) {
            if (wf_job_speaks(&t->job)) {
                wf_train_dry_run(t);
                wf_train_put_forecast(t);
            }
        } else {
            wf_catch_signals(&t->job);
            rc = wf_job_run(&t->job, weft_layout_world(&t->cfg.layout), wf_train_rank,
                            t);
            if (rc == WF_EXIT_OK && t->stopped) rc = WF_EXIT_FAULT;
        }
    }
    rc = finish(t, rc);
    wf_job_close(&t->job);
    return rc;
}

/* The tables of flags. They point into t, which outlives them. */
typedef struct tables {
    wf_option run[24], optim[20], job[WF_JOB_ROWS + 1];
} tables;

static void run_rows(wf_train *t, wf_option *rows)
{
    const wf_option all[] = {
        {"model", .type = WF_OPT_TEXT, .out = &t->model, .arg = "MODEL",
         .help = "preset, config.json or dimensions: "
                 "layers=4,hidden=128,heads=4,vocab=256,positions=128"},
        {"data", .type = WF_OPT_LIST, .out = &t->files, .arg = "FILE",
         .alias = "data-path",
         .help = "text (bytes are tokens) or .bin token files of llm.c or nanoGPT; may "
                 "repeat"},
        {"vocab", .type = WF_OPT_COUNT, .out = &t->vocab, .arg = "N", .min = 0,
         .max = INT32_MAX, .alias = "vocab-size",
         .help =
             "size of the vocabulary: more than the largest token of .bin files, 256 "
             "or more for text; 0: the model's"},
        {"train-iters", .type = WF_OPT_COUNT, .out = &t->iters, .arg = "N", .min = 0,
         .max = 1e12, .unit = WF_COUNT, .help = "optimizer steps"},
        {"eval-interval", .type = WF_OPT_COUNT, .out = &t->eval_interval, .arg = "N",
         .min = 0, .max = 1e12,
         .help = "steps between evaluations on the held-out part; 0: at the end only"},
        {"eval-iters", .type = WF_OPT_COUNT, .out = &t->eval_iters, .arg = "N",
         .min = 0, .max = 1e9, .help = "global batches of one evaluation; 0: none"},
        {"log-interval", .type = WF_OPT_COUNT, .out = &t->log_interval, .arg = "N",
         .min = 0, .max = 1e12, .help = "steps between progress lines"},
        {"log", .type = WF_OPT_TEXT, .out = &t->log_path, .arg = "FILE.jsonl",
         .help = "one JSON object a step"},
        {"trace", .type = WF_OPT_TEXT, .out = &t->trace_dir, .arg = "DIR",
         .help = "write the last steps' timelines here, measured and predicted"},
        {"compare", .type = WF_OPT_FLAG, .out = &t->compare,
         .help = "show the measured timeline beside the predicted one"},
        {"machine", .type = WF_OPT_TEXT, .out = &t->machine, .arg = "MACHINE",
         .help = "predict step time and memory on it, a file of weft machine measure; "
                 "--compare puts what came of it beside"},
        {"verify", .type = WF_OPT_INT, .out = &t->verify_steps, .arg = "N", .min = 0,
         .max = 1000,
         .help = "first prove N f64 steps on this data equal to the unsplit run"},
        {"sample", .type = WF_OPT_COUNT, .out = &t->sample, .arg = "N", .min = 0,
         .max = 1e6, .help = "sample N tokens at the end"},
        {"prompt", .type = WF_OPT_TEXT, .out = &t->prompt, .arg = "TEXT",
         .help = "what the sample continues"},
        {"temperature", .type = WF_OPT_NUMBER, .out = &t->temperature, .arg = "X",
         .min = 0, .max = 100, .help = "of the sample; 0: most likely token"},
        {"dtype", .type = WF_OPT_CHOICE, .out = &t->dtype, .choices = "f64 f32 bf16",
         .help = "tensor type; master weights and gradients are at least f32"},
        {"backend", .type = WF_OPT_CHOICE, .out = &t->backend,
         .choices = "auto ref blas onednn", .help = "kernels"},
        {"threads", .type = WF_OPT_INT, .out = &t->threads, .arg = "N", .min = 0,
         .max = 1024, .help = "of one rank; 0: cores / ranks"},
        {"seed", .type = WF_OPT_COUNT, .out = &t->seed, .arg = "N",
         .help = "of model, data order and sample"},
        {"memory-limit", .type = WF_OPT_COUNT, .out = &t->cfg.memory_limit_bytes,
         .arg = "BYTES", .min = 0, .max = 1e18, .unit = WF_BYTES,
         .help = "of one rank; 0: none"},
        {"dry-run", .type = WF_OPT_FLAG, .out = &t->dry_run,
         .help = "print rank table, parameters and bytes per rank, then stop"},
        {0}};
    memcpy(rows, all, sizeof all);
}

static void optim_rows(wf_train *t, wf_option *rows)
{
    weft_train_config *c = &t->cfg;
    const wf_option all[] = {
        {"optimizer", .type = WF_OPT_CHOICE, .out = &t->optimizer,
         .choices = "adamw sgd", .help = "update rule"},
        {"lr", .type = WF_OPT_NUMBER, .out = &c->lr.lr, .arg = "X",
         .help = "peak learning rate"},
        {"min-lr", .type = WF_OPT_NUMBER, .out = &c->lr.min_lr, .arg = "X",
         .help = "rate at the end of the decay"},
        {"lr-warmup-iters", .type = WF_OPT_COUNT, .out = &c->lr.warmup_iters,
         .arg = "N", .help = "linear warm-up"},
        {"lr-decay-iters", .type = WF_OPT_COUNT, .out = &c->lr.decay_iters, .arg = "N",
         .help = "where the decay ends; 0: at the last step"},
        {"lr-decay-style", .type = WF_OPT_CHOICE, .out = &t->decay,
         .choices = "constant linear cosine", .help = "decay"},
        {"weight-decay", .type = WF_OPT_NUMBER, .out = &c->weight_decay, .arg = "X",
         .min = 0, .max = 1e3, .help = "of matrices (AdamW, decoupled)"},
        {"adam-beta1", .type = WF_OPT_NUMBER, .out = &c->beta1, .arg = "X", .min = 0,
         .max = 1, .help = "first moment"},
        {"adam-beta2", .type = WF_OPT_NUMBER, .out = &c->beta2, .arg = "X", .min = 0,
         .max = 1, .help = "second moment"},
        {"adam-eps", .type = WF_OPT_NUMBER, .out = &c->eps, .arg = "X", .min = 1e-300,
         .max = 1, .help = "added to the root"},
        {"clip-grad", .type = WF_OPT_NUMBER, .out = &c->clip_grad, .arg = "X", .min = 0,
         .max = 1e12, .help = "global gradient norm; 0: none"},
        {"ddp-bucket-size", .type = WF_OPT_COUNT, .out = &c->bucket_bytes,
         .arg = "BYTES", .min = 1, .max = 1e12, .unit = WF_BYTES,
         .help = "gradient bucket of the DP reduction"},
        {0}};
    memcpy(rows, all, sizeof all);
}

static void defaults(wf_train *t)
{
    *t = (wf_train){.model = "layers=4,hidden=128,heads=4,vocab=256,positions=128",
                    .dtype = "f32",
                    .backend = "auto",
                    .optimizer = "adamw",
                    .decay = "cosine",
                    .prompt = "The ",
                    .iters = 100,
                    .eval_iters = 4,
                    .log_interval = 10,
                    .temperature = 0.8,
                    .seed = 1234};
    weft_train_defaults(&t->cfg);
    t->job.command = "train";
}

int wf_cmd_train(int argc, char **argv)
{
    static wf_train t; /* outlives a rank thread that hangs */
    static tables rows;
    wf_args args;
    int rc;

    defaults(&t);
    run_rows(&t, rows.run);
    optim_rows(&t, rows.optim);
    wf_job_options(&t.job, rows.job);
    const wf_command_line line = {
        .command = "train",
        .usage = "--data FILE [--tp T --pp P --dp D ...]",
        .about =
            "Trains a GPT-2-shaped model split over tensor, pipeline and data parallel "
            "ranks: threads of\nthis process, or the processes of mpirun or srun. A "
            "degree "
            "that is not given is\n1, or follows from the number of processes; "
            "--global-batch is then 4 micro-batches a stage\nof each replica, and "
            "--seq all "
            "positions of the model.",
        .examples = "  weft train --data notes.txt --tp 2 --pp 2 --dp 2 --compare\n"
                    "  mpirun -n 8 weft train --data notes.txt --tp 2 --pp 2\n"
                    "  weft train --model gpt2 --pp 4 --global-batch 64 --dry-run\n",
        .later = "recompute save load cp-comm-type",
        .layout = 1,
        .group = {{"Run", .row = rows.run},
                  {"Optimizer", .row = rows.optim},
                  {"Job", .row = rows.job},
                  {"Layout", .table = wf_layout_table(), .object = &t.cfg.layout}}};
    if (wf_args_parse(&line, argc, argv, &args, &rc)) return rc;
    for (int i = 0; i < args.n && !rc; i++)
        rc = wf_cmd_usage("train", "unexpected word \"%s\"; text files go after --data",
                          args.word[i]);
    if (!args.n) rc = run_train(&t);
    wf_args_clear(&args);
    return rc;
}
