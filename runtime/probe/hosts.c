/* SPDX-License-Identifier: Apache-2.0 */
/* Who is where: ranks of a host are one domain, and which cores each may use. */
#define _GNU_SOURCE /* gethostname, sched_getaffinity */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "probe/probe_impl.h"

typedef struct place {
    char host[64], cpus[64];
} place;

/* "0-3,8" of this thread's mask. */
static void list_cpus(char *text, size_t size)
{
    cpu_set_t set;
    size_t n = 0;

    *text = '\0';
    if (sched_getaffinity(0, sizeof set, &set)) return;
    for (int c = 0; c < CPU_SETSIZE && n < size; c++) {
        int last = c;
        if (!CPU_ISSET(c, &set)) continue;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &set))
            last++;
        n += (size_t)snprintf(text + n, size - n, last > c ? "%s%d-%d" : "%s%d",
                              n ? "," : "", c, last);
        c = last;
    }
}

/* Masks by rank, once where all are equal. */
static void note_cpus(const place *all, int n, weft_probe_report *report)
{
    char *text = report->cpus;
    size_t used = 0;
    int same = 1;

    for (int i = 1; i < n; i++)
        same &= !strcmp(all[i].cpus, all[0].cpus);
    for (int i = 0; i < (same ? 1 : n) && used < sizeof report->cpus; i++)
        used += (size_t)snprintf(text + used, sizeof report->cpus - used, "%s%s",
                                 i ? ";" : "", all[i].cpus);
}

/* Runs of equal host names must be of one length, and no name come twice. */
static weft_status count_hosts(const place *all, int n, int *nodes)
{
    int per = 1, hosts = 1;

    while (per < n && !strcmp(all[per].host, all[0].host))
        per++;
    for (int i = 0; i < n; i++) {
        int starts = i > 0 && strcmp(all[i].host, all[i - 1].host);
        hosts += starts;
        if (starts == (i > 0 && i % per == 0) && n % per == 0) continue;
        return WF_FAIL(WEFT_E_MISMATCH,
                       "rank 0's host %s holds %d of %d ranks, but rank %d is on host "
                       "%s: every host must hold as many ranks, one after the other",
                       all[0].host, per, n, i, all[i].host);
    }
    *nodes = hosts;
    return WEFT_OK;
}

static void note_memory(weft_machine *m)
{
    double bytes = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGE_SIZE);
    m->memory_bytes = bytes / m->ranks_per_node;
}

static weft_status gather(wf_probe *p, place *all)
{
    place mine = {.host = ""};
    weft_event ev = {0};

    gethostname(mine.host, sizeof mine.host - 1);
    list_cpus(mine.cpus, sizeof mine.cpus);
    all[0] = mine;
    WF_TRY(weft_all_gather(p->world, WEFT_FOR_CONTROL, &mine, sizeof mine, all, &ev));
    return weft_wait(p->comm, &ev);
}

weft_status wf_probe_hosts(wf_probe *p)
{
    int n = weft_group_size(p->world), nodes = 1;
    place *all = NULL;

    WF_TRY(WF_ALLOC(n, &all));
    weft_status st = gather(p, all);
    if (st == WEFT_OK) st = count_hosts(all, n, &nodes);
    if (st == WEFT_OK) {
        note_cpus(all, n, p->report);
        p->m->nodes = nodes;
        p->m->ranks_per_node = n / nodes;
        note_memory(p->m);
    }
    wf_free(all);
    return st;
}
