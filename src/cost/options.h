/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_COST_OPTIONS_H
#define WF_COST_OPTIONS_H
#include <weft/cost.h>

#include "base/field.h"

/* The fields of weft_cost_options but math and params, for flags and help. */
WEFT_API const wf_table *wf_cost_table(void);
#endif
