/* SPDX-License-Identifier: Apache-2.0 */
/* Every claim over MPI: started by its launcher with any number of ranks. With an argument
 * N: MPI's tags end at N and one operation carries at most 1000 bytes, so that folded tags
 * and cut operations are the rule. With one more argument: 25000 messages a rank. */
#include <stdio.h>
#include <stdlib.h>

#include "comm/cases.h"
#include "comm/mpi/mpi_impl.h"

static weft_status all_cases(weft_comm *c, char *many)
{
    for (int i = 0; i < n_comm_cases; i++) {
        double from = wf_now_s();
        weft_status st = comm_cases[i].run(c, many);
        if (st != WEFT_OK) {
            char words[1024];
            snprintf(words, sizeof words, "%s: rank %d: %s", comm_cases[i].claim,
                     weft_comm_rank(c), weft_status_message());
            weft_comm_abort(c, st, words, 1);
        }
        if (weft_comm_rank(c) == 0)
            printf("ok %d ranks, %.2f s: %s\n", weft_comm_size(c), wf_now_s() - from,
                   comm_cases[i].claim);
    }
    return WEFT_OK;
}

int main(int argc, char **argv)
{
    weft_comm_options o = {.timeout_s = 60};
    weft_comm *c;
    if (argc > 1)
        wf_mpi_limit = (wf_mpi_limits){.chunk_bytes = 1000, .tag_ub = atoi(argv[1])};
    if (weft_comm_mpi(&o, &c)) {
        if (*weft_status_message()) fprintf(stderr, "%s\n", weft_status_message());
        return 1;
    }
    weft_status st = all_cases(c, argc > 2 ? argv[2] : NULL);
    weft_comm_destroy(c);
    return st != WEFT_OK;
}
