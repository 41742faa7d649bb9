/* SPDX-License-Identifier: Apache-2.0 */
/* Verify must see it when a kind of schedule loses what it needs: the sum over the two
 * copies of the weights, that of an embedding held by both ends, the weights of the
 * forward. The linker puts a mutant in the way of each of these functions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/stash.h"
#include "train/engine.h"
#include "train/lab.h"

typedef enum mutant {
    NONE,
    COPIES_APART, /* each copy's gradient is its own (and its replicas') */
    TIED_APART,   /* each end's gradient of the embedding is its own     */
    NEWEST,       /* a backward takes the newest weights                 */
    LATER_UPDATE, /* the gradient goes to the weights that it was made with */
    N_MUTANTS
} mutant;

static const char *const names[N_MUTANTS] = {
    "the program itself", "no sum over two copies", "no sum over tied ends",
    "backward with the newest weights", "update of the stashed weights"};
static mutant now;

/* What --wrap calls in place of X, and X itself. */
weft_group *__wrap_wf_sum_group(const weft_engine *e, int chunk);
weft_group *__real_wf_sum_group(const weft_engine *e, int chunk);
weft_status __wrap_wf_tied_sum(weft_engine *e);
weft_status __real_wf_tied_sum(weft_engine *e);
void __wrap_wf_stash_recall(wf_stash *s, int64_t micro);
void __real_wf_stash_recall(wf_stash *s, int64_t micro);
weft_status __wrap_wf_stash_renew(wf_stash *s, int64_t micro);
weft_status __real_wf_stash_renew(wf_stash *s, int64_t micro);

weft_group *__wrap_wf_sum_group(const weft_engine *e, int chunk)
{
    return now == COPIES_APART ? e->dp : __real_wf_sum_group(e, chunk);
}

weft_status __wrap_wf_tied_sum(weft_engine *e)
{
    return now == TIED_APART ? WEFT_OK : __real_wf_tied_sum(e);
}

void __wrap_wf_stash_recall(wf_stash *s, int64_t micro)
{
    if (now != NEWEST) __real_wf_stash_recall(s, micro);
}

weft_status __wrap_wf_stash_renew(wf_stash *s, int64_t micro)
{
    void *seen = s->version[s->seen[micro]].w, *newest;
    int64_t bytes = s->chunk->n_elems * weft_dtype_bytes(s->chunk->sh.t);

    if (now != LATER_UPDATE) return __real_wf_stash_renew(s, micro);
    void *old = malloc((size_t)bytes);
    assert_non_null(old);
    memcpy(old, seen, (size_t)bytes);
    weft_status st = __real_wf_stash_renew(s, micro);
    newest = s->version[s->newest].w;
    memcpy(newest, old, (size_t)bytes);
    free(old);
    return st;
}

typedef struct lab {
    lab_verify v;
    weft_data *data;
    weft_reference *ref;
} lab;

static void lab_open(lab *l, const char *model, const char *layout)
{
    *l = (lab){.data = NULL};
    lab_base(&l->v.cfg, model);
    lab_layout(&l->v.cfg, layout);
    MUST(weft_data_random(l->v.cfg.arch.vocab, 4, 100, 7, 1, &l->data));
    MUST(weft_reference_create(&l->v.cfg, l->data, 2, &l->ref));
    l->v.data = l->data;
    l->v.ref = l->ref;
}

static void lab_close(lab *l)
{
    weft_reference_destroy(l->ref);
    weft_data_destroy(l->data);
}

static int differs(lab *l, mutant m)
{
    now = m;
    weft_status st = lab_verify_run(&l->v);
    now = NONE;
    if (st != WEFT_OK)
        fail_msg("%s: %s", lab_text(&l->v.cfg.layout), weft_status_message());
    int equal = l->v.report.equal;
    print_message("  %-34s %-38s %s\n", names[m], lab_text(&l->v.cfg.layout),
                  equal ? "equal" : l->v.report.worst_at);
    weft_verify_report_clear(&l->v.report);
    return !equal;
}

#define TIED   "layers=8,hidden=8,heads=2,ffn=16,vocab=21,positions=4"
#define UNTIED TIED ",tied=0"

static void killed(mutant m, const char *model, const char *layout)
{
    lab l;

    lab_open(&l, model, layout);
    if (differs(&l, NONE)) fail_msg("%s: the program itself differs", layout);
    if (!differs(&l, m)) fail_msg("%s: %s survives", layout, names[m]);
    lab_close(&l);
}

static void two_copies_that_do_not_sum_are_seen(void **state)
{
    (void)state;
    killed(COPIES_APART, UNTIED, "pp=2 vpp=2 m=2 schedule=chimera");
    killed(COPIES_APART, TIED, "pp=2 dp=2 vpp=2 m=2 schedule=chimera");
    killed(COPIES_APART, UNTIED, "pp=4 vpp=2 m=8 schedule=dualpipe");
    killed(COPIES_APART, UNTIED, "pp=2 vpp=4 m=2 schedule=bitpipe");
}

static void ends_that_do_not_share_the_embedding_are_seen(void **state)
{
    (void)state;
    killed(TIED_APART, TIED, "pp=2 vpp=2 m=4 schedule=dualpipev");
    killed(TIED_APART, TIED, "pp=4 vpp=2 m=2 schedule=zb-v");
    killed(TIED_APART, TIED, "pp=2 vpp=2 m=2 schedule=chimera");
    killed(TIED_APART, TIED, "pp=2 vpp=4 m=2 schedule=bitpipe");
    killed(TIED_APART, TIED, "pp=4 m=2 schedule=zb-h1");
}

static void weights_of_another_time_are_seen(void **state)
{
    (void)state;
    killed(NEWEST, UNTIED, "pp=2 m=2 schedule=pipedream");
    killed(NEWEST, UNTIED, "pp=4 m=9 schedule=pipedream");
    killed(LATER_UPDATE, UNTIED, "pp=2 m=3 schedule=pipedream");
    killed(LATER_UPDATE, UNTIED, "pp=4 dp=2 m=9 schedule=pipedream");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_copies_that_do_not_sum_are_seen),
        cmocka_unit_test(ends_that_do_not_share_the_embedding_are_seen),
        cmocka_unit_test(weights_of_another_time_are_seen)};
    return cmocka_run_group_tests_name("mutants of kinds", tests, NULL, NULL);
}
