/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file weft/emit.h
 * A layout in the words of the programs that train with it, and back.
 *
 * Read from the sources of Megatron-LM d98e8a64 (2026-08), torchtitan b5bcd76c (2026-08),
 * DeepSpeed edaa7221 (2026-08) and nanotron 2411b022 (2026-04). What a program cannot do is
 * refused by name, never dropped.
 */
#ifndef WEFT_EMIT_H
#define WEFT_EMIT_H

#include <weft/cost.h>

WEFT_BEGIN

typedef enum weft_tool {
    WEFT_TOOL_MEGATRON,   /**< argument line of pretrain_gpt.py              */
    WEFT_TOOL_TORCHTITAN, /**< --section.option flags of torchtitan.train    */
    WEFT_TOOL_DEEPSPEED,  /**< ds_config.json                                */
    WEFT_TOOL_NANOTRON,   /**< YAML of run_train.py                          */
    WEFT_TOOL_WEFT,       /**< `weft train`                                  */
    WEFT_TOOL_SLURM,      /**< batch script that starts Megatron-LM, bound so
                               that rank r is where the layout's mesh has it */
    WEFT_TOOL_RANKS,      /**< CSV: rank, node, local rank, coordinates      */
    WEFT_N_TOOLS
} weft_tool;

/** "megatron", ...; NULL outside the enum. */
WEFT_API const char *weft_tool_name(weft_tool tool);
/** WEFT_E_INVALID with the nearest name. */
WEFT_API WEFT_MUST_CHECK weft_status weft_tool_find(const char *name, weft_tool *out);
/** The order in which the tool places ranks: "tp,cp,dp,pp" for torchtitan and nanotron;
 *  for the others "tp,cp,pp,dp". */
WEFT_API const char *weft_tool_order(weft_tool tool);

/** Can the tool run this (checked) layout? WEFT_E_INFEASIBLE names the option that it
 *  cannot express, and what it can. */
WEFT_API WEFT_MUST_CHECK weft_status weft_emit_check(weft_tool tool,
                                                     const weft_layout *l,
                                                     const weft_arch *a);
/** Has the tool what layouts are priced with? WEFT_E_INFEASIBLE names the option that it has
 *  not. */
WEFT_API WEFT_MUST_CHECK weft_status
weft_emit_check_options(weft_tool tool, const weft_cost_options *o);
/** Write it, as `o` says that it was priced: arithmetic, dropout, attention, loss.
 *  ranks_per_node places the ranks of slurm and ranks; 0: unknown, one node.
 *  @return as both checks; nothing is written if they fail. */
WEFT_API WEFT_MUST_CHECK weft_status weft_emit(weft_tool tool, const weft_layout *l,
                                               const weft_arch *a,
                                               const weft_cost_options *o,
                                               int ranks_per_node, weft_writer *out);

/** What a launch line says. Clear with weft_launch_clear(). */
typedef struct weft_launch {
    weft_layout layout; /**< of missing degrees only dp is 0; its order is the tool's;
                             global_batch 0: micro_batch * dp, once dp is known         */
    int32_t world;    /**< from torchrun's own flags; 0: not said                     */
    int32_t has_arch; /**< 1: it describes the model too (Megatron-LM)                */
    int32_t
        vocab_assumed; /**< 1: the vocabulary is the tokenizer's, which the line does
                                not tell; arch has GPT-2's                              */
    weft_arch arch;
    /** Of weft_cost_options, as the line or the tool's defaults have them; -1: the line does
     *  not tell. dropout_assumed 1: on since that is the tool's default. */
    int32_t dropout, fused_attention, fused_loss, overlap_dp, dropout_assumed;
    double
        grad_bytes; /**< likewise; 0: the line does not tell                         */
    weft_text ignored; /**< flags that the tool has and that are not read: they have no
                               part in the model of time and memory; blank-separated    */
    weft_text unknown; /**< flags that the tool has not either; Megatron-LM only, of the
                               others they are among the ignored                        */
    weft_text
        unmodelled; /**< flags that do, and that weft has no model of             */
} weft_launch;

/**
 * Read a launch line or script of WEFT_TOOL_MEGATRON or WEFT_TOOL_TORCHTITAN: quotes,
 * backslashes, comments, `--flag value` and `--flag=value`, variables that the text itself
 * sets. Everything before the first flag, and words that belong to no flag, are passed over.
 *
 * @param[in] given  the model, where it is known from elsewhere; NULL: from the text.
 *                   Flags that contradict it are refused.
 *
 * @return WEFT_OK; WEFT_E_INVALID that names the flag and its line: a bad value, a missing
 *         one, flags that contradict each other, another tool. Any text is safe.
 */
WEFT_API WEFT_MUST_CHECK weft_status weft_launch_read(weft_tool tool, const char *text,
                                                      const weft_arch *given,
                                                      weft_launch *out);
WEFT_API void weft_launch_clear(weft_launch *out);

WEFT_END
#endif
