/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_MACHINE_FIELDS_H
#define WF_MACHINE_FIELDS_H
#include <weft/machine.h>

#include "base/field.h"

/* The fields of weft_machine and of one tier, for flags, files and help. */
WEFT_API const wf_table *wf_machine_table(void);
WEFT_API const wf_table *wf_tier_table(void);
/* The first of the table's constants of efficiency; they are the rest of it. */
WEFT_API int wf_machine_first_constant(void);
#endif
