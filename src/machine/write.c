/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/machine.h>

#include "base/json.h"
#include "machine/fields.h"

static void put_point(const weft_gemm_point *p, wf_json *j)
{
    wf_json_object(j);
    wf_json_put_string(j, "math", weft_math_name((weft_math)p->math));
    wf_json_put_i64(j, "m", p->m);
    wf_json_put_i64(j, "n", p->n);
    wf_json_put_i64(j, "k", p->k);
    wf_json_put_f64(j, "flops_per_s", p->flops_per_s);
    wf_json_end_object(j);
}

void weft_machine_write_json(const weft_machine *m, weft_writer *out)
{
    wf_json j = wf_json_begin(out);
    wf_json_object(&j);
    wf_field_put_json(wf_machine_table(), m, &j);
    wf_json_key(&j, "tiers");
    wf_json_array(&j);
    for (int i = 0; i < m->n_tiers; i++) {
        wf_json_object(&j);
        wf_field_put_json(wf_tier_table(), &m->tier[i], &j);
        wf_json_end_object(&j);
    }
    wf_json_end_array(&j);
    wf_json_key(&j, "gemms");
    wf_json_array(&j);
    for (int i = 0; i < m->n_gemms; i++)
        put_point(&m->gemm[i], &j);
    wf_json_end_array(&j);
    wf_json_end_object(&j);
}

/* ---- for people ------------------------------------------------------------------ */

static void put_rates(const weft_machine *m, weft_writer *out)
{
    for (int i = 0; i < WEFT_N_MATHS; i++)
        if (m->flops_per_s[i] > 0)
            weft_print(out, "  %-24s %.6g TFLOP/s dense\n",
                       weft_math_name((weft_math)i), m->flops_per_s[i] / 1e12);
}

/* A copy is read and written, so no message of copies is faster than memory: blocks of
 * ranks that share it change hands. */
static int hands_over(const weft_machine *m, const weft_tier *t, int c)
{
    return c == WEFT_COLL_P2P && t->measured[c].bytes_per_s > m->memory_bytes_per_s;
}

static void put_link(const weft_machine *m, int i, weft_writer *out)
{
    const weft_tier *t = &m->tier[i];
    weft_print(out, "  %-24s ", t->name);
    if (i == m->n_tiers - 1 || !t->ranks)
        weft_print(out, "all ranks");
    else
        weft_print(out, "%d rank%s", t->ranks, t->ranks == 1 ? "" : "s");
    weft_print(
        out,
        ", %.6g GB/s a direction and rank, collectives reach %.3g of it, %.3g us "
        "a step%s\n",
        t->bytes_per_s / 1e9, t->efficiency, t->alpha_s * 1e6,
        t->switched ? "" : ", a wire for each pair");
    for (int c = 0; c < WEFT_N_COLLS; c++)
        if (t->measured[c].bytes_per_s > 0)
            weft_print(out, "    %-22s measured %.6g GB/s, %.3g us%s\n",
                       weft_collective_name((weft_collective)c),
                       t->measured[c].bytes_per_s / 1e9, t->measured[c].alpha_s * 1e6,
                       hands_over(m, t, c)
                           ? ": hand-over (no copy), above the rate of memory"
                           : "");
}

void weft_machine_write_text(const weft_machine *m, weft_writer *out)
{
    const wf_table *t = wf_machine_table();

    weft_print(out, "%s: %s, %d x %d\n", m->name, m->device, m->nodes,
               m->ranks_per_node);
    weft_print(out, "facts (%s)\n", m->source);
    put_rates(m, out);
    weft_print(out, "  %-24s %.6g GB (%.6g GiB), %.6g GB/s\n", "memory",
               m->memory_bytes / 1e9, m->memory_bytes / 1073741824.0,
               m->memory_bytes_per_s / 1e9);
    weft_print(out, "  %-24s %.6g GB\n", "reserve", m->reserve_bytes / 1e9);
    if (m->tile_m && m->tile_n)
        weft_print(out, "  %-24s %d of %d x %d outputs\n", "units and their tiles",
                   m->units, m->tile_m, m->tile_n);
    else
        weft_print(out, "  %-24s %d\n", "units", m->units);
    weft_print(out, "links\n");
    for (int i = 0; i < m->n_tiers; i++)
        put_link(m, i, out);
    weft_print(out, "constants (%s)\n", *m->fitted ? m->fitted : m->source);
    for (int i = wf_machine_first_constant(); i < t->n; i++) {
        weft_print(out, "  %-24s ", t->field[i].name);
        wf_field_print(t, i, m, out);
        weft_print(out, "  %s\n", t->field[i].help);
    }
    if (m->n_gemms) weft_print(out, "matmuls measured: %d shapes\n", m->n_gemms);
}
