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

/* As weft machine measure --dtype f32 writes it. */
static void arithmetic_that_a_machine_lacks_is_named_with_what_it_has(void **state)
{
    write_text("here.json",
               "{\"name\":\"here\",\"ranks_per_node\":2,\"memory\":\"8GB\","
               "\"memory_bandwidth\":\"20GB/s\",\"tiers\":[{\"bandwidth\":\"5GB/s\"}],"
               "\"f32\":\"100GFLOP/s\",\"gemms\":[{\"math\":\"f32\",\"m\":256,"
               "\"n\":256,\"k\":256,\"flops_per_s\":9e10}]}");
#define TINY "layers=4,hidden=128,heads=4 -M ./here.json --global-batch 16 --seq 128 "
    refuses(2, "no rate for bf16; it has one for f32: --math f32", "report " TINY);
    refuses(2, "no rate for bf16; it has one for f32: --math f32", "plan " TINY);
    result r = weft("plan " TINY "--math f32");
    assert_int_equal(r.rc, 0);
    assert_non_null(strstr(r.out, "custom on here (2 ranks)"));
    assert_non_null(strstr(r.out, " GFLOP/s  bub %      MB  layout"));
    done(&r);
    r = weft("plan " TINY "--math f32 -M ./here.json,ranks_per_node=1");
    assert_non_null(strstr(r.out, "(1 rank)"));
    done(&r);
    r = weft("report " TINY "--math f32 --pp 1 --tp 1");
    assert_non_null(strstr(r.out, " GFLOP/s a rank"));
    assert_non_null(strstr(r.out, " MB\n"));
    assert_null(strstr(r.out, " 0.00 GB"));
    done(&r);
    r = weft("report " TINY "--tp 1 --pp 1 --achieved-flops 50GFLOP/s");
    assert_int_equal(r.rc, 0);
    done(&r);
    refuses(2, "no rate for fp8; it has one for bf16",
            "report llama3-8b -M v100:1x8 --global-batch 64 --seq 4096 --math fp8");
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

/* A row's layout, copied into a file, is what the other commands are told. */
static void a_planned_layout_is_a_run_file_of_every_command(void **state)
{
    json_t *plan = weft_json("plan layers=4,hidden=128,heads=4,positions=64 "
                             "-M h100:1x4 --global-batch 8 --seq 64 --pp 2 --tp 2 "
                             "--zero 0 --cp 1 --no-sp --recompute none --top 1 --json");
    json_t *row = json_array_get(json_object_get(plan, "layouts"), 0);
    json_t *layout = json_object_get(row, "layout");
    char *text = json_dumps(layout, 0);
    write_text("row.json", text);
    free(text);

    json_t *j = weft_json("report layers=4,hidden=128,heads=4,positions=64 "
                          "-M h100:1x4 --config row.json --json");
    assert_true(json_equal(json_object_get(j, "layout"), layout));
    assert_true(number(j, "step_time_s") / number(row, "step_time_s") < 1 + 1e-9);
    assert_true(number(j, "step_time_s") / number(row, "step_time_s") > 1 - 1e-9);
    json_decref(j);
    j = weft_json("schedule --config row.json --json");
    assert_int_equal(number(j, "p"), 2);
    assert_int_equal(number(j, "m"), number(layout, "n_micro"));
    assert_string_equal(json_string_value(json_object_get(j, "kind")),
                        json_string_value(json_object_get(layout, "schedule")));
    json_decref(j);
    j = weft_json("mesh --config row.json --json");
    assert_int_equal(number(j, "world"), 4);
    json_decref(j);
#ifdef WEFT_HAVE_RUN
    result r = weft("verify --config row.json");
    assert_int_equal(r.rc, 0);
    done(&r);
    write_text("words.txt", "words and words and words and words and words and so on, "
                            "until there are enough of them for 64 tokens");
    r = weft("train --config row.json --data words.txt --dry-run");
    assert_int_equal(r.rc, 0);
    assert_non_null(strstr(r.out, "layout: tp=2 pp=2 dp=1"));
    done(&r);
#endif
    json_decref(plan);
}

static void what_a_layout_file_says_of_itself_is_true(void **state)
{
    static const char *const command[] = {
        "schedule", "mesh",   "report gpt2 -M h100:1x4",
#ifdef WEFT_HAVE_RUN
        "train",    "verify",
#endif
        NULL};
    for (int i = 0; command[i]; i++) {
        write_text("row.json", "{\"tp\": 2, \"pp\": 2, \"dp\": 1, \"world\": 8}");
        refuses(2, "row.json: \"world\" is 8, but tp 2 * cp 1 * pp 2 * dp 1 are 4",
                "%s --config row.json", command[i]);
        write_text("row.json", "{\"pp\": 2, \"dp\": 2, \"global_batch\": 16, "
                               "\"micro_batch\": 2, \"n_micro\": 5}");
        refuses(2,
                "row.json: \"n_micro\" is 5, but global_batch 16 / (micro_batch 2 * dp "
                "2) are 4",
                "%s --config row.json", command[i]);
        write_text("row.json", "{\"tp\": 2, \"world\": 8}");
        refuses(2, "\"world\" follows from tp, pp and dp, which the file does not all",
                "%s --config row.json", command[i]);
    }
    write_text("row.json", "{\"world\": 8}");
    refuses(2, "no option \"world\"", "doctor --config row.json");
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

/* Notes say what of a line counts; flags given beside it go before it. */
static void lines_of_megatron_are_credited_with_what_they_do(void **state)
{
    static const char line[] =
        "--num-layers 24 --hidden-size 1024 --num-attention-heads 16 "
        "--micro-batch-size 1 --global-batch-size 64 --seq-length 1024 "
        "--max-position-embeddings 1024 --recompute-activations --lr 1 --no-such-flag ";
    char text[512];

    write_text("line.txt", line);
    result r = weft("report -M h100:1x8 --from megatron line.txt");
    assert_non_null(strstr(r.err, "unknown to megatron: --no-such-flag\n"));
    assert_non_null(strstr(r.err, "as they are predicted: --lr\n"));
    assert_non_null(
        strstr(r.err, "they change time or memory: --recompute-activations"));
    assert_non_null(strstr(r.err, "--dropout=false is without"));
    done(&r);
    json_t *a = weft_json("report -M h100:1x8 --from megatron line.txt --json");
    json_t *b =
        weft_json("report -M h100:1x8 --from megatron line.txt --dropout=false --json");
    snprintf(text, sizeof text, "%s--hidden-dropout 0 --attention-dropout 0", line);
    write_text("line.txt", text);
    json_t *c = weft_json("report -M h100:1x8 --from megatron line.txt --json");
    double masks = number(json_object_get(a, "memory_bytes"), "total") -
                   number(json_object_get(b, "memory_bytes"), "total");
    /* a byte a value: of the embedding, and of what each layer adds to the stream */
    assert_true(masks == (1 + 24.0 * 2) * 1024 * 1024);
    assert_true(number(b, "step_time_s") == number(c, "step_time_s"));
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(a, "layout"), "recompute")),
        "none");
    json_decref(a);
    json_decref(b);
    json_decref(c);
    refuses(1, "torchtitan's models have none",
            "plan " SMALL "--emit torchtitan --dropout");
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

/* What is printed is what runs, and what cannot be said is said. */
static void what_a_tool_cannot_run_is_said(void **state)
{
    refuses(1, "family 'llama' is not in this version", "plan " SMALL "--emit weft");
    refuses(1, "family 'llama' is not in this version",
            "report " SMALL "--tp 8 --pp 1 --dp 1 --emit weft");
    result r = weft("plan gpt2 -M h100:1x4 --seq 512 --global-batch 8 --emit weft");
    assert_int_equal(r.rc, 0);
    assert_non_null(strstr(r.out, "weft train --model gpt2"));
    assert_non_null(strstr(r.err, "is none that weft can run: --zero 1"));
    assert_non_null(strstr(r.err, "this is the best that it can: tp 2 x dp 2"));
    done(&r);
    r = weft("report " SMALL "--dp 8 --zero 3 --recompute full --emit deepspeed");
    assert_non_null(strstr(r.out, "\"activation_checkpointing\""));
    assert_non_null(strstr(r.err, "the model's code must"));
    done(&r);
    r = weft("report " SMALL "--dp 8 --zero 3 --emit deepspeed");
    assert_null(strstr(r.out, "activation_checkpointing"));
    assert_null(strstr(r.err, "the model's code must"));
    done(&r);
    refuses(2, "one of them", "plan " SMALL "--emit megatron --json");
    refuses(2, "one of them", "report " SMALL "--tp 8 --emit megatron --json");
    refuses(2, "no --explain with it", "plan " SMALL "--emit megatron --explain");
}

static void pins_that_cannot_be_name_their_rule(void **state)
{
    static const struct {
        const char *pin, *why, *rejected;
    } c[] = {
        {"--tp 3",
         "--tp 3 does not divide the 8 ranks; 6 and 9 ranks would do, or with these "
         "ranks 2 or 4\n",
         "ranks 1"},
        {"--tp 16", "--tp 16 does not divide the 8 ranks", "ranks 1"},
        {"--global-batch 2147483647", "-m 1073741824 is the most", "micro-schedule "}};
    for (int i = 0; i < 3; i++) {
        result r = weft("plan " SMALL "%s", c[i].pin);
        assert_int_equal(r.rc, 1);
        const char *none = strstr(r.out, "no layout fits: ");
        assert_non_null(none);
        assert_non_null(strstr(none, c[i].why));
        assert_non_null(strstr(r.out, "\nrejected: "));
        assert_non_null(strstr(r.out, c[i].rejected));
        assert_null(strstr(r.out, "No split of the model"));
        done(&r);
    }
    result r =
        weft("plan llama3-70b -M h100:8x8 --seq 4096 --global-batch 256 --tp 16");
    assert_non_null(strstr(r.out, "fits: --tp 16 does not divide 8 kv_heads"));
    assert_non_null(strstr(r.out, "rejected: tp-kv-heads 1\n"));
    done(&r);
}

/* Copies and groups that are given are all that is looked at. */
static void copies_and_groups_may_be_given(void **state)
{
    json_t *j = weft_json("plan llama3-8b -M h100:2x8 --global-batch 64 --seq 4096 "
                          "--replicate 4 --top 3 --json");
    const json_t *rows = json_object_get(j, "layouts");
    assert_int_equal(json_array_size(rows), 3);
    for (size_t i = 0; i < 3; i++) {
        const json_t *l = json_object_get(json_array_get(rows, i), "layout");
        assert_int_equal(number(l, "replicate"), 4);
        assert_true(number(l, "zero") > 0);
    }
    json_decref(j);
    j = weft_json("plan " SMALL "--pp 2 --group 4 --top 1 --json");
    rows = json_object_get(j, "layouts");
    const json_t *l = json_object_get(json_array_get(rows, 0), "layout");
    assert_int_equal(number(l, "group"), 4);
    assert_int_equal(
        strncmp(json_string_value(json_object_get(l, "schedule")), "interleaved", 11),
        0);
    json_decref(j);
    result r = weft("plan llama3-8b -M h100:2x8 --global-batch 64 --seq 4096 "
                    "--replicate 3 --top 1");
    assert_int_equal(r.rc, 1);
    assert_non_null(strstr(r.out, "--replicate 3 does not divide"));
    done(&r);
}

static void flags_of_no_use_are_not_in_the_help(void **state)
{
    static const char *const flag[] = {"  --from", "  --exact-memory"};
    result p = weft("plan --help"), q = weft("report --help");
    for (int i = 0; i < 2; i++) {
        assert_null(strstr(p.out, flag[i]));
        assert_non_null(strstr(q.out, flag[i]));
    }
    done(&p);
    done(&q);
    p = weft("plan " SMALL "--group 0 --replicate 1 --no-exact-memory --top 1");
    assert_int_equal(p.rc, 0);
    done(&p);
    refuses(2, "weft report takes it", "plan " SMALL "--exact-memory");
}

static void what_is_asked_against_the_winner_says_its_time(void **state)
{
    result r = weft("plan " SMALL "--top 1 --why-not dp=8");
    assert_non_null(strstr(r.out, "\n  that is the winner: "));
    done(&r);
    r = weft("plan " SMALL "--top 1 --why-not tp=8");
    assert_non_null(strstr(r.out, "slower than the winner's "));
    done(&r);
    refuses(2, "tp stands twice", "plan " SMALL "--why-not tp=8,tp=4");
    refuses(2, "--foo is no layout option", "plan " SMALL "--why-not foo=3");
}

/* Ties within the model's error put a simpler layout above a faster one: that is said. */
static void a_table_not_by_time_says_so(void **state)
{
    result r =
        weft("plan llama3-70b -M h100:8x8 --seq 4096 --global-batch 256 --tie 0.05");
    assert_non_null(strstr(r.out, "\nrow 1 is the simplest of those "));
    assert_non_null(strstr(r.out, "% against row 1"));
    done(&r);
    r = weft("plan " SMALL "--top 3 --tie 0");
    assert_null(strstr(r.out, "is the simplest of those"));
    done(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_report_has_every_key_of_the_interface),
        cmocka_unit_test(the_lesson_is_one_command),
        cmocka_unit_test(arithmetic_that_a_machine_lacks_is_named_with_what_it_has),
        cmocka_unit_test(what_does_not_fit_is_a_no),
        cmocka_unit_test(a_plan_has_every_key_of_the_interface),
        cmocka_unit_test(a_planned_layout_is_a_run_file_of_every_command),
        cmocka_unit_test(what_a_layout_file_says_of_itself_is_true),
        cmocka_unit_test(words_explain_and_say_why_not),
        cmocka_unit_test(lines_of_other_tools_go_out_and_come_back),
        cmocka_unit_test(lines_of_megatron_are_credited_with_what_they_do),
        cmocka_unit_test(bad_lines_name_what_was_typed),
        cmocka_unit_test(what_a_tool_cannot_run_is_said),
        cmocka_unit_test(pins_that_cannot_be_name_their_rule),
        cmocka_unit_test(copies_and_groups_may_be_given),
        cmocka_unit_test(flags_of_no_use_are_not_in_the_help),
        cmocka_unit_test(what_is_asked_against_the_winner_says_its_time),
        cmocka_unit_test(a_table_not_by_time_says_so),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
