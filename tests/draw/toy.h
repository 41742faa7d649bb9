/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces of pipelines whose times are known in closed form, for the tests of trace and
 * draw: neither the schedule generators nor the simulator take part in them.
 */
#ifndef TEST_DRAW_TOY_H
#define TEST_DRAW_TOY_H
#include <stdio.h>
#include <weft/trace.h>

static inline void toy_add(weft_trace *t, int rank, int kind, int micro, int chunk,
                           double start, double length)
{
    weft_trace_entry e = {.start = start,
                          .end = start + length,
                          .rank = rank,
                          .op = {.kind = (uint8_t)kind,
                                 .chunk = (uint8_t)chunk,
                                 .micro = (uint32_t)micro}};
    if (weft_trace_add(t, &e) != WEFT_OK) printf("%s\n", weft_status_message());
}

static inline void toy_label(weft_trace *t, int rank, int step, const char *label,
                             int lane, double start, double length)
{
    weft_trace_entry e = {.start = start,
                          .end = start + length,
                          .rank = rank,
                          .step = step,
                          .label = label,
                          .lane = (uint8_t)lane};
    if (weft_trace_add(t, &e) != WEFT_OK) printf("%s\n", weft_status_message());
}

/* Forward only: stage s runs micro-batch i at s + i (lesson 001). */
static inline weft_trace toy_forward(int p, int m)
{
    weft_trace t;
    char title[64];
    snprintf(title, sizeof title, "forward p=%d m=%d", p, m);
    weft_trace_init(&t, p, "", title);
    for (int s = 0; s < p; s++)
        for (int i = 0; i < m; i++)
            toy_add(&t, s, WEFT_OP_F, i, 0, s + i, 1);
    return t;
}

/* GPipe: forwards as above, backwards from the last stage, in ascending order. */
static inline weft_trace toy_gpipe(int p, int m, double tf, double tb)
{
    weft_trace t;
    char title[64];
    double turn = (p + m - 1) * tf;
    snprintf(title, sizeof title, "gpipe p=%d m=%d", p, m);
    weft_trace_init(&t, p, "", title);
    for (int s = 0; s < p; s++) {
        for (int i = 0; i < m; i++)
            toy_add(&t, s, WEFT_OP_F, i, 0, (s + i) * tf, tf);
        for (int i = 0; i < m; i++)
            toy_add(&t, s, WEFT_OP_B, i, 0, turn + (p - 1 - s + i) * tb, tb);
    }
    return t;
}

/* 1F1B: B(s,i) ends at (p-1)tf + (i+1)(tf+tb) + (p-1-s)tb (lesson 000, section 3); the
 * forward w = p-1-s places later follows it, the first w ones run at once. */
static inline weft_trace toy_1f1b(int p, int m, double tf, double tb)
{
    weft_trace t;
    char title[64];
    snprintf(title, sizeof title, "1f1b p=%d m=%d", p, m);
    weft_trace_init(&t, p, "", title);
    for (int s = 0; s < p; s++) {
        int warm = p - 1 - s < m ? p - 1 - s : m;
        for (int i = 0; i < warm; i++)
            toy_add(&t, s, WEFT_OP_F, i, 0, (s + i) * tf, tf);
        for (int i = 0; i < m; i++) {
            double end = (p - 1) * tf + (i + 1) * (tf + tb) + (p - 1 - s) * tb;
            double next = i ? end - tb - tf : (s + warm) * tf;
            if (i + warm < m) toy_add(&t, s, WEFT_OP_F, i + warm, 0, next, tf);
            toy_add(&t, s, WEFT_OP_B, i, 0, end - tb, tb);
        }
    }
    return t;
}
#endif
