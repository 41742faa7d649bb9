/* SPDX-License-Identifier: Apache-2.0 */
/* weft report and weft plan as they are typed. */
#include <stdio.h>
#include <string.h>

#include "cmd/run.h"

#define SMALL "llama3-8b -M h100:1x8 --global-batch 64 --seq 4096 "
#define LESSON                                                                         \
    "layers=80,hidden=8192,heads=64,positions=4096,params=70e9 -M h100:8x8 "           \
    "--global-batch 256 --seq 4096 --achieved-flops 400TFLOP/s "

static void a_report_has_every_key_of_the_interface(void **state)
{
    static const char *const memory[] = {
        "stage",  "params", "grads",       "optimizer", "activations",
        "logits", "comm",   "temporaries", "reserve",   "total"};
    static const char *const times[] = {"compute", "tp_comm",   "cp_comm",
                                        "ep_comm", "pp_comm",   "dp_comm",
                                        "bubble",  "recompute", "optimizer"};
    json_t *j = weft_json("report " SMALL "--tp 2 --pp 2 --zero 1 --json");
    double sum = 0, held = 0;
    assert_true(json_is_true(json_object_get(j, "fits")));
    assert_true(number(j, "step_time_s") > 0 && number(j, "mfu") < 1);
    assert_true(number(j, "tokens_per_s") > 0 && number(j, "tflops_per_gpu") > 0);
    assert_true(number(j, "bubble_of_total") > 0);
    for (int i = 0; i < 9; i++)
        sum += number(json_object_get(j, "time_s"), times[i]);
    assert_true(sum / number(j, "step_time_s") < 1 + 1e-9);
    assert_true(sum / number(j, "step_time_s") > 1 - 1e-9);
    for (int i = 1; i < 9; i++)
        held += number(json_object_get(j, "memory_bytes"), memory[i]);
    assert_true(held == number(json_object_get(j, "memory_bytes"), "total"));
    assert_int_equal(json_array_size(json_object_get(j, "memory_by_stage")), 2);
    assert_true(number(json_object_get(j, "ratio"), "tp") > 0);
    assert_true(json_is_array(json_object_get(j, "warnings")));
    assert_int_equal(number(json_object_get(j, "layout"), "dp"), 2);
    json_decref(j);
}

static void the_lesson_is_one_command(void **state)
{
    result r = weft("report " LESSON "--tp 8 --pp 8");
    assert_non_null(strstr(r.out, "= 1120 GB; of a rank 17.5 GB"));
    assert_non_null(strstr(r.out, "0.44 GB a layer and micro-batch, 34.9 GB in all"));
    assert_non_null(strstr(r.out, "52.4 GB on pipeline rank 0"));
    assert_non_null(strstr(r.out, "2.7 % of the total"));
    assert_non_null(strstr(r.out, "ratio 0.25 on NVLink4 (2.3 on"));
    assert_non_null(strstr(r.err, "--dp 1 follows from the 64 ranks"));
    done(&r);
    r = weft("report " LESSON "--tp 8 --dp 8 --zero 3");
    assert_non_null(
        strstr(r.out, "communication-bound, 4096 tokens a rank, F/W is 8000"));
    done(&r);
}

static void what_does_not_fit_is_a_no(void **state)
{
    result r =
        weft("report llama3-70b -M h100:1x8 --global-batch 64 --seq 4096 --tp 8");
    assert_int_equal(r.rc, 1);
    assert_non_null(strstr(r.out, "DOES NOT FIT"));
    done(&r);
    r = weft("plan llama3-405b -M h100:1x8 --global-batch 64 --seq 4096");
    assert_int_equal(r.rc, 1);
    assert_non_null(strstr(r.out, "no layout fits"));
    done(&r);
}

static void a_plan_has_every_key_of_the_interface(void **state)
{
    json_t *j = weft_json("plan " SMALL "--json --pareto --top 3");
    const json_t *rows = json_object_get(j, "layouts");
    assert_int_equal(json_array_size(rows), 3);
    assert_true(number(j, "enumerated") >
                number(j, "bounded") + number(j, "simulated") - 1);
    assert_true(number(j, "feasible") > 0 && number(j, "seconds") > 0);
    assert_true(json_is_object(json_object_get(j, "rejected")));
    assert_true(json_array_size(json_object_get(j, "pareto")) >= 2);
    /* the first is as report has it */
    double planned = number(json_array_get(rows, 0), "step_time_s");
    const json_t *l = json_object_get(json_array_get(rows, 0), "layout");
    char line[1024];
    snprintf(
        line, sizeof line,
        "report " SMALL "--tp %d --cp %d --pp %d --vpp %d --micro-batch %d --zero %d "
        "--%ssp --schedule %s --order %s --recompute %s --stage-layers %s --cp-comm %s "
        "--json",
        (int)number(l, "tp"), (int)number(l, "cp"), (int)number(l, "pp"),
        (int)number(l, "vpp"), (int)number(l, "micro_batch"), (int)number(l, "zero"),
        json_is_true(json_object_get(l, "sp")) ? "" : "no-",
        json_string_value(json_object_get(l, "schedule")),
        json_string_value(json_object_get(l, "order")),
        json_string_value(json_object_get(l, "recompute")),
        json_string_value(json_object_get(l, "stage_layers")),
        json_string_value(json_object_get(l, "cp_comm")));
    json_t *one = weft_json("%s", line);
    assert_true(number(one, "step_time_s") / planned < 1 + 1e-9);
    assert_true(number(one, "step_time_s") / planned > 1 - 1e-9);
    json_decref(one);
    json_decref(j);
}

static void words_explain_and_say_why_not(void **state)
{
    result r = weft("plan " SMALL "--explain --why-not tp=8 --top 2");
    assert_int_equal(r.rc, 0);
    assert_non_null(strstr(r.out, "plain DP"));
    assert_non_null(strstr(r.out, "No split of the model is needed"));
    assert_non_null(strstr(r.out, "The winner: "));
    assert_non_null(strstr(r.out, "The best of what is asked for: tp 8"));
    assert_non_null(strstr(r.out, "slower than the winner"));
    done(&r);
    r = weft("plan " SMALL "--why-not tp=16 --top 1");
    assert_non_null(strstr(r.out, "none: --tp 16 does not divide the 8 ranks"));
    done(&r);
}

static void lines_of_other_tools_go_out_and_come_back(void **state)
{
    result r = weft("report " SMALL "--tp 2 --pp 2 --zero 1 --emit megatron");
    assert_int_equal(r.rc, 0);
    write_text("mega.txt", r.out);
    done(&r);
    json_t *a = weft_json("report " SMALL "--tp 2 --pp 2 --zero 1 --json");
    json_t *b = weft_json("report -M h100:1x8 --from megatron mega.txt --json");
    assert_true(number(a, "step_time_s") == number(b, "step_time_s"));
    json_decref(a);
    json_decref(b);
    r = weft("report " SMALL "--tp 2 --pp 2 --zero 2 --emit torchtitan");
    assert_non_null(strstr(r.out, "--parallelism.pipeline_parallel_degree 2"));
    done(&r);
    r = weft("report " SMALL "--tp 2 --pp 2 --zero 1 --emit slurm");
    assert_non_null(strstr(r.out, "#SBATCH --nodes=1"));
    assert_non_null(strstr(r.out, "--use-tp-pp-dp-mapping"));
    done(&r);
    r = weft("plan " SMALL "--emit torchtitan");
    assert_int_equal(r.rc, 0);
    assert_non_null(strstr(r.out, "--training.num_tokens_per_train_step 262144"));
    done(&r);
    r = weft("report " SMALL "--tp 2 --pp 2 --emit ranks");
    assert_non_null(strstr(r.out, "rank,node,local_rank,tp,cp,pp,dp,ep\n"));
    done(&r);
}

static void bad_lines_name_what_was_typed(void **state)
{
    refuses(2, "--machine is missing", "report gpt2 --seq 1024 --global-batch 8");
    refuses(2, "--seq is missing", "report gpt2 -M h100:1x1 --global-batch 8");
    refuses(2, "--global-batch is missing", "plan gpt2 -M h100:1x1 --seq 8");
    refuses(2, "a MODEL is needed", "plan -M h100:1x1");
    refuses(2, "--tp 3 does not divide", "report " SMALL "--tp 3");
    refuses(2, "--achieved-flops 1e-300: at least 1e+06 FLOP/s",
            "report " SMALL "--tp 8 --achieved-flops 1e-300");
    refuses(2, "no dimension=value", "plan " SMALL "--why-not tp");
    refuses(2, "needs a file after it", "report --from megatron -M h100:1x8");
    refuses(1, "--use-tp-pp-dp-mapping",
            "report " SMALL "--tp 2 --pp 2 --dp 2 --order pp,tp,cp,dp --emit megatron");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_report_has_every_key_of_the_interface),
        cmocka_unit_test(the_lesson_is_one_command),
        cmocka_unit_test(what_does_not_fit_is_a_no),
        cmocka_unit_test(a_plan_has_every_key_of_the_interface),
        cmocka_unit_test(words_explain_and_say_why_not),
        cmocka_unit_test(lines_of_other_tools_go_out_and_come_back),
        cmocka_unit_test(bad_lines_name_what_was_typed),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
