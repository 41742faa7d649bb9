/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trace-event JSON, as Chrome and Perfetto read it: a process a rank, a thread a lane.
 * Slices of one thread must nest, so what overlaps in a lane goes to a further thread:
 * tid = lane + WEFT_N_LANES * track. Times are microseconds (a cost unit is drawn as a
 * millisecond); args hold the exact ones and every other field, so that a trace reads
 * back as it was. Counters hold the activations in flight.
 */
#include <string.h>
#include <weft/version.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "draw/picture.h"

typedef struct events {
    const wf_picture *p;
    weft_writer *out;
    wf_json json;
    double us; /* microseconds of one unit of the trace */
} events;

/* Every event on its own line, for grep and diff. */
static void begin_event(events *v, const char *phase, int pid, int tid)
{
    weft_print(v->out, "\n");
    wf_json_object(&v->json);
    wf_json_put_string(&v->json, "ph", phase);
    wf_json_put_i64(&v->json, "pid", pid);
    wf_json_put_i64(&v->json, "tid", tid);
}

static void begin_args(events *v)
{
    wf_json_key(&v->json, "args");
    wf_json_object(&v->json);
}

static void end_event(events *v)
{
    wf_json_end_object(&v->json);
    wf_json_end_object(&v->json);
}

static void put_name(events *v, const char *what, int pid, int tid, const char *name)
{
    begin_event(v, "M", pid, tid);
    wf_json_put_string(&v->json, "name", what);
    begin_args(v);
    wf_json_put_string(&v->json, "name", name);
    end_event(v);
}

static void put_sort_index(events *v, const char *what, int pid, int tid, int index)
{
    begin_event(v, "M", pid, tid);
    wf_json_put_string(&v->json, "name", what);
    begin_args(v);
    wf_json_put_i64(&v->json, "sort_index", index);
    end_event(v);
}

static void put_thread(events *v, int rank, int lane, int track)
{
    static const char *const lanes[WEFT_N_LANES] = {"compute", "send", "recv",
                                                    "collective"};
    weft_text name = {0};
    weft_writer w = weft_text_writer(&name);
    int tid = lane + WEFT_N_LANES * track;

    weft_print(&w, track ? "%s %d" : "%s", lanes[lane], track + 1);
    if (w.failed) v->out->failed = 1;
    put_name(v, "thread_name", rank, tid, name.s ? name.s : lanes[lane]);
    put_sort_index(v, "thread_sort_index", rank, tid, tid);
    weft_text_clear(&name);
}

/* Names of a rank and of the threads that it has boxes in. */
static void put_names(events *v, int rank)
{
    const wf_picture *p = v->p;
    char name[24] = "rank ", *at = name + 5;
    int top[WEFT_N_LANES] = {-1, -1, -1, -1}, digits = 1;

    for (int n = rank; n >= 10; n /= 10)
        digits++;
    for (int n = rank, i = digits; i-- > 0; n /= 10)
        at[i] = (char)('0' + n % 10);
    at[digits] = 0;
    put_name(v, "process_name", rank, 0, name);
    put_sort_index(v, "process_sort_index", rank, 0, rank);
    for (int64_t i = p->first[rank]; i < p->first[rank + 1]; i++)
        if (p->box[i].track > top[p->box[i].lane])
            top[p->box[i].lane] = p->box[i].track;
    for (int lane = 0; lane < WEFT_N_LANES; lane++)
        for (int track = 0; track <= top[lane]; track++)
            put_thread(v, rank, lane, track);
}

static void put_box(events *v, const wf_box *b)
{
    const weft_trace_entry *e = b->e;
    wf_json *j = &v->json;
    char name[48];

    begin_event(v, "X", e->rank, b->lane + WEFT_N_LANES * b->track);
    wf_json_put_string(j, "name", weft_trace_entry_name(e, v->p->n_chunks > 1, name));
    wf_json_put_string(j, "cat", weft_spent_name((weft_spent)b->spent));
    wf_json_put_f64(j, "ts", e->start * v->us);
    wf_json_put_f64(j, "dur", (e->end - e->start) * v->us);
    begin_args(v);
    if (e->label)
        wf_json_put_string(j, "label", e->label);
    else
        wf_json_put_string(j, "kind", weft_op_kind_name(e->op.kind));
    wf_json_put_i64(j, "micro", e->op.micro);
    wf_json_put_i64(j, "chunk", e->op.chunk);
    wf_json_put_i64(j, "slice", e->op.slice);
    wf_json_put_i64(j, "flags", e->op.flags);
    wf_json_put_i64(j, "step", e->step);
    wf_json_put_i64(j, "bytes", e->bytes);
    wf_json_put_f64(j, "start", e->start);
    wf_json_put_f64(j, "end", e->end);
    end_event(v);
}

static void put_counter(events *v, int rank, double at, double held)
{
    int bytes = v->p->t->n_levels > 0;
    begin_event(v, "C", rank, 0);
    wf_json_put_string(&v->json, "name", bytes ? "memory held" : "activations held");
    wf_json_put_f64(&v->json, "ts", at);
    begin_args(v);
    wf_json_put_f64(&v->json, bytes ? "bytes" : "chunks", held);
    end_event(v);
}

static weft_status put_rank(events *v, int rank)
{
    const wf_picture *p = v->p;
    wf_level *level;
    double peak;

    WF_TRY(WF_ALLOC(wf_picture_level_room(p, rank), &level));
    put_names(v, rank);
    for (int64_t i = p->first[rank]; i < p->first[rank + 1]; i++)
        put_box(v, &p->box[i]);
    int64_t n = wf_picture_memory(p, rank, level, &peak);
    for (int64_t i = 0; i < n; i++)
        put_counter(v, rank, (p->begin + level[i].at) * v->us, level[i].held);
    wf_free(level);
    return WEFT_OK;
}

static void put_about(events *v)
{
    const weft_trace *t = v->p->t;
    wf_json_key(&v->json, "otherData");
    wf_json_object(&v->json);
    wf_json_put_string(&v->json, "made_by", "weft " WEFT_VERSION);
    wf_json_put_string(&v->json, "title", t->title);
    wf_json_put_string(&v->json, "unit", t->unit);
    wf_json_put_bool(&v->json, "measured", t->measured);
    wf_json_put_i64(&v->json, "n_ranks", t->n_ranks);
    wf_json_end_object(&v->json);
}

weft_status weft_draw_trace_event(const weft_trace *t, weft_writer *out)
{
    wf_picture p;
    weft_status st = WEFT_OK;

    WF_TRY(wf_picture_make(t, -1, 1, &p));
    events v = {&p, out, wf_json_begin(out), strcmp(t->unit, "s") ? 1e3 : 1e6};
    wf_json_object(&v.json);
    wf_json_put_string(&v.json, "displayTimeUnit", "ms");
    put_about(&v);
    wf_json_key(&v.json, "traceEvents");
    wf_json_array(&v.json);
    for (int r = 0; r < t->n_ranks && st == WEFT_OK; r++)
        st = put_rank(&v, r);
    wf_json_end_array(&v.json);
    wf_json_end_object(&v.json);
    weft_print(out, "\n");
    wf_picture_clear(&p);
    return st == WEFT_OK ? weft_writer_status(out) : st;
}
