/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_CMD_MACHINE_FILE_H
#define WF_CMD_MACHINE_FILE_H
#include <stddef.h>
#include <weft/machine.h>

/* MACHINE as every command takes it: a preset with its shape ("h100:8x8"), or a machine file
 * (its name ends in .json or has a '/'); each with changes after it:
 * "here.json,memory=8GiB". */
WEFT_MUST_CHECK weft_status wf_machine_read(const char *text, weft_machine *out);
/* The text of a machine file, as `weft machine measure` and `show --json` write it: an
 * object of the machine's fields, "tiers" a list of objects, "gemms" another. Every key is
 * known or an error that names the nearest. `file` is for messages. */
WEFT_MUST_CHECK weft_status wf_machine_parse_file(const char *file, const char *text,
                                                  size_t n, weft_machine *out);
#endif
