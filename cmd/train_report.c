/* SPDX-License-Identifier: Apache-2.0 */
/* What weft train tells: banner, progress, log, sample. */
#define _POSIX_C_SOURCE 200809L
#include <ctype.h>
#include <math.h>
#include <unistd.h>
#include <weft/version.h>

#include "base/json.h"
#include "cmd/stdio_writer.h"
#include "cmd/train.h"

static const char *engine_name(weft_comm *comm)
{
    return weft_mpi_version()[0] && weft_comm_name(comm)[0] == 'm'
               ? weft_mpi_version()
               : weft_comm_name(comm);
}

static void rank_row(const wf_train *t, const weft_mesh *mesh,
                     const weft_schedule *shape, int r)
{
    const weft_layout *l = &t->cfg.layout;
    weft_rank_bytes b;
    int pp = weft_mesh_coord_of(mesh, r, WEFT_PP);

    weft_train_rank_bytes(&t->cfg, r, &b);
    printf("  rank %-3d tp %d  pp %d  dp %d  layers", r,
           weft_mesh_coord_of(mesh, r, WEFT_TP), pp,
           weft_mesh_coord_of(mesh, r, WEFT_DP));
    for (int v = 0; v < l->vpp; v++) {
        int64_t first, count;
        weft_layout_stage_layers(l, &t->cfg.arch, weft_schedule_stage(shape, pp, v),
                                 &first, &count);
        if (count)
            printf(" %lld", (long long)first);
        else
            printf(" none");
        if (count > 1) printf("-%lld", (long long)(first + count - 1));
    }
    printf("  %lld parameters, %.1f MB (params %.1f, grads %.1f, optimizer %.1f)\n",
           (long long)b.n_params, (double)(b.params + b.grads + b.optimizer) / 1e6,
           (double)b.params / 1e6, (double)b.grads / 1e6, (double)b.optimizer / 1e6);
}

static void rank_table(const wf_train *t)
{
    weft_mesh mesh;
    weft_schedule shape;
    int world = weft_layout_world(&t->cfg.layout), shown = world <= 16 ? world : 16;

    if (weft_layout_mesh(&t->cfg.layout, &mesh) != WEFT_OK ||
        weft_layout_shape(&t->cfg.layout, &shape) != WEFT_OK)
        return;
    for (int r = 0; r < shown; r++)
        rank_row(t, &mesh, &shape, r);
    if (shown < world)
        printf("  ... and %d more (weft mesh prints them all)\n", world - shown);
}

static void layout_line(const wf_train *t)
{
    weft_writer out = wf_stdout_writer();

    printf("layout: ");
    weft_layout_write_text(&t->cfg.layout, &out);
    printf(", micro-batch %lld, global batch %lld, seq %lld%s%s%s\n",
           (long long)t->cfg.layout.micro_batch, (long long)t->cfg.layout.global_batch,
           (long long)t->cfg.layout.seq, t->derived ? " (" : "",
           t->derived ? t->derived : "", t->derived ? " derived)" : "");
}

static void model_line(const wf_train *t)
{
    const weft_arch *a = &t->cfg.arch;

    printf("model: %s, %lld layer%s, hidden %lld, %lld head%s, vocabulary %lld (padded "
           "%lld), "
           "%lld parameters, %s\n",
           a->name, (long long)a->layers, a->layers == 1 ? "" : "s",
           (long long)a->hidden, (long long)a->heads, a->heads == 1 ? "" : "s",
           (long long)a->vocab, (long long)weft_layout_padded_vocab(&t->cfg.layout, a),
           (long long)weft_arch_params(a), weft_dtype_name(t->cfg.dtype));
}

void wf_train_dry_run(const wf_train *t)
{
    model_line(t);
    layout_line(t);
    rank_table(t);
}

void wf_train_banner(const wf_train *t, weft_comm *comm, weft_engine *e, double peak)
{
    model_line(t);
    layout_line(t);
    printf("ranks: %d over %s; kernels: %s; measured peak of all ranks at once %.1f "
           "GFLOP/s "
           "(1024^3 GEMM)\n",
           weft_comm_size(comm), engine_name(comm),
           weft_kctx_describe(weft_engine_kctx(e)), peak / 1e9);
    if (*weft_comm_status_dir(comm))
        printf("status files of the ranks: %s (weft doctor --status reads them)\n",
               weft_comm_status_dir(comm));
    printf("data: %lld training tokens, %lld held out; order by consumed samples, seed "
           "%llu\n",
           (long long)weft_data_tokens(t->data, WEFT_TRAIN),
           (long long)weft_data_tokens(t->data, WEFT_HELD_OUT),
           (unsigned long long)t->cfg.seed);
    rank_table(t);
    fflush(stdout);
}

double wf_train_flops_per_s(const wf_train *t, const weft_step_result *r)
{
    return weft_arch_flops_per_token(&t->cfg.arch, t->cfg.layout.seq, 1) *
           r->tokens_per_s;
}

void wf_train_progress(const wf_train *t, const weft_step_result *r, double peak,
                       int64_t memory, double elapsed_s)
{
    double left = elapsed_s / (double)(r->step + 1) * (double)(t->iters - r->step - 1);

    printf("step %lld/%lld  loss %.4f  grad norm %.3f  lr %.2e  %.0f tok/s  MFU %.1f "
           "%% (causal "
           "FLOPs, measured peak)  bubble %.0f %%  %.1f MB a rank  ETA %.0f s\n",
           (long long)r->step + 1, (long long)t->iters, r->loss, r->grad_norm, r->lr,
           r->tokens_per_s, 100 * wf_train_flops_per_s(t, r) / peak,
           100 * r->bubble_measured, (double)memory / 1e6, left);
}

void wf_train_held_out(const wf_train *t, int64_t steps, double loss)
{
    printf("after step %lld: held-out loss %.4f nats per token (%s the text's bigram "
           "entropy, "
           "%.4f)\n",
           (long long)steps, loss, loss < t->bigram ? "below" : "above", t->bigram);
}

static void put_ranks(const wf_train *t, const weft_mesh *mesh, wf_json *j)
{
    int world = weft_mesh_world(mesh);

    wf_json_key(j, "ranks");
    wf_json_array(j);
    for (int r = 0; r < world; r++) {
        weft_rank_bytes b;
        weft_train_rank_bytes(&t->cfg, r, &b);
        wf_json_object(j);
        wf_json_put_i64(j, "rank", r);
        wf_json_put_i64(j, "tp", weft_mesh_coord_of(mesh, r, WEFT_TP));
        wf_json_put_i64(j, "cp", weft_mesh_coord_of(mesh, r, WEFT_CP));
        wf_json_put_i64(j, "pp", weft_mesh_coord_of(mesh, r, WEFT_PP));
        wf_json_put_i64(j, "dp", weft_mesh_coord_of(mesh, r, WEFT_DP));
        wf_json_put_i64(j, "n_params", b.n_params);
        wf_json_put_i64(j, "param_bytes", b.params);
        wf_json_end_object(j);
    }
    wf_json_end_array(j);
}

weft_status wf_train_log_start(wf_train *t, weft_comm *comm, weft_engine *e,
                               double peak)
{
    weft_writer *out = weft_log_begin(t->log);
    wf_json j = wf_json_begin(out);

    wf_json_object(&j);
    wf_json_put_string(&j, "event", "start");
    wf_json_key(&j, "model");
    weft_arch_write_json(&t->cfg.arch, out);
    j.after_key = 0;
    wf_json_key(&j, "layout");
    weft_layout_write_json(&t->cfg.layout, out);
    j.after_key = 0;
    put_ranks(t, weft_engine_mesh(e), &j);
    wf_json_key(&j, "versions");
    wf_json_object(&j);
    wf_json_put_string(&j, "weft", WEFT_VERSION);
    wf_json_put_string(&j, "comm", engine_name(comm));
    wf_json_put_string(&j, "kernels", weft_kctx_describe(weft_engine_kctx(e)));
    wf_json_end_object(&j);
    wf_json_put_string(&j, "dtype", weft_dtype_name(t->cfg.dtype));
    wf_json_put_i64(&j, "seed", t->seed);
    wf_json_put_f64(&j, "peak_flops_per_s", peak);
    wf_json_end_object(&j);
    return weft_log_end(t->log);
}

weft_status wf_train_log_step(wf_train *t, const weft_step_result *r, double held_out,
                              double peak, int64_t memory)
{
    wf_json j = wf_json_begin(weft_log_begin(t->log));

    wf_json_object(&j);
    wf_json_put_i64(&j, "step", r->step);
    wf_json_put_f64(&j, "loss", r->loss);
    wf_json_put_f64(&j, "grad_norm", r->grad_norm);
    wf_json_put_f64(&j, "lr", r->lr);
    wf_json_put_f64(&j, "tokens_per_s", r->tokens_per_s);
    wf_json_put_f64(&j, "step_time_s", r->step_time_s);
    wf_json_put_f64(&j, "bubble_measured", r->bubble_measured);
    wf_json_put_f64(&j, "mfu", wf_train_flops_per_s(t, r) / peak);
    wf_json_put_f64(&j, "peak_flops_per_s", peak);
    wf_json_put_i64(&j, "memory_bytes", memory);
    wf_json_put_i64(&j, "consumed_samples", r->consumed);
    if (!isnan(held_out)) wf_json_put_f64(&j, "held_out_loss", held_out);
    wf_json_end_object(&j);
    return weft_log_end(t->log);
}

void wf_train_verified(const wf_train *t, const weft_verify_report *r)
{
    double grad = 0, weight = 0;

    for (int i = 0; i < r->n_rows; i++) {
        grad = fmax(grad, r->row[i].grad_diff);
        weight = fmax(weight, r->row[i].weight_diff);
    }
    printf("split against unsplit, %d f64 steps on this data: largest difference loss "
           "%.2e, "
           "gradient %.2e, weight %.2e: %s\n",
           t->verify_steps, r->loss_diff, grad, weight,
           r->equal ? "equal within 1e-11 of the largest value" : "NOT EQUAL");
    if (!r->equal)
        printf("worst: %s, %.3g times what is allowed\n", r->worst_at, r->worst);
    fflush(stdout);
}

void wf_train_sample(const wf_train *t, const int32_t *tokens, int64_t n_prompt,
                     int64_t n)
{
    int text = t->cfg.arch.vocab <= 256;

    printf("\nsample (%lld tokens after the prompt, temperature %.2f):\n",
           (long long)(n - n_prompt), t->temperature);
    for (int64_t i = 0; i < n; i++) {
        int c = tokens[i];
        if (!text)
            printf("%d ", c);
        else
            putchar(c == '\n' || c == '\t' || (c < 128 && isprint(c)) ? c : '?');
    }
    printf("\n");
    fflush(stdout);
}
