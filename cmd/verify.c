/* SPDX-License-Identifier: Apache-2.0 */
/* weft verify: a split run against the unsplit one. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <weft/run/verify.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "cmd/commands.h"
#include "cmd/launch.h"
#include "cmd/model_file.h"
#include "cmd/stdio_writer.h"
#include "layout/fields.h"

enum { MAX_MODELS = 2, MAX_BATCH = 4096 };

/* The two models that --all-layouts walks: many layers and heads; few, and an odd
 * vocabulary. Small, since equality does not depend on size. */
static const char *const all_models[MAX_MODELS] = {
    "layers=24,hidden=24,heads=24,ffn=48,vocab=40,positions=4",
    "layers=6,hidden=12,heads=6,vocab=53,positions=4"};

typedef struct verify {
    wf_job job;
    weft_layout layout;
    const char *model, *dtype, *backend, *kinds;
    int all, max_micro, covering, steps, exact, json, quiet, ignore_every;
    double jitter_s, tolerance, clip, lr;
    int64_t seed;
    wf_option job_rows[WF_JOB_ROWS + 1];
} verify;

/* One case under way. */
typedef struct run {
    const verify *v;
    weft_train_config cfg;
    const weft_data *data;
    const weft_reference *ref;
    int tied; /* the model of a walk; asynchronous kinds take it untied */
    weft_verify_report report; /* of rank 0 */
} run;

typedef struct tally {
    int cases, equal;
    double worst;
    char worst_at[160];
    double saturated, largest; /* bit-exact mode */
} tally;

static weft_status on_rank(weft_comm *comm, void *ctx)
{
    run *r = ctx;
    weft_verify_report report;

    if (r->v->jitter_s > 0)
        weft_tamper_jitter(comm, r->v->jitter_s, (uint64_t)weft_comm_rank(comm) + 1);
    WF_TRY(
        weft_verify_layout(comm, &r->cfg, r->data, r->ref, r->v->tolerance, &report));
    if (weft_comm_rank(comm) == 0)
        r->report = report;
    else
        weft_verify_report_clear(&report);
    return WEFT_OK;
}

static weft_status base_config(const verify *v, const weft_arch *arch,
                               weft_train_config *out)
{
    weft_train_config c;

    weft_train_defaults(&c);
    c.arch = *arch;
    c.optimizer = WEFT_SGD; /* Adam hides a gradient that is off by a factor */
    c.lr = (weft_lr){.lr = v->lr, .min_lr = v->lr, .style = WEFT_DECAY_CONSTANT};
    c.clip_grad = v->clip;
    c.seed = (uint64_t)v->seed;
    c.random_all = 1;
    c.bucket_bytes = 4096; /* several buckets even in a small model */
    c.exact = v->exact ? 4 : 0;
    WF_TRY(weft_dtype_parse(v->dtype, &c.dtype));
    if (!strcmp(v->backend, "ref")) c.backend = WEFT_BACKEND_REF;
    *out = c;
    return WEFT_OK;
}

static void print_rows(const weft_verify_report *r)
{
    printf("%-28s %-3s %12s %12s %12s %12s\n", "tensor", "", "grad diff", "max|grad|",
           "weight diff", "max|weight|");
    for (int i = 0; i < r->n_rows; i++) {
        const weft_verify_row *w = &r->row[i];
        printf("%-28s %-3s %12.3e %12.3e %12.3e %12.3e%s\n", w->tensor, w->segment,
               w->grad_diff, w->grad_ref, w->weight_diff, w->weight_ref,
               w->ok ? "" : "  <-- differs");
    }
    printf("%-32s %12.3e %12.3e\n", "loss", r->loss_diff, r->loss_ref);
    printf("%-32s %12.3e %12.3e\n", "gradient norm", r->norm_diff, r->norm_ref);
}

static void put_report(wf_json *j, const weft_verify_report *r)
{
    wf_json_put_bool(j, "equal", r->equal);
    wf_json_put_f64(j, "worst", r->worst);
    wf_json_put_string(j, "worst_at", r->worst_at);
    wf_json_put_f64(j, "loss_diff", r->loss_diff);
    wf_json_put_f64(j, "grad_norm_diff", r->norm_diff);
    wf_json_key(j, "tensors");
    wf_json_array(j);
    for (int i = 0; i < r->n_rows; i++) {
        const weft_verify_row *w = &r->row[i];
        wf_json_object(j);
        wf_json_put_string(j, "tensor", w->tensor);
        wf_json_put_string(j, "segment", w->segment);
        wf_json_put_f64(j, "grad_diff", w->grad_diff);
        wf_json_put_f64(j, "grad_max", w->grad_ref);
        wf_json_put_f64(j, "weight_diff", w->weight_diff);
        wf_json_put_f64(j, "weight_max", w->weight_ref);
        wf_json_put_bool(j, "equal", w->ok);
        wf_json_end_object(j);
    }
    wf_json_end_array(j);
}

static void print_one(const run *r)
{
    weft_writer out = wf_stdout_writer();

    if (r->v->json) {
        wf_json j = wf_json_begin(&out);
        wf_json_object(&j);
        wf_json_key(&j, "layout");
        weft_layout_write_json(&r->cfg.layout, &out);
        j.after_key = 0; /* the layout was its value */
        put_report(&j, &r->report);
        wf_json_end_object(&j);
        weft_print(&out, "\n");
        return;
    }
    weft_layout_write_text(&r->cfg.layout, &out);
    printf(": %s the unsplit run; largest difference %.3g of what is allowed%s%s\n\n",
           r->report.equal ? "equal to" : "DIFFERS from", r->report.worst,
           *r->report.worst_at ? ", at " : "", r->report.worst_at);
    print_rows(&r->report);
}

/* Unsplit runs by global batch, made when first needed; the last one that serves the
 * layouts of its own delays only. */
typedef struct references {
    weft_reference *of[MAX_BATCH + 1], *delayed;
} references;

static int is_asynchronous(const weft_layout *l)
{
    return weft_schedule_kind_asynchronous(weft_schedule_kind_find(l->schedule));
}

static weft_status reference_for(references *all, const weft_train_config *cfg,
                                 const weft_data *data, int steps, weft_reference **out)
{
    int64_t g = cfg->layout.global_batch;

    if (g > MAX_BATCH)
        return WF_FAIL(WEFT_E_INVALID, "--global-batch %lld: verify takes at most %d",
                       (long long)g, MAX_BATCH);
    weft_reference **slot = is_asynchronous(&cfg->layout) ? &all->delayed : &all->of[g];
    if (*slot && weft_reference_check(*slot, &cfg->layout) != WEFT_OK) {
        weft_reference_destroy(*slot);
        *slot = NULL;
    }
    if (!*slot) WF_TRY(weft_reference_create(cfg, data, steps, slot));
    *out = *slot;
    return WEFT_OK;
}

static void references_clear(references *all)
{
    for (int i = 0; i <= MAX_BATCH; i++)
        weft_reference_destroy(all->of[i]);
    weft_reference_destroy(all->delayed);
}

static void count_case(const run *r, const char *model, tally *t)
{
    weft_text text = {0};
    weft_writer out = weft_text_writer(&text);
    double saturated, largest;

    weft_layout_write_text(&r->cfg.layout, &out);
    t->cases++;
    t->equal += r->report.equal;
    if (!r->report.equal)
        fprintf(stderr, "DIFFERS  %s  %s: %.3g of what is allowed, at %s\n", model,
                text.s, r->report.worst, r->report.worst_at);
    if (r->report.worst >= t->worst) {
        t->worst = r->report.worst;
        snprintf(t->worst_at, sizeof t->worst_at, "%s, %s", text.s, r->report.worst_at);
    }
    weft_reference_exactness(r->ref, &saturated, &largest);
    t->saturated = fmax(t->saturated, saturated);
    t->largest = fmax(t->largest, largest);
    weft_text_clear(&text);
}

/* Run one case; 0, or the exit status of a failure. */
static int run_case(verify *v, run *r, references *refs, const weft_verify_case *c)
{
    weft_reference *ref;

    r->cfg.layout = c->layout;
    r->cfg.arch.tied = r->tied && !is_asynchronous(&c->layout);
    weft_status st = reference_for(refs, &r->cfg, r->data, v->steps, &ref);
    if (st != WEFT_OK) return wf_cmd_fail("verify", st);
    r->ref = ref;
    return wf_job_run(&v->job, c->world, on_rank, r);
}

static int run_cases(verify *v, run *r, const char *model,
                     const weft_verify_case *cases, int n, tally *t)
{
    references *refs = NULL;
    int rc = 0;

    if (wf_alloc(1, sizeof *refs, (void **)&refs) != WEFT_OK)
        return wf_cmd_fail("verify", WEFT_E_NOMEM);
    for (int i = 0; i < n && !rc; i++) {
        rc = run_case(v, r, refs, &cases[i]);
        if (rc || !wf_job_speaks(&v->job)) continue;
        count_case(r, model, t);
        weft_verify_report_clear(&r->report);
        if (!v->quiet && ((i + 1) % 100 == 0 || i + 1 == n))
            fprintf(stderr, "weft verify: %d of %d layouts of %s\n", i + 1, n, model);
    }
    references_clear(refs);
    wf_free(refs);
    return rc;
}

/* Before anything runs: what the layouts alone do not tell. */
static weft_status can_train(run *r, const weft_verify_case *cases, int n)
{
    for (int i = 0; i < n; i++) {
        weft_train_config c = r->cfg;
        c.layout = cases[i].layout;
        c.arch.tied = 0;
        WF_TRY(weft_train_check(&c));
    }
    return WEFT_OK;
}

static int walk_model(verify *v, const char *model, tally *t)
{
    weft_arch arch;
    weft_verify_case *cases = NULL;
    weft_data *data = NULL;
    run r = {.v = v};
    int n = 0, rc;

    weft_status st = wf_model_read_trained(model, &arch);
    if (st == WEFT_OK) st = base_config(v, &arch, &r.cfg);
    if (st == WEFT_OK)
        st = weft_data_random(arch.vocab, arch.positions, 600, v->ignore_every,
                              (uint64_t)v->seed, &data);
    if (st == WEFT_OK)
        st = weft_verify_cases_of(v->kinds, &arch, arch.positions, v->all, v->max_micro,
                                  v->covering, &cases, &n);
    r.data = data;
    r.tied = r.cfg.arch.tied;
    if (st == WEFT_OK) st = can_train(&r, cases, n);
    rc = st == WEFT_OK ? run_cases(v, &r, model, cases, n, t)
                       : wf_cmd_fail("verify", st);
    weft_verify_cases_free(cases);
    weft_data_destroy(data);
    return rc;
}

static void print_tally(const verify *v, const tally *t)
{
    if (v->json) {
        weft_writer out = wf_stdout_writer();
        wf_json j = wf_json_begin(&out);
        wf_json_object(&j);
        wf_json_put_i64(&j, "cases", t->cases);
        wf_json_put_i64(&j, "equal", t->equal);
        wf_json_put_f64(&j, "worst", t->worst);
        wf_json_end_object(&j);
        weft_print(&out, "\n");
        return;
    }
    printf("%d of %d layouts equal the unsplit run: loss, every gradient, every "
           "weight, %d step%s, "
           "%s%s\n",
           t->equal, t->cases, v->steps, v->steps == 1 ? "" : "s", v->dtype,
           v->exact ? ", to the bit" : "");
    if (v->exact)
        printf("bit-exact mode: largest sum %.4g (2^53 is %.4g), %.1f %% of the "
               "clamped values "
               "saturate\n",
               t->largest, ldexp(1, 53), 100 * t->saturated);
    else
        printf("largest difference: %.3g of what is allowed (%s)\n", t->worst,
               t->worst_at);
}

static int verify_all(verify *v, int world)
{
    tally t = {0};
    int rc = 0;

    weft_status st = weft_fault_check(v->all, v->steps);
    if (st != WEFT_OK) return wf_cmd_fail("verify", st);
    if (world && v->all > world)
        return wf_cmd_usage("verify",
                            "--all-layouts %d needs %d ranks, the launcher started %d",
                            v->all, v->all, world);
    if (v->model)
        rc = walk_model(v, v->model, &t);
    else
        for (int i = 0; i < MAX_MODELS && !rc; i++)
            rc = walk_model(v, all_models[i], &t);
    if (rc) return rc;
    if (!wf_job_speaks(&v->job)) return WF_EXIT_OK;
    print_tally(v, &t);
    return t.equal == t.cases ? WF_EXIT_OK : WF_EXIT_NO;
}

static weft_status prepare_one(verify *v, int world, run *r, weft_data **data)
{
    weft_arch arch;
    weft_layout *l = &v->layout;

    WF_TRY(wf_model_read_trained(v->model ? v->model : "gpt2-tiny", &arch));
    WF_TRY(base_config(v, &arch, &r->cfg));
    if (!l->seq) l->seq = arch.positions < 32 ? arch.positions : 32;
    WF_TRY(weft_layout_resolve(l, world, NULL));
    if (!l->global_batch) l->global_batch = l->micro_batch * l->dp * 2 * l->pp;
    WF_TRY(weft_layout_check(l, &arch));
    WF_TRY(weft_fault_check(weft_layout_world(l), v->steps));
    weft_layout_settle_stages(l, &arch);
    r->cfg.layout = *l;
    WF_TRY(weft_train_check(&r->cfg));
    WF_TRY(weft_data_random(arch.vocab, l->seq, l->global_batch * v->steps,
                            v->ignore_every, (uint64_t)v->seed, data));
    r->data = *data;
    return WEFT_OK;
}

static int verify_one(verify *v, int world)
{
    run r = {.v = v};
    weft_data *data = NULL;
    weft_reference *ref = NULL;
    int rc = 0;

    weft_status st = prepare_one(v, world, &r, &data);
    if (st == WEFT_OK) st = weft_reference_create(&r.cfg, data, v->steps, &ref);
    r.ref = ref;
    if (!wf_job_agree(&v->job, st, &rc)) {
        rc = wf_job_run(&v->job, weft_layout_world(&r.cfg.layout), on_rank, &r);
        if (!rc && wf_job_speaks(&v->job)) {
            print_one(&r);
            rc = r.report.equal ? WF_EXIT_OK : WF_EXIT_NO;
            weft_verify_report_clear(&r.report);
        }
    }
    weft_reference_destroy(ref);
    weft_data_destroy(data);
    return rc;
}

static int run_verify(verify *v)
{
    int world, rc = 0;

    if (v->exact) {
        v->steps = 1;
        v->lr = 1;
        v->tolerance = 1e-300; /* any difference at all */
        v->clip = 0;
    }
    if (wf_job_open(&v->job, &world, &rc)) return rc;
    rc = v->all ? verify_all(v, world) : verify_one(v, world);
    wf_job_close(&v->job);
    return rc;
}

/* Options that would do nothing beside the others. */
static int contradiction(const verify *v, const wf_args *args)
{
    char name[32];

    if (v->all &&
        wf_args_typed(args,
                      "tp pp dp vpp schedule placement group micro-batch global-batch "
                      "seq order vocab-multiple stage-layers",
                      name, sizeof name))
        return wf_cmd_usage("verify", "--%s is for one layout, --all-layouts walks all",
                            name);
    if (!v->all && wf_args_typed(args, "kinds max-micro covering", name, sizeof name))
        return wf_cmd_usage("verify", "--%s is for a walk: --all-layouts N is needed",
                            name);
    if (v->exact &&
        wf_args_typed(args, "steps lr tolerance clip-grad", name, sizeof name))
        return wf_cmd_usage("verify",
                            "--exact is one step without tolerance or clipping: --%s "
                            "does not go with it",
                            name);
    return 0;
}

int wf_cmd_verify(int argc, char **argv)
{
    verify v = {.dtype = "f64",
                .backend = "auto",
                .max_micro = 8,
                .steps = 3,
                .lr = 0.1,
                .seed = 1234,
                .ignore_every = 7};
    const wf_option rows[] = {
        {"model", .type = WF_OPT_TEXT, .out = &v.model, .arg = "MODEL",
         .help = "preset, config.json or dimensions (default gpt2-tiny; two small ones "
                 "with "
                 "--all-layouts)"},
        {"all-layouts", .type = WF_OPT_INT, .out = &v.all, .arg = "N", .min = 0,
         .max = 64, .help = "every legal layout up to N ranks"},
        {"kinds", .type = WF_OPT_TEXT, .out = &v.kinds, .arg = "LIST",
         .help = "schedules in the walk, apart by commas, or all (default "
                 "1f1b,gpipe,interleaved)"},
        {"max-micro", .type = WF_OPT_INT, .out = &v.max_micro, .arg = "M", .min = 1,
         .max = 63, .help = "micro-batches 1..M in the walk"},
        {"covering", .type = WF_OPT_FLAG, .out = &v.covering,
         .help = "walk a subset that covers every pair of values"},
        {"steps", .type = WF_OPT_INT, .out = &v.steps, .arg = "N", .min = 1,
         .max = 1000, .help = "SGD steps to compare"},
        {"dtype", .type = WF_OPT_CHOICE, .out = &v.dtype, .choices = "f64 f32 bf16",
         .help = "tensor type"},
        {"backend", .type = WF_OPT_CHOICE, .out = &v.backend, .choices = "auto ref",
         .help = "kernels"},
        {"exact", .type = WF_OPT_FLAG, .out = &v.exact,
         .help = "bit-exact mode: integers and clamps, one step, no tolerance"},
        {"jitter", .type = WF_OPT_NUMBER, .out = &v.jitter_s, .arg = "T",
         .unit = WF_SECONDS, .min = 0, .max = 1,
         .help = "random delay up to T before every operation, as 2ms"},
        {"tolerance", .type = WF_OPT_NUMBER, .out = &v.tolerance, .arg = "X", .min = 0,
         .max = 1, .help = "allowed difference (default 1e-11 in f64)"},
        {"clip-grad", .type = WF_OPT_NUMBER, .out = &v.clip, .arg = "X", .min = 0,
         .max = 1e9, .help = "clip the global norm"},
        {"lr", .type = WF_OPT_NUMBER, .out = &v.lr, .arg = "X", .min = 1e-12,
         .max = 1e3, .help = "learning rate"},
        {"ignore-every", .type = WF_OPT_INT, .out = &v.ignore_every, .arg = "N",
         .min = 0, .max = 1e9, .help = "every N-th target is ignored; 0 none"},
        {"seed", .type = WF_OPT_COUNT, .out = &v.seed, .arg = "N",
         .help = "of model and data"},
        {"json", .type = WF_OPT_FLAG, .out = &v.json, .help = "results as JSON"},
        {"quiet", .type = WF_OPT_FLAG, .out = &v.quiet,
         .help = "no progress on stderr"},
        {0}};
    wf_job_options(&v.job, v.job_rows);
    v.job.command = "verify";
    weft_layout_defaults(&v.layout);
    const wf_command_line line = {
        .command = "verify",
        .usage = "[--tp T --pp P --dp D ...] | --all-layouts N",
        .about = "Trains a few steps split and unsplit from the same seed and data and "
                 "compares "
                 "loss,\nevery gradient and every weight. Exit 1 when they differ.",
        .examples = "  weft verify --tp 2 --pp 2 --dp 2\n"
                    "  weft verify --all-layouts 8 --dtype f64\n"
                    "  mpirun -n 8 weft verify --all-layouts 8 --covering\n",
        .layout = 1,
        .group = {{"Verify", .row = rows},
                  {"Job", .row = v.job_rows},
                  {"Layout", .table = wf_layout_table(), .object = &v.layout}}};
    wf_args args;
    int rc;

    if (wf_args_parse(&line, argc, argv, &args, &rc)) return rc;
    rc = args.n ? wf_cmd_usage("verify", "unexpected word \"%s\"", args.word[0])
                : contradiction(&v, &args);
    if (!rc) rc = run_verify(&v);
    wf_args_clear(&args);
    return rc;
}
