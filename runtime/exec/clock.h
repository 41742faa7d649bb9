/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_EXEC_CLOCK_H
#define WF_EXEC_CLOCK_H
#include <weft/run/exec.h>

/* Sleep to an absolute time of weft_now_s(); no-op when it has passed. */
void wf_sleep_until(double at_s);
#endif
