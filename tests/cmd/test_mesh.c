/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cmd/test_cmd.h"

static void assert_equals(const json_t *got, const char *want)
{
    json_t *w = json_loads(want, JSON_DECODE_ANY, NULL);
    assert_non_null(w);
    if (!json_equal(got, w))
        fail_msg("%s is not %s", json_dumps(got, JSON_COMPACT), want);
    json_decref(w);
}

static void case_123_both_orders_give_the_groups_of_their_tool(void **state)
{
    json_t *j = weft_json("mesh --tp 2 --pp 4 --dp 2 --json");
    const json_t *groups = json_object_get(j, "groups");
    assert_equals(json_array_get(json_object_get(j, "ranks"), 13),
                  "{\"rank\":13,\"tp\":1,\"cp\":0,\"pp\":2,\"dp\":1,\"node\":null}");
    assert_equals(json_object_get(groups, "pp"),
                  "[[0,2,4,6],[1,3,5,7],[8,10,12,14],[9,11,13,15]]");
    assert_string_equal(json_string_value(json_object_get(j, "order")), "tp,cp,pp,dp");
    json_decref(j);
    j = weft_json("mesh --tp 2 --pp 4 --dp 2 --order tp-cp-dp-pp --rank 13 --json "
                  "--gpus-per-node 8");
    assert_equals(json_object_get(j, "ranks"),
                  "[{\"rank\":13,\"tp\":1,\"cp\":0,\"pp\":3,\"dp\":0,\"node\":1}]");
    assert_equals(
        json_object_get(j, "groups"),
        "{\"tp\":[[12,13]],\"cp\":[[13]],\"pp\":[[1,5,9,13]],\"dp\":[[13,15]]}");
    json_decref(j);
}

static void case_122_round_robin_splits_the_tp_group_and_says_so(void **state)
{
    json_t *j = weft_json("mesh --tp 4 --dp 2 --gpus-per-node 4 --map-by node --json");
    assert_equals(json_object_get(j, "crossing"),
                  "{\"tp\":2,\"cp\":0,\"pp\":0,\"dp\":0}");
    json_decref(j);
    j = weft_json("mesh --tp 4 --dp 2 --gpus-per-node 4 --json");
    assert_equals(json_object_get(j, "crossing"),
                  "{\"tp\":0,\"cp\":0,\"pp\":0,\"dp\":4}");
    json_decref(j);
    result r = weft("mesh --tp 4 --dp 2 --gpus-per-node 4 --map-by node");
    assert_non_null(strstr(r.out, "tp: {0,1,2,3}* {4,5,6,7}*"));
    assert_non_null(strstr(r.out, "tp: 2 of 2 groups cross a node"));
    assert_non_null(strstr(r.out, "--map-by slot"));
    done(&r);
}

static void meshes_that_cannot_be_are_refused(void **state)
{
    refuses(2, "--tp 0: a degree is at least 1", "mesh --tp 0");
    refuses(2, "--dp -2: a degree is at least 1", "mesh --dp -2");
    refuses(2, "did you mean pp?", "mesh --pp 2 --order tp,pq");
    refuses(2, "--dp 2 needs a place in the order", "mesh --dp 2 --order tp,pp");
    refuses(2, "--rank 4 is outside the mesh: ranks go from 0 to 3",
            "mesh --tp 4 --rank 4");
    refuses(2, "more than 2147483647 ranks", "mesh --tp 100000 --dp 100000");
    refuses(2, "rows", "mesh --tp 2000000");
    refuses(2, "needs --gpus-per-node", "mesh --tp 4 --map-by node");
}

const struct CMUnitTest mesh_tests[] = {
    cmocka_unit_test(case_123_both_orders_give_the_groups_of_their_tool),
    cmocka_unit_test(case_122_round_robin_splits_the_tp_group_and_says_so),
    cmocka_unit_test(meshes_that_cannot_be_are_refused),
};
const int n_mesh_tests = sizeof mesh_tests / sizeof *mesh_tests;
