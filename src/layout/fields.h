/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_LAYOUT_FIELDS_H
#define WF_LAYOUT_FIELDS_H
#include "base/field.h"

/* The fields of weft_layout, for flags, run files and help. */
WEFT_API const wf_table *wf_layout_table(void);
/* The same for what is planned only: nothing is left to a later version. */
WEFT_API const wf_table *wf_layout_plan_table(void);
#endif
