/* SPDX-License-Identifier: Apache-2.0 */
/* JSON run files (--config): cmd/option_file.c, with options of every type and a layout. */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>
#include <weft/layout.h>

#include "base/alloc.h"
#include "cmd/option_rows.h"
#include "fuzz.h"
#include "layout/fields.h"

/* What a run file sets, and it as text again. */
static weft_status take(const char *path, weft_text *again)
{
    int flag = 0, whole = 0;
    int64_t bytes = 0;
    double number = 0;
    const char *text = NULL, *word = "loop";
    wf_list list = {0};
    weft_layout layout;
    const wf_option rows[] = {
        {"flag", .type = WF_OPT_FLAG, .out = &flag},
        {"whole", .letter = 'w', .type = WF_OPT_INT, .out = &whole, .max = 1e6},
        {"bytes", .type = WF_OPT_COUNT, .out = &bytes, .unit = WF_BYTES},
        {"number", .type = WF_OPT_NUMBER, .out = &number, .alias = "other-name"},
        {"text", .type = WF_OPT_TEXT, .out = &text},
        {"word", .type = WF_OPT_CHOICE, .out = &word, .choices = "loop mpi self"},
        {"list", .type = WF_OPT_LIST, .out = &list},
        {0}};
    const wf_command_line line = {
        .command = "f",
        .layout = 1,
        .group = {{"Rows", .row = rows},
                  {"Layout", .table = wf_layout_table(), .object = &layout}}};
    wf_args args = {0};

    weft_layout_defaults(&layout);
    if (WF_ALLOC(1, &args.store) != WEFT_OK) abort();
    wf_arg_store *s = args.store;
    weft_status st = wf_items_list(&line, s);
    if (st == WEFT_OK) st = wf_config_read(path, line.layout, s);
    for (int64_t i = 0; i < s->n_set && st == WEFT_OK; i++)
        st = wf_item_set(&s->item[s->set[i].item], &s->set[i]);
    if (st == WEFT_OK) {
        weft_writer out = weft_text_writer(again);
        PROMISE(whole >= 0 && whole <= 1000000);
        PROMISE(!strcmp(word, "loop") || !strcmp(word, "mpi") || !strcmp(word, "self"));
        wf_config_print(s, &out);
        PROMISE(weft_writer_status(&out) == WEFT_OK);
    }
    wf_args_clear(&args);
    return st;
}

static void put(int fd, const void *data, size_t n)
{
    if (ftruncate(fd, 0) || pwrite(fd, data, n, 0) != (ssize_t)n) abort();
}

/* What --print-config writes says the same when it is read. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static int fd = -1;
    char path[32];
    weft_text once = {0}, twice = {0};

    if (fd < 0) fd = memfd_create("options", 0);
    if (fd < 0) abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    put(fd, data, n);
    if (take(path, &once) == WEFT_OK) {
        put(fd, once.s, strlen(once.s));
        PROMISE(take(path, &twice) == WEFT_OK);
        PROMISE(!strcmp(once.s, twice.s));
    } else {
        REFUSED();
    }
    weft_text_clear(&once);
    weft_text_clear(&twice);
    return 0;
}
