/* SPDX-License-Identifier: Apache-2.0 */
/* A communicator's life, and the calls that only read it. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/error.h"
#include "comm/comm_impl.h"

enum { DEFAULT_TIMEOUT_S = 300 };

static volatile sig_atomic_t stop_asked;

double wf_now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void wf_sleep_s(double seconds)
{
    if (seconds <= 0) return;
    struct timespec t = {.tv_sec = (time_t)seconds};
    t.tv_nsec = (long)((seconds - (double)t.tv_sec) * 1e9);
    while (nanosleep(&t, &t) && errno == EINTR)
        ;
}

double wf_timeout_of(const weft_comm_options *o)
{
    return o && o->timeout_s > 0 ? o->timeout_s : DEFAULT_TIMEOUT_S;
}

weft_status wf_comm_init(weft_comm *c, const wf_backend *back, int rank, int size,
                         const weft_comm_options *o)
{
    int p2p;
    c->back = back;
    c->rank = rank;
    c->size = size;
    c->timeout_s = wf_timeout_of(o);
    c->on_stuck = o ? o->on_stuck : NULL;
    c->program = o && o->program ? o->program : "";
    WF_TRY(wf_fault_parse(getenv("WEFT_FAULT"), &c->fault));
    return wf_count_set_of(&c->count, "p2p", &p2p);
}

weft_status wf_comm_init_sub(weft_comm *c, const weft_comm *world, int rank, int size)
{
    int p2p;
    c->back = world->back;
    c->rank = rank;
    c->size = size;
    c->timeout_s = world->timeout_s;
    c->on_stuck = world->on_stuck;
    c->program = world->program;
    c->fault = world->fault;
    c->tamper = world->tamper;
    c->board = world->board;
    c->board.borrowed = 1;
    return wf_count_set_of(&c->count, "p2p", &p2p);
}

void wf_comm_clear(weft_comm *c)
{
    wf_board_close(&c->board, c->failed != WEFT_OK);
    wf_count_clear(&c->count);
    for (int64_t i = 0; i < c->n_slots; i++)
        wf_free(c->slots[i]);
    wf_free(c->slots);
}

weft_status wf_comm_usable(weft_comm *c)
{
    weft_status st = wf_fault_check(&c->fault);
    if (st != WEFT_OK) return wf_comm_break(c, st);
    return c->failed ? WF_FAIL(c->failed, "%s", c->words) : WEFT_OK;
}

weft_status wf_comm_break(weft_comm *c, weft_status st)
{
    if (c->failed) return st;
    snprintf(c->words, sizeof c->words, "%s", weft_status_message());
    c->failed = st;
    c->back->withdraw(c);
    return WF_FAIL(st, "%s", c->words);
}

void weft_comm_destroy(weft_comm *c)
{
    if (c) c->back->destroy(c);
}

int weft_comm_rank(const weft_comm *c)
{
    return c->rank;
}

int weft_comm_size(const weft_comm *c)
{
    return c->size;
}

int weft_comm_posts_memory(const weft_comm *c)
{
    return c->back->posts_memory;
}

const char *weft_comm_name(const weft_comm *c)
{
    return c->back->name;
}

const char *weft_comm_status_dir(const weft_comm *c)
{
    return c->board.dir ? c->board.dir : "";
}

void weft_comm_set_timeout(weft_comm *c, double seconds)
{
    if (seconds > 0) c->timeout_s = seconds;
}

void weft_comm_abort(weft_comm *c, weft_status st, const char *message, int kill)
{
    c->back->abort(c, st, message ? message : weft_status_name(st), kill);
}

void weft_comm_ask_stop(void)
{
    stop_asked = 1;
}

weft_status weft_comm_poll(weft_comm *c)
{
    if (stop_asked) return WF_FAIL(WEFT_E_CANCELLED, "asked to stop by a signal");
    WF_TRY(wf_comm_usable(c));
    WF_TRY(c->back->progress(c, NULL));
    return c->back->poll(c);
}

void weft_comm_note(weft_comm *c, int64_t step, const char *op)
{
    wf_board_note(&c->board, step, op);
    if (c->fault.kind) wf_fault_strike(&c->fault, c->rank, step, c->back->is_process);
}

weft_status weft_comm_first(weft_comm *world, int n, weft_comm **out)
{
    if (n < 1 || n > world->size)
        return WF_FAIL(WEFT_E_INVALID,
                       "%d ranks were asked for, there are %d (1 to %d)", n,
                       world->size, world->size);
    WF_TRY(wf_comm_usable(world));
    return world->back->first(world, n, out);
}
