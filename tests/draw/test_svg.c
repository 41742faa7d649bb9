/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
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

static weft_text draw(const weft_trace *t, int width)
{
    weft_text text = {0};
    weft_writer w = weft_text_writer(&text);
    weft_draw_options o = {width, 0, 0, -1};
    assert_int_equal(weft_draw_svg(t, &o, &w), WEFT_OK);
    return text;
}

/* Skip one tag from '<'; its name into name [32]. 1 opens, -1 closes, 0 is complete. */
static const char *take_tag(const char *s, char *name, int *what)
{
    int closes = s[1] == '/', n = 0;
    s += 1 + closes;
    while ((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z'))
        if (n < 31) name[n++] = *s++;
    name[n] = 0;
    assert_true(n > 0);
    while (*s == ' ') {
        s++;
        size_t key = strcspn(s, "=<>/ ");
        assert_true(key > 0 && s[key] == '=' && s[key + 1] == '"');
        s += key + 2;
        size_t value = strcspn(s, "\"<");
        assert_int_equal(s[value], '"');
        s += value + 1;
    }
    *what = closes ? -1 : *s == '/' ? 0 : 1;
    s += *s == '/';
    assert_int_equal(*s, '>');
    return s + 1;
}

/* Tags nest, attributes are quoted, '<' and '&' stand for nothing else. */
static void assert_well_formed(const char *s)
{
    char open[16][32], name[32];
    int depth = 0, what;

    while (*s) {
        if (*s == '<') {
            s = take_tag(s, name, &what);
            if (what > 0) assert_true(depth < 16);
            if (what > 0) strcpy(open[depth++], name);
            if (what < 0) assert_true(depth > 0);
            if (what < 0) assert_string_equal(open[--depth], name);
        } else {
            if (*s == '&') assert_true(strcspn(s, ";") < 7);
            assert_true(depth > 0 || *s == '\n');
            s++;
        }
    }
    assert_int_equal(depth, 0);
}

static int count(const char *s, const char *what)
{
    int n = 0;
    for (; (s = strstr(s, what)); s += strlen(what))
        n++;
    return n;
}

static void check(weft_trace t, int width)
{
    weft_text svg = draw(&t, width);
    assert_well_formed(svg.s);
    assert_null(strstr(svg.s, "nan"));
    assert_null(strstr(svg.s, "=\"-"));
    weft_text_clear(&svg);
    weft_trace_clear(&t);
}

void svg_is_well_formed_for_every_kind_of_trace(void **state)
{
    check(toy_1f1b(4, 12, 1, 2), 0);
    check(toy_1f1b(40, 3, 1, 2), 100);
    check(toy_forward(1, 1), 0);
    check(toy_gpipe(3, 9, 1e-9, 2e-9), 0);
    weft_trace t = toy_1f1b(2, 2, 1, 2);
    snprintf(t.title, sizeof t.title, "a<b & \"c\" > d");
    for (int lane = 0; lane < WEFT_N_LANES; lane++)
        toy_label(&t, 0, 3, "<odd> & \"label\"", lane, 1, 5);
    check(t, 0);
}

void svg_boxes_have_ids_classes_and_tooltips(void **state)
{
    weft_trace t = toy_1f1b(4, 12, 1, 2);
    weft_text svg = draw(&t, 0);
    assert_int_equal(count(svg.s, "<rect id=\"r"), 96);
    assert_int_equal(count(svg.s, "class=\"F\" x"), 48 + 1); /* one in the legend */
    assert_int_equal(count(svg.s, "<title>rank "), 96 + 4);  /* and the memory curves */
    for (int r = 0; r < 4; r++)
        for (int i = 0; i < 12; i++) {
            char id[40];
            snprintf(id, sizeof id, "id=\"r%d-B%d.0\"", r, i);
            assert_int_equal(count(svg.s, id), 1);
        }
    assert_int_equal(count(svg.s, ">peak 4<"), 1);
    assert_int_equal(count(svg.s, "holds at most 1 activations"), 1);
    weft_text_clear(&svg);
    weft_trace_clear(&t);
}

static double attribute(const char *tag, const char *name)
{
    const char *s = strstr(tag, name);
    assert_non_null(s);
    return strtod(s + strlen(name), NULL);
}

/* B3 of rank 1 runs from 3 + 4*3 + 2*2 - 2 = 17 to 19 of 45. */
void svg_boxes_lie_where_the_op_ran(void **state)
{
    weft_trace t = toy_1f1b(4, 12, 1, 2);
    weft_text svg = draw(&t, 64 + 62 + 45 * 20);
    const char *tag = strstr(svg.s, "id=\"r1-B3.0\"");
    assert_non_null(tag);
    assert_true(fabs(attribute(tag, " x=\"") - 0.5 - (64 + 17 * 20)) < 0.01);
    assert_true(fabs(attribute(tag, " width=\"") + 1 - 40) < 0.01);
    assert_non_null(strstr(tag, "<title>rank 1 B3: 17 to 19, 2</title>"));
    weft_text_clear(&svg);
    weft_trace_clear(&t);
}

void svg_of_very_many_boxes_stays_small(void **state)
{
    weft_trace t = toy_1f1b(16, 4096, 1, 2);
    weft_text svg = draw(&t, 0);
    assert_true(svg.n < 3000000);
    assert_non_null(strstr(svg.s, "class=\"mixed\""));
    weft_text_clear(&svg);
    weft_trace_clear(&t);
}

/* Boxes of one width have all a number or none: 9 would fit where 10 does not. */
void svg_numbers_do_not_depend_on_their_digits(void **state)
{
    static const struct {
        int px, labels; /* of a forward; in all */
    } rows[] = {{20, 96}, {14, 96}, {11, 96}, {10, 96}, {6, 48}, {3, 0}};
    weft_trace t = toy_gpipe(4, 12, 1, 2);
    for (int i = 0; i < 6; i++) {
        weft_text svg = draw(&t, 64 + 62 + 45 * rows[i].px);
        assert_int_equal(count(svg.s, "<text class=\"label"), rows[i].labels);
        weft_text_clear(&svg);
    }
    weft_trace_clear(&t);
}

/* The second begins later and ends sooner: one axis for both. */
void svg_pair_has_one_time_axis_and_says_the_difference(void **state)
{
    weft_trace a = toy_gpipe(4, 8, 1, 2), b = toy_1f1b(4, 2, 1, 2);
    weft_text text = {0};
    weft_writer w = weft_text_writer(&text);
    weft_draw_options o = {64 + 62 + 33 * 20, 0, 0, -1};
    assert_int_equal(weft_draw_svg_pair(&a, &b, &o, &w), WEFT_OK);
    assert_well_formed(text.s);
    assert_non_null(strstr(text.s, "b takes 18 less (-54.5 %), its bubble is "
                                   "32.73 points larger<"));
    assert_non_null(strstr(text.s, ">33, bubble 27.27 %<"));
    assert_non_null(strstr(text.s, ">15, bubble 60.00 %<"));
    assert_int_equal(count(text.s, "<rect id=\"a-r"), 64);
    assert_int_equal(count(text.s, "<rect id=\"b-r"), 16);
    const char *last = strstr(text.s, "id=\"b-r0-B1.0\"");
    assert_non_null(last);
    assert_true(fabs(attribute(last, " x=\"") - 0.5 - (64 + 13 * 20)) < 0.01);
    const char *end = strstr(text.s, "id=\"b-end\"");
    assert_non_null(end);
    assert_true(fabs(attribute(end, " d=\"M") - (64 + 15 * 20)) < 0.01);
    snprintf(b.unit, sizeof b.unit, "s");
    assert_int_equal(weft_draw_svg_pair(&a, &b, &o, &w), WEFT_E_MISMATCH);
    weft_text_clear(&text);
    weft_trace_clear(&a);
    weft_trace_clear(&b);
}

void svg_curve_is_of_bytes_where_the_trace_has_them(void **state)
{
    weft_trace t = toy_gpipe(2, 2, 1, 2);
    for (int i = 0; i < 4; i++) {
        weft_trace_level l = {
            .at = 2 * i, .bytes = i == 1 ? 3 << 20 : 1 << 20, .rank = 1};
        assert_int_equal(weft_trace_add_level(&t, &l), WEFT_OK);
    }
    weft_text svg = draw(&t, 0);
    assert_well_formed(svg.s);
    assert_int_equal(count(svg.s, "-memory\""), 1); /* rank 0 has no levels */
    assert_non_null(strstr(svg.s, "<title>rank 1 holds at most 3 MiB</title>"));
    assert_non_null(strstr(svg.s, ">memory held<"));
    weft_text_clear(&svg);
    t.level[0].rank = 2;
    weft_writer w = weft_text_writer(&svg);
    assert_int_equal(weft_draw_svg(&t, NULL, &w), WEFT_E_INVALID);
    weft_text_clear(&svg);
    weft_trace_clear(&t);
}
