/* SPDX-License-Identifier: Apache-2.0 */
#include "score/row.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/num.h"

const char *const wf_column_names[WF_N_COLUMNS] = {"id",
                                                   "source",
                                                   "model",
                                                   "params_b",
                                                   "layers",
                                                   "hidden",
                                                   "heads",
                                                   "kv_heads",
                                                   "ffn_hidden",
                                                   "mlp_type",
                                                   "vocab",
                                                   "seq",
                                                   "gpu",
                                                   "gpu_mem_gb",
                                                   "peak_bf16_tflops",
                                                   "nvlink_gbps_per_dir",
                                                   "internode_gbps_per_gpu",
                                                   "precision",
                                                   "gpus",
                                                   "tp",
                                                   "cp",
                                                   "pp",
                                                   "vpp",
                                                   "dp",
                                                   "ep",
                                                   "zero_stage",
                                                   "sequence_parallel",
                                                   "recompute",
                                                   "micro_batch",
                                                   "global_batch",
                                                   "schedule",
                                                   "tflops_per_gpu",
                                                   "tflops_kind",
                                                   "step_time_s",
                                                   "step_time_derived_s",
                                                   "tokens_s_gpu",
                                                   "memory_gb"};

/* ---- fields ---------------------------------------------------------------------- */

const char *wf_row_text(const wf_row *r, wf_column c)
{
    return wf_csv_field(r->csv, r->place[c]);
}

static int starts_with(const char *at, const char *word)
{
    for (; *word; at++, word++)
        if (tolower((unsigned char)*at) != tolower((unsigned char)*word)) return 0;
    return 1;
}

int wf_row_has(const wf_row *r, wf_column c, const char *word)
{
    for (const char *at = wf_row_text(r, c); *at; at++)
        if (starts_with(at, word)) return 1;
    return 0;
}

weft_status wf_row_number(const wf_row *r, wf_column c, double *out)
{
    const char *text = wf_row_text(r, c);
    *out = 0;
    if (!*text || isalpha((unsigned char)*text)) return WEFT_OK;
    if (wf_num_f64(wf_column_names[c], text, WF_PLAIN, out) != WEFT_OK)
        return WF_FAIL(WEFT_E_INVALID, "line %d, column %s: %s", r->csv->line,
                       wf_column_names[c], weft_status_message());
    if (*out < 0)
        return WF_FAIL(WEFT_E_INVALID, "line %d, column %s: %s is below 0",
                       r->csv->line, wf_column_names[c], text);
    return WEFT_OK;
}

weft_status wf_row_count(const wf_row *r, wf_column c, weft_run *run, int64_t *out)
{
    double x;

    WF_TRY(wf_row_number(r, c, &x));
    *out = 0;
    if (x <= 0x1p53 && floor(x) == x)
        *out = (int64_t)x;
    else
        wf_run_skip(run, "%s: %s is not a whole number up to 2^53", wf_column_names[c],
                    wf_row_text(r, c));
    return WEFT_OK;
}

void wf_run_skip(weft_run *run, const char *format, ...)
{
    va_list args;
    if (*run->skip) return;
    va_start(args, format);
    vsnprintf(run->skip, sizeof run->skip, format, args);
    va_end(args);
}

/* ---- model ----------------------------------------------------------------------- */

static void set(weft_run *run, const char *field, const char *value)
{
    if (!*value || *run->skip) return;
    if (weft_arch_set(&run->arch, field, value) != WEFT_OK)
        wf_run_skip(run, "%s", weft_status_message());
}

/* Sizes that a row must have: without them there is no model. */
static void need(const wf_row *r, wf_column c, weft_run *run)
{
    if (!*wf_row_text(r, c)) wf_run_skip(run, "%s is not given", wf_column_names[c]);
}

/* A vocabulary that the table does not give: the smallest usual one with which the model has
 * as many parameters as are published, to the digits that are. */
static void find_vocab(const wf_row *r, weft_run *run)
{
    static const char *const usual[] = {"32000", "50257", "128256"};
    const char *text = wf_row_text(r, WF_COL_PARAMS);
    const char *point = strchr(text, '.');
    double published, unit = point ? pow(10, -(double)strlen(point + 1)) : 1;

    set(run, "vocab", "50257");
    if (wf_row_number(r, WF_COL_PARAMS, &published) != WEFT_OK || published <= 0)
        return;
    for (int i = 0; i < 3 && !*run->skip; i++) {
        weft_arch a = run->arch;
        if (weft_arch_set(&a, "vocab", usual[i]) || weft_arch_check(&a)) continue;
        double billions = (double)weft_arch_params(&a) / 1e9;
        if (fabs(billions - published) > unit / 2) continue;
        set(run, "vocab", usual[i]);
        return;
    }
}

static weft_status map_model(const wf_row *r, weft_run *run)
{
    double layers, vocab;

    WF_TRY(wf_row_number(r, WF_COL_LAYERS, &layers));
    WF_TRY(wf_row_number(r, WF_COL_VOCAB, &vocab));
    if (wf_row_has(r, WF_COL_MLP, "MoE"))
        wf_run_skip(run, "sizes of experts and MLA are not among the columns");
    need(r, WF_COL_LAYERS, run);
    need(r, WF_COL_HIDDEN, run);
    need(r, WF_COL_HEADS, run);
    need(r, WF_COL_SEQ, run);
    if (layers == 1 && !vocab) wf_run_skip(run, "one layer by itself, not a step");
    weft_arch_defaults(&run->arch);
    set(run, "family", wf_row_has(r, WF_COL_MLP, "swiglu") ? "llama" : "gpt2");
    set(run, "layers", wf_row_text(r, WF_COL_LAYERS));
    set(run, "hidden", wf_row_text(r, WF_COL_HIDDEN));
    set(run, "heads", wf_row_text(r, WF_COL_HEADS));
    set(run, "kv_heads", wf_row_text(r, WF_COL_KV_HEADS));
    set(run, "ffn", wf_row_text(r, WF_COL_FFN));
    set(run, "positions", wf_row_text(r, WF_COL_SEQ));
    if (vocab > 0)
        set(run, "vocab", wf_row_text(r, WF_COL_VOCAB));
    else
        find_vocab(r, run);
    if (!*run->skip && weft_arch_check(&run->arch) != WEFT_OK)
        wf_run_skip(run, "%s", weft_status_message());
    return WEFT_OK;
}

/* ---- machine --------------------------------------------------------------------- */

static weft_status map_machine(const wf_row *r, weft_run *run)
{
    double gpus, memory, peak, up, network;

    WF_TRY(wf_row_number(r, WF_COL_GPUS, &gpus));
    WF_TRY(wf_row_number(r, WF_COL_GPU_MEM, &memory));
    WF_TRY(wf_row_number(r, WF_COL_PEAK, &peak));
    WF_TRY(wf_row_number(r, WF_COL_NVLINK, &up));
    WF_TRY(wf_row_number(r, WF_COL_INTERNODE, &network));
    need(r, WF_COL_GPUS, run);
    if (weft_machine_find(wf_row_text(r, WF_COL_GPU), memory * 1e9, &run->machine)) {
        wf_run_skip(run, "%s", weft_status_message());
        return WEFT_OK;
    }
    weft_machine *m = &run->machine;
    int32_t n = gpus < 1 || gpus > 1e7 ? 1 : (int32_t)gpus;
    if (n < m->ranks_per_node) m->ranks_per_node = n;
    m->nodes = (n + m->ranks_per_node - 1) / m->ranks_per_node;
    if (peak > 0) m->flops_per_s[WEFT_MATH_BF16] = peak * 1e12;
    if (up > 0) m->tier[0].bytes_per_s = up * 1e9;
    if (network > 0) m->tier[m->n_tiers - 1].bytes_per_s = network * 1e9;
    return WEFT_OK;
}

/* How the program of a run works where programs differ. Training in fp16 is what was done
 * before fused attention, sums in fp32 and overlapped reductions were usual; bf16 and fp8
 * runs have them. Where a table has no precision, the device decides: one without fp8 is of
 * that time. */
static void map_options(const wf_row *r, weft_run *run)
{
    weft_cost_options *o = &run->options;
    int given = *wf_row_text(r, WF_COL_PRECISION) != 0;
    int old = given ? wf_row_has(r, WF_COL_PRECISION, "fp16")
                    : run->machine.flops_per_s[WEFT_MATH_FP8] <= 0;

    weft_cost_defaults(o);
    if (wf_row_has(r, WF_COL_PRECISION, "fp8") ||
        wf_row_has(r, WF_COL_PRECISION, "float8"))
        o->math = WEFT_MATH_FP8;
    if (wf_row_has(r, WF_COL_PRECISION, "fp4")) o->math = WEFT_MATH_FP4;
    if (old) {
        o->fused_attention = 0;
        o->dropout = 1;
        o->overlap_dp = 0;
        o->overlap_pp = 0;
        o->grad_bytes = 2;
    }
    if (run->machine.flops_per_s[o->math] <= 0)
        wf_run_skip(run, "%s has no %s", run->machine.device,
                    weft_math_name((weft_math)o->math));
}

/* ---- what was measured ----------------------------------------------------------- */

/* TFLOP/s of a rank -> seconds. Published figures count the whole square of the scores;
 * those that say so count the forward pass that is done again. */
static double from_rate(const wf_row *r, const weft_run *run, double tflops)
{
    int hardware = wf_row_has(r, WF_COL_TFLOPS_KIND, "HFU") ||
                   wf_row_has(r, WF_COL_TFLOPS_KIND, "recompute");
    weft_flops_rule rule = {0, hardware ? WEFT_RECOMPUTE_FULL : WEFT_RECOMPUTE_NONE};
    weft_flops flops;
    double tokens = (double)run->layout.global_batch * (double)run->layout.seq;

    if (*run->skip) return 0;
    weft_arch_flops(&run->arch, run->layout.seq, rule, &flops);
    return flops.total * tokens / (tflops * 1e12 * weft_layout_world(&run->layout));
}

static weft_status map_measured(const wf_row *r, weft_run *run)
{
    double step, derived, tokens, tflops, memory;

    WF_TRY(wf_row_number(r, WF_COL_STEP, &step));
    WF_TRY(wf_row_number(r, WF_COL_STEP_DERIVED, &derived));
    WF_TRY(wf_row_number(r, WF_COL_TOKENS, &tokens));
    WF_TRY(wf_row_number(r, WF_COL_TFLOPS, &tflops));
    WF_TRY(wf_row_number(r, WF_COL_MEMORY, &memory));
    run->measured_bytes = memory * 1e9;
    if (step > 0)
        run->measured_s = step;
    else if (derived > 0)
        run->measured_s = derived;
    else if (tokens > 0)
        run->measured_s = (double)run->layout.global_batch * (double)run->layout.seq /
                          (tokens * weft_layout_world(&run->layout));
    else if (tflops > 0)
        run->measured_s = from_rate(r, run, tflops);
    if (!(run->measured_s > 0)) wf_run_skip(run, "no step time or rate is given");
    return WEFT_OK;
}

weft_status wf_row_map(const wf_row *r, weft_run *out)
{
    memset(out, 0, sizeof *out);
    snprintf(out->id, sizeof out->id, "%s", wf_row_text(r, WF_COL_ID));
    snprintf(out->source, sizeof out->source, "%s", wf_row_text(r, WF_COL_SOURCE));
    snprintf(out->group, sizeof out->group, "%s, %s %s, batch %s x %s",
             wf_row_text(r, WF_COL_MODEL), wf_row_text(r, WF_COL_GPUS),
             wf_row_text(r, WF_COL_GPU), wf_row_text(r, WF_COL_GLOBAL_BATCH),
             wf_row_text(r, WF_COL_SEQ));
    if (!*out->id)
        return WF_FAIL(WEFT_E_INVALID, "line %d: the id is empty", r->csv->line);
    WF_TRY(map_model(r, out));
    WF_TRY(map_machine(r, out));
    map_options(r, out);
    WF_TRY(wf_row_layout(r, out));
    return map_measured(r, out);
}
