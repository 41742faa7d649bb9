/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_ARCH_FIELDS_H
#define WF_ARCH_FIELDS_H
#include "base/field.h"

/* The fields of weft_arch, for readers of files, flags and help. */
WEFT_API const wf_table *wf_arch_table(void);
#endif
