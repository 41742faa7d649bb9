/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_CMD_MODEL_FILE_H
#define WF_CMD_MODEL_FILE_H
#include <weft/arch.h>

/* MODEL as every command takes it: a preset, key=value,..., or a file (its name ends in
 * .json or has a '/': a config.json, its folder, or what `weft model --json` wrote); each
 * with changes after it: "llama3-8b,layers=4", "dir/config.json,vocab=32000". */
WEFT_MUST_CHECK weft_status wf_model_read(const char *text, weft_arch *out);
/* The same for commands that train: other families are refused by name. */
WEFT_MUST_CHECK weft_status wf_model_read_trained(const char *text, weft_arch *out);
#endif
