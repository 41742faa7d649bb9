/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WF_NN_PARAM_H
#define WF_NN_PARAM_H
#include <weft/run/nn.h>

/* List, allocate and initialise the parameters of c->cfg. */
weft_status wf_params_create(weft_chunk *c) WEFT_MUST_CHECK;
/* Parameters of one block. */
int wf_params_of_block(void);
#endif
