/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/fast/fast.h"
#define TABLES wf_fast_base
#include "kernel/fast/all.inc"
