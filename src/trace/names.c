/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <weft/trace.h>

const char *weft_op_kind_name(int kind)
{
    switch (kind) {
    case WEFT_OP_F: return "F";
    case WEFT_OP_B: return "B";
    case WEFT_OP_I: return "I";
    case WEFT_OP_W: return "W";
    case WEFT_OP_R: return "R";
    case WEFT_OP_POST_RECV: return "recv";
    case WEFT_OP_SEND: return "send";
    case WEFT_OP_WAIT: return "wait";
    case WEFT_OP_REDUCE: return "reduce";
    case WEFT_OP_UNSHARD: return "unshard";
    case WEFT_OP_RESHARD: return "reshard";
    case WEFT_OP_STEP: return "optimizer";
    }
    return "?";
}

const char *weft_trace_entry_name(const weft_trace_entry *e, int with_chunk, char *buf)
{
    enum { SIZE = 48 };
    if (e->label)
        snprintf(buf, SIZE, "%s", e->label);
    else if (e->op.kind == WEFT_OP_STEP)
        snprintf(buf, SIZE, "optimizer");
    else
        snprintf(buf, SIZE, with_chunk ? "%s%u.%d" : "%s%u",
                 weft_op_kind_name(e->op.kind), (unsigned)e->op.micro, e->op.chunk);
    return buf;
}

const char *weft_spent_name(weft_spent what)
{
    static const char *const names[WEFT_N_SPENT] = {
        "F", "B", "I", "W", "R", "optimizer", "other", "collectives", "waiting"};
    return (int)what >= 0 && what < WEFT_N_SPENT ? names[what] : "?";
}

static weft_spent spent_by_label(const weft_trace_entry *e)
{
    if (!strncmp(e->label, "wait", 4)) return WEFT_SPENT_WAIT;
    if (e->lane == WEFT_LANE_COLLECTIVE) return WEFT_SPENT_COLLECTIVE;
    if (e->lane != WEFT_LANE_COMPUTE) return WEFT_SPENT_WAIT;
    return strcmp(e->label, "optimizer") ? WEFT_SPENT_OTHER : WEFT_SPENT_OPTIMIZER;
}

weft_spent weft_trace_spent(const weft_trace_entry *e)
{
    if (e->label) return spent_by_label(e);
    switch (e->op.kind) {
    case WEFT_OP_F: return WEFT_SPENT_F;
    case WEFT_OP_B: return WEFT_SPENT_B;
    case WEFT_OP_I: return WEFT_SPENT_I;
    case WEFT_OP_W: return WEFT_SPENT_W;
    case WEFT_OP_R: return WEFT_SPENT_R;
    case WEFT_OP_STEP: return WEFT_SPENT_OPTIMIZER;
    case WEFT_OP_REDUCE:
    case WEFT_OP_UNSHARD:
    case WEFT_OP_RESHARD: return WEFT_SPENT_COLLECTIVE;
    default: return WEFT_SPENT_WAIT;
    }
}
