/* SPDX-License-Identifier: Apache-2.0 */
/* weft schedule compare KIND KIND: two schedules in the same costs, before and after; more
 * than two are a table. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <weft/draw.h>

#include "base/error.h"
#include "base/json.h"
#include "cmd/schedule_side.h"
#include "cmd/stdio_writer.h"
#include "cmd/terminal.h"

typedef wf_schedule_side side;

/* ---- "interleaved,v=2,group=8" -------------------------------------------------- */

static weft_status set_own(side *x, const char *key, const char *value)
{
    int64_t n;
    if (!strcmp(key, "placement")) {
        snprintf(x->placement, sizeof x->placement, "%s", value);
        x->a.placement = x->placement;
        return WEFT_OK;
    }
    if (strcmp(key, "v") && strcmp(key, "group"))
        return WF_FAIL(WEFT_E_INVALID,
                       "%s,%s=%s: a kind of its own has v, group or placement", x->kind,
                       key, value);
    WF_TRY(wf_num_i64(key, value, WF_PLAIN, &n));
    if (n < 0 || n > 1 << 30)
        return WF_FAIL(WEFT_E_INVALID, "%s,%s=%s: at least 0", x->kind, key, value);
    *(strcmp(key, "v") ? &x->a.group : &x->a.v) = (int)n;
    return WEFT_OK;
}

static weft_status read_word(const char *word, side *x)
{
    size_t n = strcspn(word, ",");
    snprintf(x->kind, sizeof x->kind, "%.*s", (int)n, word);
    x->a.kind = x->kind;
    for (word += n; *word; word += n) {
        char own[64], *value;
        word++;
        n = strcspn(word, ",");
        snprintf(own, sizeof own, "%.*s", (int)n, word);
        value = strchr(own, '=');
        if (!value)
            return WF_FAIL(WEFT_E_INVALID, "%s,%s: what is meant is %s,v=2", x->kind,
                           own, x->kind);
        *value++ = 0;
        WF_TRY(set_own(x, own, value));
    }
    return WEFT_OK;
}

/* ---- making --------------------------------------------------------------------- */

weft_status wf_schedule_side_open(const wf_schedule_args *a, const wf_args *args,
                                  const char *word, int picture, wf_schedule_side *x)
{
    double bound = NAN;
    x->word = word;
    x->a = *a;
    WF_TRY(read_word(word, x));
    x->read = weft_schedule_kind_find(x->kind) != NULL;
    WF_TRY(wf_schedule_make(&x->a, args, &x->s, &bound));
    x->r = (wf_schedule_result){.s = &x->s, .lower_bound = bound};
    WF_TRY(weft_schedule_check(&x->s, a->outstanding, &x->r.report));
    return wf_schedule_simulate(a, picture && wf_schedule_wants_picture(a, &x->s),
                                &x->r);
}

static int may_be_on(const wf_schedule_side *x, weft_placement_kind placement)
{
    return !*x->why && !wf_schedule_says_placement(&x->a) &&
           x->s.placement == WEFT_PLACE_SINGLE && placement != WEFT_PLACE_SINGLE &&
           weft_schedule_kind_placements(weft_schedule_kind_find(x->kind)) >>
                   placement &
               1;
}

void wf_schedule_note_placements(int n, const wf_schedule_side *x)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++) {
            if (*x[k].why || !may_be_on(&x[i], x[k].s.placement)) continue;
            const char *name = wf_placement_name(x[k].s.placement);
            wf_cmd_note("schedule",
                        "%s has placement single here, %s has %s; %s,placement=%s is "
                        "searched on that",
                        x[i].word, x[k].word, name, x[i].word, name);
            break;
        }
}

void wf_schedule_side_close(wf_schedule_side *x)
{
    wf_schedule_result_clear(&x->r);
    weft_schedule_clear(&x->s);
}

/* ---- output --------------------------------------------------------------------- */

static int64_t most(int p, const int64_t *x)
{
    int64_t y = 0;
    for (int r = 0; r < p; r++)
        y = x[r] > y ? x[r] : y;
    return y;
}

static void put_row(weft_writer *out, const char *name, double a, double b)
{
    weft_print(out, "%-26s %12.6g %12.6g %+12.6g", name, a, b, b - a);
    if (a != 0) weft_print(out, " %+8.1f %%", 100 * (b / a - 1));
    weft_print(out, "\n");
}

double wf_schedule_side_held(const wf_schedule_side *x, const int64_t *peak)
{
    return (double)most(x->s.p, peak) * x->s.p / weft_schedule_stages(&x->s);
}

double wf_schedule_side_bytes(const wf_schedule_side *x)
{
    double most = 0;
    for (int r = 0; x->r.sim.peak && r < x->s.p; r++)
        most = fmax(most, x->r.sim.peak[r].bytes);
    return most;
}

static void put_bytes(weft_writer *out, const side x[2])
{
    if (x->r.sim.peak)
        put_row(out, "peak memory, bytes", wf_schedule_side_bytes(&x[0]),
                wf_schedule_side_bytes(&x[1]));
}

static void put_table(weft_writer *out, const side x[2])
{
    const weft_eval *a = &x[0].r.sim.eval, *b = &x[1].r.sim.eval;
    const weft_schedule_report *ra = &x[0].r.report, *rb = &x[1].r.report;
    weft_print(out, "%-26s %12s %12s %12s\n", x->r.trace.unit[0] ? "times in s" : "",
               "a", "b", "b - a");
    put_row(out, "makespan", a->makespan, b->makespan);
    put_row(out, "longest span of a rank", a->span, b->span);
    put_row(out, "bubble, % of the total", 100 * a->bubble_of_total,
            100 * b->bubble_of_total);
    if (x->r.sim.steps > 1)
        put_row(out, "a step of many", x[0].r.sim.step_time, x[1].r.sim.step_time);
    put_row(out, "peak in flight, full stages",
            wf_schedule_side_held(&x[0], ra->peak_in_flight),
            wf_schedule_side_held(&x[1], rb->peak_in_flight));
    put_row(out, "  held until W", wf_schedule_side_held(&x[0], ra->peak_in_flight_w),
            wf_schedule_side_held(&x[1], rb->peak_in_flight_w));
    put_bytes(out, x);
    put_row(out, "messages between ranks", (double)ra->p2p_messages,
            (double)rb->p2p_messages);
}

static weft_status put_text(const wf_schedule_args *a, const side x[2],
                            weft_writer *out)
{
    int width = a->width > 0 ? a->width : wf_terminal_width();
    weft_draw_options o = {width, a->ascii || wf_terminal_ascii(), wf_terminal_color(),
                           -1};
    if (x[0].r.trace.n && x[1].r.trace.n && !a->summary) {
        WF_TRY(weft_draw_text_pair(&x[0].r.trace, &x[1].r.trace, &o, out));
        weft_print(out, "\n");
    }
    put_table(out, x);
    return weft_writer_status(out);
}

static weft_status put_json(const wf_schedule_args *a, const side x[2],
                            weft_writer *out)
{
    weft_print(out, "{\"a\":");
    WF_TRY(wf_schedule_report_json(a, &x[0].r, out));
    weft_print(out, ",\"b\":");
    WF_TRY(wf_schedule_report_json(a, &x[1].r, out));
    weft_print(out, "}\n");
    return weft_writer_status(out);
}

static weft_status put_svg(const char *path, const side x[2])
{
    wf_out_file file;
    weft_draw_options o = {.step = -1};
    WF_TRY(wf_out_file_open(path, &file));
    weft_status st = weft_draw_svg_pair(&x[0].r.trace, &x[1].r.trace, &o, &file.out);
    if (st == WEFT_OK || file.out.failed) return wf_out_file_commit(&file);
    wf_out_file_drop(&file);
    return st;
}

static weft_status run(const wf_schedule_args *a, const wf_args *args, side x[2])
{
    weft_writer out = wf_stdout_writer();
    for (int i = 0; i < 2; i++)
        WF_TRY(wf_schedule_side_open(a, args, args->word[1 + i], 1, &x[i]));
    wf_schedule_note_placements(2, x);
    if (a->svg) WF_TRY(put_svg(a->svg, x));
    if (a->svg && !strcmp(a->svg, "-")) return WEFT_OK;
    return a->json ? put_json(a, x, &out) : put_text(a, x, &out);
}

static weft_status compare_two(const wf_schedule_args *a, const wf_args *args)
{
    side x[2] = {{.kind = ""}, {.kind = ""}};
    weft_status st = run(a, args, x);
    for (int i = 0; i < 2; i++)
        wf_schedule_side_close(&x[i]);
    return st;
}

int wf_schedule_compare(const wf_schedule_args *a, const wf_args *args)
{
    char which[32];
    int n = args->n - 1;
    if (n < 2)
        return wf_cmd_usage("schedule",
                            "compare takes two kinds or more, found %d; such as weft "
                            "schedule compare 1f1b interleaved,v=2 -p 4 -m 8",
                            n);
    if (wf_args_typed(args, "trace csv ops kind", which, sizeof which))
        return wf_cmd_usage("schedule",
                            "compare does not take --%s: it is of one schedule", which);
    if (n > 2 && wf_args_typed(args, "svg ascii", which, sizeof which))
        return wf_cmd_usage(
            "schedule", "--%s: a picture is of two kinds, %d are compared in a table",
            which, n);
    weft_status st = n == 2 ? compare_two(a, args) : wf_schedule_table(a, args);
    return st == WEFT_OK ? WF_EXIT_OK : wf_cmd_fail("schedule", st);
}
