/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "comm/mpi/mpi_impl.h"

weft_status wf_mpi_fail(int rc, const char *call)
{
    char text[MPI_MAX_ERROR_STRING] = "unknown error";
    int n, name = (int)strcspn(call, "(");
    MPI_Error_string(rc, text, &n);
    text[strcspn(text, "\n")] = '\0';
    return WF_FAIL(WEFT_E_IO, "%.*s failed: %s", name, call, text);
}
