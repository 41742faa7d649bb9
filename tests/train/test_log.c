/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>
#include <weft/run/log.h>

#include "base/json.h"

static char folder[] = "/tmp/weft-log-XXXXXX", path[64];

static const char *content(void)
{
    static char text[8192];
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    return text;
}

static weft_log *open_log(void)
{
    weft_log *log = NULL;
    assert_int_equal(weft_log_open(path, &log), WEFT_OK);
    return log;
}

static weft_status line(weft_log *log, const char *text)
{
    weft_print(weft_log_begin(log), "%s", text);
    return weft_log_end(log);
}

static void a_line_is_in_the_file_when_the_call_returns(void **state)
{
    weft_log *log = open_log();

    assert_string_equal(content(), "");
    assert_int_equal(line(log, "{\"event\":\"start\"}"), WEFT_OK);
    assert_string_equal(content(), "{\"event\":\"start\"}\n");
    assert_int_equal(line(log, "{\"step\":1}"), WEFT_OK);
    assert_string_equal(content(), "{\"event\":\"start\"}\n{\"step\":1}\n");
    assert_int_equal(weft_log_lines(log), 2);
    assert_int_equal(weft_log_close(log), WEFT_OK);
    assert_int_equal(weft_log_close(NULL), WEFT_OK);
}

static void doubles_read_back_exactly(void **state)
{
    const double x[] = {0.1, 1.0 / 3, 2.64093984120637, 5e-324,
                        -1.7976931348623157e308};
    weft_log *log = open_log();

    for (size_t i = 0; i < sizeof x / sizeof *x; i++) {
        wf_json j = wf_json_begin(weft_log_begin(log));
        wf_json_object(&j);
        wf_json_put_f64(&j, "loss", x[i]);
        wf_json_end_object(&j);
        assert_int_equal(weft_log_end(log), WEFT_OK);
    }
    assert_int_equal(weft_log_close(log), WEFT_OK);
    const char *at = content();
    for (size_t i = 0; i < sizeof x / sizeof *x; i++, at = strchr(at, '\n') + 1) {
        assert_int_equal(strncmp(at, "{\"loss\":", 8), 0);
        assert_true(strtod(at + 8, NULL) == x[i]);
    }
    assert_string_equal(at, "");
}

static void a_line_that_was_not_ended_leaves_no_trace(void **state)
{
    weft_log *log = open_log();

    weft_print(weft_log_begin(log), "{\"dropped\":");
    assert_int_equal(line(log, "{\"kept\":1}"), WEFT_OK);
    weft_print(weft_log_begin(log), "{\"dropped\":");
    assert_int_equal(weft_log_close(log), WEFT_OK);
    assert_string_equal(content(), "{\"kept\":1}\n");
}

static void what_is_not_one_line_is_refused(void **state)
{
    weft_log *log = open_log();

    assert_int_equal(line(log, ""), WEFT_E_INVALID);
    assert_non_null(strstr(weft_status_message(), "empty"));
    assert_int_equal(line(log, "{\n}"), WEFT_E_INVALID);
    assert_non_null(strstr(weft_status_message(), "more than one line"));
    assert_int_equal(line(log, "{}"), WEFT_OK);
    assert_int_equal(weft_log_end(log), WEFT_E_INVALID); /* ended already */
    assert_int_equal(weft_log_close(log), WEFT_OK);
    assert_string_equal(content(), "{}\n");
}

static void opening_empties_the_file(void **state)
{
    weft_log *log = open_log();
    assert_int_equal(line(log, "{\"run\":1}"), WEFT_OK);
    assert_int_equal(weft_log_close(log), WEFT_OK);
    log = open_log();
    assert_int_equal(line(log, "{\"run\":2}"), WEFT_OK);
    assert_int_equal(weft_log_close(log), WEFT_OK);
    assert_string_equal(content(), "{\"run\":2}\n");
}

static void a_path_that_cannot_be_opened_is_named(void **state)
{
    weft_log *log = NULL;
    assert_int_equal(weft_log_open("/nowhere/x.jsonl", &log), WEFT_E_IO);
    assert_null(log);
    assert_non_null(
        strstr(weft_status_message(), "--log /nowhere/x.jsonl: cannot open"));
    assert_int_equal(weft_log_open(folder, &log), WEFT_E_IO);
}

static void a_full_disk_is_said_with_the_line(void **state)
{
    weft_log *log = NULL;
    assert_int_equal(weft_log_open("/dev/full", &log), WEFT_OK);
    assert_int_equal(line(log, "{}"), WEFT_E_IO);
    assert_non_null(
        strstr(weft_status_message(), "--log /dev/full: cannot write line 1"));
    assert_non_null(strstr(weft_status_message(), "No space left"));
    assert_int_equal(weft_log_lines(log), 0);
    assert_int_equal(weft_log_close(log), WEFT_OK);
}

/* A file size limit cuts the second line in two: what came through is taken back. */
static void half_a_line_is_taken_back(void **state)
{
    struct rlimit old, limit;
    weft_log *log = open_log();

    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    limit = old;
    limit.rlim_cur = 16;
    assert_int_equal(line(log, "{\"step\":1}"), WEFT_OK);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    weft_status st = line(log, "{\"step\":2}");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(st, WEFT_E_IO);
    assert_non_null(strstr(weft_status_message(), "line 2"));
    assert_string_equal(content(), "{\"step\":1}\n");
    assert_int_equal(line(log, "{\"step\":3}"), WEFT_OK);
    assert_int_equal(weft_log_close(log), WEFT_OK);
    assert_string_equal(content(), "{\"step\":1}\n{\"step\":3}\n");
}

static int make_folder(void **state)
{
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/log.jsonl", folder);
    return 0;
}

static int remove_folder(void **state)
{
    unlink(path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_in_the_file_when_the_call_returns),
        cmocka_unit_test(doubles_read_back_exactly),
        cmocka_unit_test(a_line_that_was_not_ended_leaves_no_trace),
        cmocka_unit_test(what_is_not_one_line_is_refused),
        cmocka_unit_test(opening_empties_the_file),
        cmocka_unit_test(a_path_that_cannot_be_opened_is_named),
        cmocka_unit_test(a_full_disk_is_said_with_the_line),
        cmocka_unit_test(half_a_line_is_taken_back),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
