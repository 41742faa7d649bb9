/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draw a schedule: as text on the terminal, and as SVG into a file. Any sink will do for
 * the picture; the library itself opens no file.
 *
 *     cc 04_draw.c $(pkg-config --cflags --libs weft) && ./a.out picture.svg
 */
#include <stdio.h>
#include <weft.h>

static int put(void *file, const char *bytes, unsigned n)
{
    return fwrite(bytes, 1, n, file) != n;
}

static weft_status draw(const char *path)
{
    enum { P = 4, M = 8 };
    double dur[P * WEFT_OP_N_COMPUTE];
    weft_schedule s;
    weft_trace t;
    weft_eval e;
    weft_draw_options terminal = {.width = 80, .ascii = 1}, page = {.width = 960};
    FILE *file = fopen(path, "w");
    weft_writer to_terminal = {put, stdout, 0}, to_file = {put, file, 0};

    if (!file)
        return weft_fail(WEFT_E_IO, __FILE__, __LINE__, "%s cannot be written", path);
    weft_status st = weft_schedule_make("1f1b", P, M, 1, NULL, &s);
    if (st == WEFT_OK) {
        weft_costs_uniform(&s, 1, 2, 0, 0, 0, dur);
        st = weft_simulate(&s, &(weft_costs){.dur = dur}, &t, &e);
        weft_schedule_clear(&s);
    }
    if (st == WEFT_OK) {
        st = weft_draw_text(&t, &terminal, &to_terminal);
        if (st == WEFT_OK) st = weft_draw_svg(&t, &page, &to_file);
        if (st == WEFT_OK) st = weft_writer_status(&to_file);
        weft_trace_clear(&t);
        weft_eval_clear(&e);
    }
    if (fclose(file) && st == WEFT_OK)
        st = weft_fail(WEFT_E_IO, __FILE__, __LINE__, "%s was not written whole", path);
    return st;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s PICTURE.svg\n", argv[0]);
        return 2;
    }
    if (draw(argv[1]) == WEFT_OK) return 0;
    fprintf(stderr, "%s\n", weft_status_message());
    return 1;
}
