/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small job that only communicates, for the tests of faults: every step passes a block
 * round the ranks and sums a value over them.
 *
 *   driver show=DIR
 *   driver [ranks=N] [steps=N] [timeout=S] [status=DIR] [sleep=S] [read=FILE:RANK] [hang=RANK]
 *
 * Under a launcher the ranks are MPI processes, else ranks=N threads. read: that rank reads
 * that file before it starts. hang: that rank never calls MPI_Init. Ends as the program
 * does: 0 done, 3 a fault. show: what the status files in DIR say.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comm/cases.h"
#include "comm/comm_impl.h"

static struct {
    int ranks, steps, read_rank, hang_rank;
    double timeout_s, sleep_s;
    const char *status_dir, *read;
} arg = {.ranks = 4, .steps = 10, .read_rank = -1, .hang_rank = -1, .timeout_s = 3};

static int show(const char *dir)
{
    char text[300];
    for (int r = 0; weft_board_read(dir, r, text, sizeof text) == WEFT_OK; r++)
        puts(text);
    return 0;
}

static void parse(char *text)
{
    char *value = strchr(text, '=');
    if (!value) exit(2);
    *value++ = '\0';
    if (!strcmp(text, "ranks")) arg.ranks = atoi(value);
    if (!strcmp(text, "steps")) arg.steps = atoi(value);
    if (!strcmp(text, "hang")) arg.hang_rank = atoi(value);
    if (!strcmp(text, "timeout")) arg.timeout_s = atof(value);
    if (!strcmp(text, "sleep")) arg.sleep_s = atof(value);
    if (!strcmp(text, "status")) arg.status_dir = value;
    if (!strcmp(text, "show")) exit(show(value));
    if (!strcmp(text, "read")) {
        char *rank = strrchr(value, ':');
        if (!rank) exit(2);
        *rank++ = '\0';
        arg.read = value;
        arg.read_rank = atoi(rank);
    }
}

static weft_status read_data(const weft_comm *c)
{
    if (weft_comm_rank(c) != arg.read_rank) return WEFT_OK;
    FILE *f = fopen(arg.read, "r");
    if (!f) return WF_FAIL(WEFT_E_IO, "%s: cannot be read", arg.read);
    fclose(f);
    return WEFT_OK;
}

static weft_status pass_on(weft_comm *c, weft_arena *a, int step)
{
    enum { BYTES = 100000 };
    int n = weft_comm_size(c), me = weft_comm_rank(c);
    weft_event s, r;
    void *p;
    WF_TRY(weft_recv_block(c, WEFT_FOR_ACT, (me + n - 1) % n, step, a, WEFT_ACT, BYTES,
                           &r));
    WF_TRY(weft_arena_take(a, WEFT_COMM, BYTES, &p));
    memset(p, step, BYTES);
    WF_TRY(weft_send_block(c, WEFT_FOR_ACT, (me + 1) % n, step, a, p, BYTES, &s));
    WF_TRY(weft_wait(c, &r));
    WF_TRY(weft_wait(c, &s));
    weft_arena_give(a, r.block);
    return WEFT_OK;
}

static weft_status one_step(weft_comm *c, weft_group *g, weft_arena *a, int step)
{
    weft_event ev;
    double v = 1;
    weft_comm_note(c, step, "F2.0");
    wf_sleep_s(arg.sleep_s);
    WF_TRY(pass_on(c, a, step));
    weft_comm_note(c, step, "REDUCE");
    WF_TRY(weft_all_reduce(g, WEFT_FOR_DP_GRAD, &v, 1, WEFT_F64, WEFT_SUM, &ev));
    WF_TRY(weft_wait(c, &ev));
    CLAIM(v == weft_comm_size(c), "the sum is %g", v);
    return weft_comm_poll(c);
}

static weft_status job(weft_comm *c, void *ctx)
{
    weft_group *g;
    weft_arena *a;
    (void)ctx;
    WF_TRY(read_data(c));
    WF_TRY(everyone(c, "dp", &g));
    WF_TRY(weft_arena_create(0, &a));
    weft_status st = WEFT_OK;
    for (int step = 0; step < arg.steps && !st; step++)
        st = one_step(c, g, a, step);
    if (st == WEFT_OK) st = weft_barrier(g);
    if (st != WEFT_OK) weft_comm_abort(c, st, weft_status_message(), 0);
    weft_arena_destroy(a);
    weft_group_destroy(g);
    return st;
}

static void stuck(const char *message)
{
    if (*message) fprintf(stderr, "%s\n", message);
    wf_sleep_s(*message ? 0 : 1); /* the launcher ends all when one ends */
    _exit(3);
}

/* Four processes on a busy machine may take longer to start than a rank may be waited for:
 * the limit of the start is tested where a rank hangs in it. */
enum { START_S = 30 };

static int on_mpi(const weft_comm_options *given)
{
    weft_comm_options o = *given;
    weft_comm *c;
    if (arg.hang_rank < 0) o.timeout_s = START_S;
    if (weft_comm_mpi(&o, &c) != WEFT_OK) {
        if (*weft_status_message()) fprintf(stderr, "%s\n", weft_status_message());
        return 3;
    }
    weft_comm_set_timeout(c, given->timeout_s);
    weft_status st = job(c, NULL);
    if (st != WEFT_OK) {
        char words[1024];
        snprintf(words, sizeof words, "%s", weft_status_message());
        weft_comm_abort(c, st, words, 1);
    }
    weft_comm_destroy(c);
    return st ? 3 : 0;
}

static int launched_rank(void)
{
    const char *r = getenv("OMPI_COMM_WORLD_RANK");
    if (!r) r = getenv("PMI_RANK");
    return r ? atoi(r) : -2;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        parse(argv[i]);
    if (launched_rank() == arg.hang_rank) sleep(1000);
    weft_comm_options o = {.timeout_s = arg.timeout_s,
                           .status_dir = arg.status_dir,
                           .program = "driver",
                           .on_stuck = stuck};
    if (weft_mpi_launched(NULL)) return on_mpi(&o);
    weft_status st = weft_loop_run(arg.ranks, &o, job, NULL);
    if (st != WEFT_OK) fprintf(stderr, "%s\n", weft_status_message());
    return st ? 3 : 0;
}
