/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_LAYOUT_FIELDS_H
#define WF_LAYOUT_FIELDS_H
#include "base/field.h"

/* The fields of weft_layout, for flags, run files and help. */
WEFT_API const wf_table *wf_layout_table(void);
#endif
