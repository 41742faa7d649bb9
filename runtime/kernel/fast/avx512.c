/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/fast/fast.h"
#define TABLES wf_fast_avx512
#include "kernel/fast/all.inc"
