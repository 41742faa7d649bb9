/* SPDX-License-Identifier: Apache-2.0 */
/* weft schedule check FILE, sim FILE: an order that a user gives. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cmd/schedule.h"
#include "cmd/stdio_writer.h"

enum { MOST_FILE_BYTES = 1 << 30 };

int wf_schedule_says_placement(const wf_schedule_args *a)
{
    return strcmp(a->placement, "auto") != 0;
}

weft_status wf_schedule_placement(const wf_schedule_args *a, weft_placement_kind own,
                                  weft_placement_kind *out)
{
    *out = own;
    if (!wf_schedule_says_placement(a)) return WEFT_OK;
    for (int k = 0; k <= WEFT_PLACE_BIDIRV; k++) {
        if (strcmp(wf_placement_name((weft_placement_kind)k), a->placement)) continue;
        *out = (weft_placement_kind)k;
        return WEFT_OK;
    }
    return WF_FAIL(WEFT_E_INVALID, "there is no placement %.40s", a->placement);
}

static weft_status check(const wf_schedule_args *a, const weft_schedule *s)
{
    weft_schedule_report report;

    WF_TRY(weft_schedule_check(s, a->outstanding, &report));
    weft_schedule_report_clear(&report);
    return WEFT_OK;
}

static int fits(const wf_schedule_args *a, const char *text, int64_t n,
                weft_placement_kind placement)
{
    weft_schedule s;

    if (weft_schedule_read(text, n, placement, &s) != WEFT_OK) return 0;
    int ok = check(a, &s) == WEFT_OK;
    weft_schedule_clear(&s);
    return ok;
}

/* A file does not say which rank and chunk holds which stage: the placement under which it
 * runs, other than `tried`, or NULL. */
static const char *fitting(const wf_schedule_args *a, const char *text, int64_t n,
                           weft_placement_kind tried)
{
    for (int k = 0; k <= WEFT_PLACE_BIDIRV; k++)
        if (k != (int)tried && fits(a, text, n, (weft_placement_kind)k))
            return wf_placement_name((weft_placement_kind)k);
    return NULL;
}

/* A file that is wrong under every placement is read under the given one, if it can be, and
 * its rule named by the caller's check. */
static weft_status read_text(const wf_schedule_args *a, const char *text, int64_t n,
                             weft_schedule *s)
{
    weft_placement_kind placement;
    char words[512];

    WF_TRY(wf_schedule_placement(a, WEFT_PLACE_SINGLE, &placement));
    weft_status st = weft_schedule_read(text, n, placement, s);
    if (wf_schedule_says_placement(a)) return st;
    weft_status runs = st == WEFT_OK ? check(a, s) : st;
    if (runs == WEFT_OK) return WEFT_OK;
    snprintf(words, sizeof words, "%s", weft_status_message());
    const char *other = fitting(a, text, n, placement);
    if (!other) return st == WEFT_OK ? WEFT_OK : WF_FAIL(st, "%s", words);
    if (st == WEFT_OK) weft_schedule_clear(s);
    return WF_FAIL(WEFT_E_INVALID, "%s; under --placement %s it runs", words, other);
}

weft_status wf_schedule_read(const wf_schedule_args *a, const char *path,
                             weft_schedule *s)
{
    char *text;
    int64_t n;
    WF_TRY(wf_read_file(path, MOST_FILE_BYTES, &text, &n));
    weft_status st = read_text(a, text, n, s);
    wf_free(text);
    if (st == WEFT_OK) return st;
    return WF_FAIL(st, "%s: %s", path, weft_status_message());
}

int wf_schedule_file_flags(const wf_schedule_args *a, const wf_args *args)
{
    char name[32];

    if (wf_args_given(args, "p") || wf_args_given(args, "m") ||
        wf_args_given(args, "v") || wf_args_given(args, "group") ||
        wf_args_given(args, "kind"))
        return wf_cmd_usage("schedule",
                            "-p, -m, -v, --group and --kind come from the file");
    if (a->mem_limit && !wf_schedule_has_bytes(a))
        return wf_cmd_usage("schedule",
                            "--mem-limit %s: an order is checked in bytes, with "
                            "--stage-free-i or another of the bytes beside it",
                            a->mem_limit);
    if (strcmp(args->word[0], "check")) return 0;
    if (wf_args_typed(args, "svg trace csv ops ascii width", name, sizeof name))
        return wf_cmd_usage(
            "schedule",
            "--%s: check draws and writes nothing; weft schedule sim %s "
            "does",
            name, args->word[1]);
    if (!wf_schedule_has_bytes(a) &&
        wf_args_typed(args,
                      "tf tb ti tw stage-tf stage-tb stage-ti stage-tw per-op latency "
                      "bandwidth message-bytes ranks-per-node messages overlap "
                      "overlap-cost steps optimizer optimizer-sync",
                      name, sizeof name))
        return wf_cmd_usage("schedule",
                            "--%s: check looks at the order only; weft schedule sim %s "
                            "takes times",
                            name, args->word[1]);
    return 0;
}
