/* SPDX-License-Identifier: Apache-2.0 */
/* Stages of different size, and stages without layers, train as the unsplit run does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "train/lab.h"

static void trains_alike(const char *model, const char *layout)
{
    lab_verify v = {0};
    weft_data *data = NULL;
    weft_reference *ref = NULL;

    lab_base(&v.cfg, model);
    lab_layout(&v.cfg, layout);
    MUST(weft_data_random(v.cfg.arch.vocab, v.cfg.arch.positions, 600, 7, 1, &data));
    MUST(weft_reference_create(&v.cfg, data, 2, &ref));
    v.data = data;
    v.ref = ref;
    if (lab_verify_run(&v)) fail_msg("%s: %s", layout, weft_status_message());
    if (!v.report.equal)
        fail_msg("%s: %s differs by %.3g of what is allowed", layout, v.report.worst_at,
                 v.report.worst);
    weft_verify_report_clear(&v.report);
    weft_reference_destroy(ref);
    weft_data_destroy(data);
}

#define SEVEN  "layers=7,hidden=12,heads=6,vocab=53,positions=4"
#define UNTIED SEVEN ",tied=0"

static void thirty_layers_on_four_stages(void **state) /* case 1 */
{
    (void)state;
    trains_alike("layers=30,hidden=12,heads=2,vocab=53,positions=4",
                 "pp=4 m=6 stage_layers=balanced");
}

static void counts_and_layouts_of_megatron(void **state)
{
    (void)state;
    trains_alike(SEVEN, "pp=2 tp=2 m=4 stage_layers=3,4");
    trains_alike(SEVEN, "pp=3 dp=2 m=4 stage_layers=Et*4|t|ttL schedule=gpipe");
}

static void two_chunks_a_rank(void **state)
{
    (void)state;
    trains_alike(SEVEN, "pp=2 vpp=2 m=4 stage_layers=3,1,2,1 schedule=interleaved");
    trains_alike(SEVEN, "pp=2 vpp=2 m=4 stage_layers=balanced schedule=zb-v");
    trains_alike(UNTIED, "pp=2 vpp=3 m=4 stage_layers=balanced schedule=interleaved");
}

/* At either end, in between, and two next to each other: one rank passes on to itself. */
static void stages_without_layers(void **state)
{
    (void)state;
    trains_alike(SEVEN, "pp=4 m=4 stage_layers=0,4,3,0");
    trains_alike(UNTIED, "pp=4 dp=2 m=4 stage_layers=0,4,0,3 schedule=zb-h1");
    trains_alike(SEVEN, "pp=2 vpp=2 tp=2 m=4 stage_layers=4,0,0,3 schedule=zb-v");
    trains_alike(SEVEN, "pp=2 vpp=2 m=4 stage_layers=E|t*7||L schedule=interleaved");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thirty_layers_on_four_stages),
        cmocka_unit_test(counts_and_layouts_of_megatron),
        cmocka_unit_test(two_chunks_a_rank),
        cmocka_unit_test(stages_without_layers),
    };
    return cmocka_run_group_tests_name("uneven stages", tests, NULL, NULL);
}
