/* SPDX-License-Identifier: Apache-2.0 */
/* Models, machines and layouts for the tests of cost; random ones that pass the rules. */
#ifndef WEFT_TESTS_COST_GIVEN_H
#define WEFT_TESTS_COST_GIVEN_H

#include <stdio.h>
#include <string.h>
#include <weft/predict.h>

#include "claim.h"

static inline weft_cost_model given_model(const char *arch, const char *machine,
                                          const weft_cost_options *o)
{
    weft_cost_options usual;
    weft_arch a;
    weft_machine m;
    weft_cost_model q;
    weft_cost_defaults(&usual);
    MUST(weft_arch_parse(arch, &a));
    MUST(weft_machine_parse(machine, &m));
    MUST(weft_cost_prepare(&a, &m, o ? o : &usual, &q));
    return q;
}

/* "tp=2 pp=4 global_batch=64 ..." */
static inline weft_layout given_layout(const weft_arch *a, const char *text)
{
    weft_layout l;
    char copy[256], *at = copy;
    weft_layout_defaults(&l);
    l.tp = l.pp = l.dp = 1;
    l.global_batch = 8;
    l.seq = 2048;
    snprintf(copy, sizeof copy, "%s", text);
    while (*at) {
        char *end = at + strcspn(at, " "), *value = strchr(at, '=');
        int more = *end != 0;
        *end = 0;
        *value++ = 0;
        MUST(weft_layout_plan_set(&l, at, value));
        at = end + more;
    }
    if (weft_layout_plan_check(&l, a)) fail_msg("%s: %s", text, weft_status_message());
    return l;
}

static inline unsigned given_next(unsigned *seed, unsigned n)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % n;
}

/* A random legal layout of at most `world` ranks. */
static inline weft_layout given_random(const weft_arch *a, unsigned *seed, int world)
{
    static const char *const kinds[] = {"1f1b",  "gpipe", "interleaved", "zb-h1",
                                        "zb-h2", "zb-v",  "dualpipev",   "eager-1f1b"};
    static const char *const again[] = {"none", "selective", "full"};
    static const char *const orders[] = {"tp,cp,pp,dp", "tp,cp,dp,pp", "pp,tp,cp,dp"};
    for (;;) {
        weft_layout l;
        weft_layout_defaults(&l);
        l.tp = 1 << given_next(seed, 4);
        l.cp = 1 << given_next(seed, 2);
        l.pp = 1 << given_next(seed, 4);
        l.dp = 1 << given_next(seed, 4);
        l.vpp = 1 + (int)given_next(seed, 3);
        l.zero = (int)given_next(seed, 4);
        l.replicate = l.zero && l.dp > 1 ? 1 << given_next(seed, 2) : 1;
        l.sp = (int)given_next(seed, 2);
        l.seq = 1024 << given_next(seed, 3);
        l.micro_batch = 1 << given_next(seed, 3);
        l.global_batch = l.micro_batch * l.dp * (1 + (int)given_next(seed, 32));
        snprintf(l.schedule, sizeof l.schedule, "%s", kinds[given_next(seed, 8)]);
        snprintf(l.recompute, sizeof l.recompute, "%s", again[given_next(seed, 3)]);
        snprintf(l.order, sizeof l.order, "%s", orders[given_next(seed, 3)]);
        if (weft_layout_world(&l) <= world && weft_layout_plan_check(&l, a) == WEFT_OK)
            return l;
    }
}

#define GIVEN_GPT   "layers=24,hidden=2048,heads=16,positions=8192"
#define GIVEN_LLAMA "llama3-8b"

#endif
