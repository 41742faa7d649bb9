/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/tamper/tamper.h"

#include <string.h>

#include "comm/comm_impl.h"

/* splitmix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014 */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void wf_tamper_wait(wf_tamper *t)
{
    if (t->jitter_s <= 0) return;
    double u = (double)(next_random(&t->random) >> 11) * 0x1p-53;
    wf_sleep_s(u * t->jitter_s);
}

void wf_tamper_dropped(wf_op *op, int size, int me)
{
    const char *in = op->in;
    char *out = op->out;
    size_t bytes = (size_t)op->bytes;

    (void)size;
    switch (op->kind) {
    case WF_ALL_GATHER: memmove(out + (size_t)me * bytes, in, bytes); break;
    case WF_ALL_TO_ALL:
        memmove(out + (size_t)me * bytes, in + (size_t)me * bytes, bytes);
        break;
    case WF_REDUCE_SCATTER: memmove(out, in + (size_t)me * bytes, bytes); break;
    case WF_SEND: weft_arena_give(op->arena, op->block); break;
    default: break; /* in place: the local value stays */
    }
}

void weft_tamper(weft_comm *c, weft_purpose why, int mode)
{
    c->tamper.mode[why] = (unsigned char)mode;
}

void weft_tamper_delay(weft_comm *c, weft_purpose why, double delay_s)
{
    c->tamper.delay_s[why] = delay_s;
}

void weft_tamper_jitter(weft_comm *c, double jitter_s, uint64_t seed)
{
    c->tamper.jitter_s = jitter_s;
    /* Ranks that are given one seed must not sleep in step. */
    c->tamper.random = seed ^ (0x9e3779b97f4a7c15u * (uint64_t)(c->rank + 1));
    next_random(&c->tamper.random);
}
