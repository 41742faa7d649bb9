/* SPDX-License-Identifier: Apache-2.0 */
/* A build without MPI. */
#include "base/error.h"
#include "comm/comm_impl.h"
#include "comm/mpi/launch.h"

const char *weft_mpi_version(void)
{
    return "";
}

weft_status weft_comm_mpi(const weft_comm_options *o, weft_comm **out)
{
    wf_launch l;
    (void)o;
    (void)out;
    if (wf_launched(&l) && l.rank > 0) {
        wf_sleep_s(WF_SPEAK_FIRST_S);
        return WF_FAIL(WEFT_E_INFEASIBLE, "%s", "");
    }
    return WF_FAIL(WEFT_E_INFEASIBLE,
                   "this build of weft has no MPI%s%s; configure one with "
                   "-DWEFT_MPI=openmpi or -DWEFT_MPI=mpich",
                   *l.name ? ", but it was started by " : "", l.name);
}
