/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/ir.h"

static const char letter[WEFT_OP_N_COMPUTE] = {'F', 'B', 'I', 'W', 'R'};

/* The next compute op at or after i, or end. */
static int64_t next_compute(const weft_schedule *s, int64_t i, int64_t end)
{
    while (i < end && s->op[i].kind >= WEFT_OP_N_COMPUTE)
        i++;
    return i;
}

void weft_schedule_write_ops(const weft_schedule *s, weft_writer *out)
{
    for (int r = 0; r < s->p; r++) {
        int64_t end = s->first[r + 1], i = next_compute(s, s->first[r], end);
        for (const char *space = ""; i < end;
             i = next_compute(s, i + 1, end), space = " ") {
            const weft_op *op = &s->op[i];
            weft_print(out, "%s%c%u.%u%s", space, letter[op->kind], (unsigned)op->micro,
                       (unsigned)op->chunk, op->flags & WEFT_OPF_PAIR ? "&" : "");
        }
        weft_print(out, "\n");
    }
}

static void write_action(const weft_schedule *s, int rank, const weft_op *op,
                         weft_writer *out)
{
    weft_print(out, "%d%c%u", weft_schedule_stage(s, rank, op->chunk), letter[op->kind],
               (unsigned)op->micro);
}

void weft_schedule_write_csv(const weft_schedule *s, weft_writer *out)
{
    for (int r = 0; r < s->p; r++) {
        int64_t end = s->first[r + 1], i = next_compute(s, s->first[r], end);
        for (const char *comma = ""; i < end; comma = ",") {
            const weft_op *op = &s->op[i];
            int64_t next = next_compute(s, i + 1, end);
            int pair = op->flags & WEFT_OPF_PAIR && next < end;
            weft_print(out, "%s%s", comma, pair ? "(" : "");
            write_action(s, r, op, out);
            if (pair) {
                weft_print(out, ";");
                write_action(s, r, &s->op[next], out);
                weft_print(out, ")OVERLAP_F_B");
                next = next_compute(s, next + 1, end);
            }
            i = next;
        }
        weft_print(out, "\n");
    }
}
