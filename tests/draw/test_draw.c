/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures as text against tests/draw/golden. After a wanted change look at the new ones:
 * WEFT_GOLDEN_UPDATE=1 writes them in place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "draw/test_draw.h"
#include "draw/toy.h"
#include "weft/draw.h"

static char *read_file(const char *path)
{
    static char text[65536];
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) fclose(f);
    text[n] = 0;
    return text;
}

static void assert_golden(const char *name, const char *got)
{
    char path[512];
    snprintf(path, sizeof path, "%s/draw/golden/%s.txt", WEFT_TEST_DIR, name);
    if (getenv("WEFT_GOLDEN_UPDATE")) {
        FILE *f = fopen(path, "wb");
        assert_non_null(f);
        fputs(got, f);
        fclose(f);
    }
    assert_string_equal(got, read_file(path));
}

static void assert_draws(const char *name, weft_trace t, int width, int ascii,
                         int color)
{
    weft_text text = {0};
    weft_writer w = weft_text_writer(&text);
    weft_draw_options o = {width, ascii, color, -1};
    assert_int_equal(weft_draw_text(&t, &o, &w), WEFT_OK);
    assert_golden(name, text.s);
    weft_text_clear(&text);
    weft_trace_clear(&t);
}

static int columns(const char *line, size_t n)
{
    int c = 0;
    for (size_t i = 0; i < n; i++)
        c += (line[i] & 0xC0) != 0x80;
    return c;
}

/* L46: the rows that lesson 001 prints for 4 stages. */
static void L46_forward_only_rows_are_those_of_the_lesson(void **state)
{
    static const struct {
        int m;
        const char *row[4], *busy;
    } lesson[] = {{1, {"0...", ".0..", "..0.", "...0"}, "25%"},
                  {4, {"0123...", ".0123..", "..0123.", "...0123"}, "57%"}};
    for (int k = 0; k < 2; k++) {
        weft_trace t = toy_forward(4, lesson[k].m);
        weft_text text = {0};
        weft_writer w = weft_text_writer(&text);
        weft_draw_options o = {80, 1, 0, -1};
        assert_int_equal(weft_draw_text(&t, &o, &w), WEFT_OK);
        for (int r = 0; r < 4; r++) {
            char row[64];
            snprintf(row, sizeof row, "rank %d |%s|  %s", r, lesson[k].row[r],
                     lesson[k].busy);
            assert_non_null(strstr(text.s, row));
        }
        weft_text_clear(&text);
        weft_trace_clear(&t);
    }
}

static void small_pictures_are_as_recorded(void **state)
{
    assert_draws("forward-4-4", toy_forward(4, 4), 80, 1, 0);
    assert_draws("gpipe-4-4", toy_gpipe(4, 4, 1, 2), 80, 0, 0);
    assert_draws("1f1b-2-4", toy_1f1b(2, 4, 1, 2), 80, 0, 0);
    assert_draws("1f1b-4-12", toy_1f1b(4, 12, 1, 2), 80, 0, 0);
    assert_draws("1f1b-4-12-ascii", toy_1f1b(4, 12, 1, 2), 80, 1, 0);
    assert_draws("1f1b-4-4-color", toy_1f1b(4, 4, 1, 2), 80, 0, 1);
    assert_draws("gpipe-4-64-dense", toy_gpipe(4, 64, 1, 2), 80, 0, 0);
    assert_draws("1f1b-4-12-uneven", toy_1f1b(4, 12, 1, 1.7), 80, 0, 0);
}

/* Two chunks a rank, one after the other: 2 ranks, 3 micro-batches, looped BFS. */
static weft_trace two_chunks(int m)
{
    weft_trace t;
    weft_trace_init(&t, 2, "", "two chunks");
    for (int r = 0; r < 2; r++)
        for (int i = 0; i < m; i++) {
            double turn = 2 * m + 1;
            toy_add(&t, r, WEFT_OP_F, i, 0, r + i, 1);
            toy_add(&t, r, WEFT_OP_F, i, 1, r + m + i, 1);
            toy_add(&t, r, WEFT_OP_B, i, 1, turn + 2 * (1 - r + i), 2);
            toy_add(&t, r, WEFT_OP_B, i, 0, turn + 2 * (1 - r + m + i), 2);
        }
    return t;
}

static void chunks_stand_in_the_name_or_in_a_line_of_their_own(void **state)
{
    assert_draws("chunks-wide", two_chunks(3), 160, 0, 0);
    assert_draws("chunks-narrow", two_chunks(3), 48, 0, 0);
}

static void split_backwards_have_a_letter_or_a_height_each(void **state)
{
    for (int k = 0; k < 3; k++) {
        weft_trace t;
        weft_trace_init(&t, 2, "", "split");
        for (int r = 0; r < 2; r++)
            for (int i = 0; i < 3; i++) {
                toy_add(&t, r, WEFT_OP_F, i, 0, r + i, 1);
                toy_add(&t, r, WEFT_OP_I, i, 0, 4 + 1 - r + i, 1);
                toy_add(&t, r, WEFT_OP_W, i, 0, 8 + 1 - r + i, 1);
            }
        const char *const name[] = {"split-wide", "split-narrow", "split-ascii"};
        assert_draws(name[k], t, k ? 26 : 80, k == 2, 0);
    }
}

static weft_trace measured(void)
{
    weft_trace t = toy_1f1b(2, 4, 0.001, 0.0021);
    snprintf(t.unit, sizeof t.unit, "s");
    t.measured = 1;
    for (int r = 0; r < 2; r++) {
        toy_label(&t, r, 0, "dp bucket", WEFT_LANE_COLLECTIVE, 0.014, 0.004);
        toy_label(&t, r, 0, "wait", WEFT_LANE_COMPUTE, 0.0155, 0.0025);
        toy_label(&t, r, 0, "optimizer", WEFT_LANE_COMPUTE, 0.018, 0.003);
    }
    return t;
}

static void measured_traces_show_collectives_and_the_optimizer(void **state)
{
    assert_draws("measured", measured(), 100, 0, 0);
}

static void two_traces_stand_on_one_time_axis(void **state)
{
    weft_trace a = toy_1f1b(2, 4, 1, 2), b = measured();
    weft_text text = {0};
    weft_writer w = weft_text_writer(&text);
    weft_draw_options o = {80, 1, 0, -1};
    assert_int_equal(weft_draw_text_pair(&a, &b, &o, &w), WEFT_OK);
    assert_golden("pair", text.s);
    weft_text_clear(&text);
    weft_trace_clear(&a);
    a = toy_forward(3, 1);
    assert_int_equal(weft_draw_text_pair(&a, &b, &o, &w), WEFT_E_MISMATCH);
    weft_trace_clear(&a);
    weft_trace_clear(&b);
}

static void no_line_is_wider_than_asked(void **state)
{
    for (int width = 40; width < 200; width += 7)
        for (int m = 1; m < 40; m += 5) {
            weft_trace t = toy_1f1b(12, m, 1, 1.5);
            weft_text text = {0};
            weft_writer w = weft_text_writer(&text);
            weft_draw_options o = {width, 0, 0, -1};
            assert_int_equal(weft_draw_text(&t, &o, &w), WEFT_OK);
            for (char *line = text.s; *line;) {
                size_t n = strcspn(line, "\n");
                int summary =
                    strstr(line, "in all;") && strstr(line, "in all;") < line + n;
                if (!summary && columns(line, n) > width)
                    fail_msg("%d columns of %d: %.*s", columns(line, n), width, (int)n,
                             line);
                line += n + (line[n] == '\n');
            }
            weft_text_clear(&text);
            weft_trace_clear(&t);
        }
}

static void nothing_to_draw_is_said(void **state)
{
    weft_trace t;
    weft_text text = {0};
    weft_writer w = weft_text_writer(&text);
    weft_trace_init(&t, 2, "", "empty");
    assert_int_equal(weft_draw_text(&t, NULL, &w), WEFT_E_INVALID);
    assert_int_equal(weft_draw_svg(&t, NULL, &w), WEFT_E_INVALID);
    assert_int_equal(weft_draw_trace_event(&t, &w), WEFT_E_INVALID);
    assert_non_null(strstr(weft_status_message(), "nothing to draw"));
    toy_add(&t, 0, WEFT_OP_F, 0, 0, 3, 0);
    assert_int_equal(weft_draw_text(&t, NULL, &w), WEFT_E_INVALID);
    weft_trace_clear(&t);
    weft_text_clear(&text);
}

static void a_step_can_be_drawn_alone(void **state)
{
    weft_trace t = toy_forward(2, 2);
    weft_text text = {0};
    weft_writer w = weft_text_writer(&text);
    weft_draw_options o = {80, 1, 0, 1};
    for (int i = 0; i < 4; i++) {
        weft_trace_entry e = t.entry[i];
        e.step = 1;
        e.start += 100;
        e.end += 100;
        assert_int_equal(weft_trace_add(&t, &e), WEFT_OK);
    }
    assert_int_equal(weft_draw_text(&t, &o, &w), WEFT_OK);
    assert_non_null(strstr(text.s, "rank 1 |.01|"));
    o.step = 2;
    assert_int_equal(weft_draw_text(&t, &o, &w), WEFT_E_INVALID);
    weft_text_clear(&text);
    weft_trace_clear(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(L46_forward_only_rows_are_those_of_the_lesson),
        cmocka_unit_test(small_pictures_are_as_recorded),
        cmocka_unit_test(chunks_stand_in_the_name_or_in_a_line_of_their_own),
        cmocka_unit_test(split_backwards_have_a_letter_or_a_height_each),
        cmocka_unit_test(measured_traces_show_collectives_and_the_optimizer),
        cmocka_unit_test(two_traces_stand_on_one_time_axis),
        cmocka_unit_test(no_line_is_wider_than_asked),
        cmocka_unit_test(nothing_to_draw_is_said),
        cmocka_unit_test(a_step_can_be_drawn_alone),
        cmocka_unit_test(svg_is_well_formed_for_every_kind_of_trace),
        cmocka_unit_test(svg_boxes_have_ids_classes_and_tooltips),
        cmocka_unit_test(svg_boxes_lie_where_the_op_ran),
        cmocka_unit_test(svg_of_very_many_boxes_stays_small),
        cmocka_unit_test(svg_numbers_do_not_depend_on_their_digits),
        cmocka_unit_test(svg_pair_has_one_time_axis_and_says_the_difference),
        cmocka_unit_test(svg_curve_is_of_bytes_where_the_trace_has_them),
    };
    return cmocka_run_group_tests_name("draw", tests, NULL, NULL);
}
