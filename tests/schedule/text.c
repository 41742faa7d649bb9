/* SPDX-License-Identifier: Apache-2.0 */
/* Both text forms: round trips, and errors that name line and column. */
#include "support.h"

static const int chunks_of[] = {1, 3, 2, 2, 4}; /* by placement */

static char *csv_text(const weft_schedule *s)
{
    weft_text text = {0};
    weft_writer out = weft_text_writer(&text);
    weft_schedule_write_csv(s, &out);
    assert_ok(weft_writer_status(&out));
    char *copy = malloc(text.n + 1);
    memcpy(copy, text.s, text.n + 1);
    weft_text_clear(&text);
    return copy;
}

static void assert_same(const weft_schedule *a, const weft_schedule *b)
{
    assert_int_equal(a->p, b->p);
    assert_int_equal(a->m, b->m);
    assert_int_equal(a->v, b->v);
    assert_int_equal(a->placement, b->placement);
    assert_memory_equal(a->first, b->first, ((size_t)a->p + 1) * sizeof *a->first);
    assert_memory_equal(a->op, b->op, (size_t)a->first[a->p] * sizeof *a->op);
}

static void both_forms_come_back_as_they_went_out(void **state)
{
    uint64_t seed = 21;
    for (int i = 0; i < 500; i++) {
        weft_placement_kind place = (weft_placement_kind)(i % 5);
        int p = 1 + (int)random_below(&seed, 12), m = 2 + (int)random_below(&seed, 12);
        weft_schedule s = random_order(place, p, m, chunks_of[place], &seed);
        for (int64_t j = 0; j + 1 < s.first[1];
             j += 2) /* some pairs, never two in a row */
            if (random_below(&seed, 3) == 0) s.op[j].flags = WEFT_OPF_PAIR;
        char *ops = ops_text(&s), *csv = csv_text(&s);
        weft_schedule a = parsed(ops, place), b = parsed(csv, place);
        assert_same(&s, &a);
        assert_same(&s, &b);
        assert_string_equal(a.kind, "user");
        weft_schedule_clear(&a);
        weft_schedule_clear(&b);
        free(ops);
        free(csv);
        free(s.first);
        free(s.op);
    }
}

static void csv_is_that_of_pytorch(void **state)
{
    weft_schedule s = made("interleaved", 2, 2, 2);
    char *csv = csv_text(&s);
    assert_string_equal(csv, "0F0,0F1,2F0,2F1,2B0,2B1,0B0,0B1\n"
                             "1F0,1F1,3F0,3B0,3F1,3B1,1B0,1B1\n");
    free(csv);
    weft_schedule_clear(&s);
}

static void csv_takes_idle_cells_spaces_and_overlapped_pairs(void **state)
{
    const char *text =
        "0F0, 0F1 ,,(0F2;3B0)OVERLAP_F_B,,3B1\r\n,1F0,(1F1;2B0)OVERLAP_F_B\r\n\n";
    weft_schedule s = parsed(text, WEFT_PLACE_V);
    char *ops = ops_text(&s);
    assert_string_equal(ops, "F0.0 F1.0 F2.0& B0.1 B1.1\nF0.0 F1.0& B0.1\n");
    free(ops);
    weft_schedule_clear(&s);
}

static void the_writers_leave_communication_out(void **state)
{
    weft_schedule s = made("1f1b", 3, 3, 1), low;
    assert_ok(weft_schedule_lower(&s, &low));
    char *a = ops_text(&s), *b = ops_text(&low), *c = csv_text(&s), *d = csv_text(&low);
    assert_string_equal(a, b);
    assert_string_equal(c, d);
    free(a);
    free(b);
    free(c);
    free(d);
    weft_schedule_clear(&low);
    weft_schedule_clear(&s);
}

static void errors_name_line_and_column(void **state)
{
    static const struct {
        const char *text;
        weft_placement_kind placement;
        const char *words;
    } row[] = {
        {"", WEFT_PLACE_SINGLE, "the text holds no schedule"},
        {" \n\t\r\n", WEFT_PLACE_SINGLE, "the text holds no schedule"},
        {"F0.0 X0.0\n", WEFT_PLACE_SINGLE,
         "line 1 column 6: found 'X', needed one of F B I W R"},
        {"F0.0\nF0 B0.0\n", WEFT_PLACE_SINGLE,
         "line 2 column 3: found byte 0x20, needed '.'"},
        {"F0.0\nF0.", WEFT_PLACE_SINGLE,
         "line 2 column 4: found the end, needed a chunk"},
        {"F0.0\nF\n", WEFT_PLACE_SINGLE,
         "line 2 column 2: found the end of the line, needed a micro-batch"},
        {"F0.0B0.0\n", WEFT_PLACE_SINGLE, "line 1 column 5: found 'B', needed a space"},
        {"F-1.0\n", WEFT_PLACE_SINGLE, "line 1 column 2: found '-'"},
        {"F2147483647.0\n", WEFT_PLACE_SINGLE,
         "line 1 column 2: a micro-batch number is above"},
        {"F99999999999999999999.0\n", WEFT_PLACE_SINGLE, "is above 2147483646"},
        {"F0.1\n", WEFT_PLACE_SINGLE,
         "line 1 column 1: chunk 1, but placement single has 1 on a rank"},
        {"F0.0\nF0.0 F0.2\n", WEFT_PLACE_BIDIR, "line 2 column 6: chunk 2, but"},
        {"F0.255\n", WEFT_PLACE_LOOP,
         "chunk 255 on 1 ranks is beyond 255 chunks per rank"},
        {"F0.0\n\nF0.0\n", WEFT_PLACE_SINGLE,
         "line 2 is empty; each line is the list of one rank"},
        {"0F0,0X1\n", WEFT_PLACE_SINGLE, "line 1 column 6: found 'X'"},
        {"0F0\n1F0,SEND\n", WEFT_PLACE_SINGLE,
         "line 2 column 5: found 'S', needed a stage"},
        {"0F0,0UNSHARD\n", WEFT_PLACE_SINGLE, "line 1 column 6: found 'U'"},
        {"0F0,0SEND_F0\n", WEFT_PLACE_SINGLE, "line 1 column 6: found 'S'"},
        {"0F0\n2F0\n", WEFT_PLACE_SINGLE,
         "line 2 column 1: stage 2, but 2 ranks with placement single have 2"},
        {"0F0\n0F1\n", WEFT_PLACE_SINGLE,
         "line 2 column 1: stage 0 of micro-batch 1 is on rank 0 under placement "
         "single, this "
         "line is rank 1"},
        {"0F0,3F0\n1F0,2F0\n", WEFT_PLACE_LOOP, "line 1 column 5: stage 3 of"},
        {"0F0,(0F1;0B0)\n", WEFT_PLACE_SINGLE,
         "line 1 column 13: found ')', needed \")OVERLAP_F_B\""},
        {"0F0,(0F1,0B0)\n", WEFT_PLACE_SINGLE,
         "line 1 column 9: found ',', needed ';'"},
        {"0F0,(0F1;\n", WEFT_PLACE_SINGLE,
         "line 1 column 10: found the end of the line"},
        {"0F0,(0F1;", WEFT_PLACE_SINGLE,
         "line 1 column 10: found the end, needed a stage"},
        {"0F0 0B0\n", WEFT_PLACE_SINGLE, "line 1 column 5: found '0', needed a comma"},
        {"\x7f"
         "ELF",
         WEFT_PLACE_SINGLE, "line 1 column 1: found byte 0x7f"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        weft_schedule s = {.p = -7};
        assert_fails(weft_schedule_read(row[i].text, (int64_t)strlen(row[i].text),
                                        row[i].placement, &s),
                     WEFT_E_INVALID, row[i].words);
        assert_int_equal(s.p, -7);
    }
}

static void more_lines_than_ranks_are_possible_is_an_error(void **state)
{
    char *text = malloc(4097 * 5 + 1);
    for (int i = 0; i < 4097; i++)
        memcpy(text + 5 * i, "F0.0\n", 6);
    weft_schedule s;
    assert_fails(weft_schedule_read(text, 4097 * 5, WEFT_PLACE_SINGLE, &s),
                 WEFT_E_INVALID, "line 4097: more than 4096 ranks");
    assert_ok(weft_schedule_read(text, 4096 * 5, WEFT_PLACE_SINGLE, &s));
    assert_ok(weft_schedule_check(&s, 0, NULL));
    weft_schedule_clear(&s);
    free(text);
}

/* What reads also writes and reads again; what does not read says where. */
static void any_text_is_read_or_refused_with_a_place(void **state)
{
    static const char alphabet[] = "FBIW0123.& ,\n();OVERLAP_F_B\r\t";
    uint64_t seed = 22;
    int good = 0;
    for (int i = 0; i < 30000; i++) {
        char text[40];
        int n = (int)random_below(&seed, sizeof text);
        if (i % 3 == 0) { /* mostly well-formed */
            n = 0;
            for (int k = 1 + (int)random_below(&seed, 6); k > 0; k--) {
                text[n++] = "FBIWR"[random_below(&seed, 5)];
                text[n++] = (char)('0' + random_below(&seed, 3));
                text[n++] = '.';
                text[n++] = (char)('0' + random_below(&seed, 2));
                text[n++] = " \n&"[random_below(&seed, 3)];
            }
        } else {
            for (int j = 0; j < n; j++)
                text[j] = i % 3 == 1
                              ? alphabet[random_below(&seed, sizeof alphabet - 1)]
                              : (char)random_below(&seed, 256);
        }
        weft_placement_kind place = (weft_placement_kind)random_below(&seed, 5);
        weft_schedule s;
        if (weft_schedule_read(text, n, place, &s) != WEFT_OK) {
            const char *words = weft_status_message();
            assert_true(strstr(words, "line ") || strstr(words, "holds no") ||
                        strstr(words, "chunks per rank"));
            continue;
        }
        good++;
        char *ops = ops_text(&s);
        weft_status st = weft_schedule_check(&s, 0, NULL);
        assert_true(st == WEFT_OK || st == WEFT_E_INFEASIBLE);
        if (strstr(ops, "\n\n") == NULL && ops[0] != '\n') { /* no rank without ops */
            weft_schedule t = parsed(ops, place);
            assert_int_equal(t.first[t.p], s.first[s.p]);
            weft_schedule_clear(&t);
        }
        free(ops);
        weft_schedule_clear(&s);
    }
    assert_true(good > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_forms_come_back_as_they_went_out),
        cmocka_unit_test(csv_is_that_of_pytorch),
        cmocka_unit_test(csv_takes_idle_cells_spaces_and_overlapped_pairs),
        cmocka_unit_test(the_writers_leave_communication_out),
        cmocka_unit_test(errors_name_line_and_column),
        cmocka_unit_test(more_lines_than_ranks_are_possible_is_an_error),
        cmocka_unit_test(any_text_is_read_or_refused_with_a_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
