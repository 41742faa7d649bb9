/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/sim.h>

#include "base/error.h"

static void set(double *dur, double tf, double tb, double ti, double tw, double part)
{
    dur[WEFT_OP_F] = tf * part;
    dur[WEFT_OP_B] = tb * part;
    dur[WEFT_OP_I] = ti * part;
    dur[WEFT_OP_W] = tw * part;
    dur[WEFT_OP_R] = tf * part;
}

/* A full stage is 1/p of the model; this is what one op works on, in full stages. */
static double part_of_stage(const weft_schedule *s)
{
    return (double)s->p / weft_schedule_stages(s);
}

void weft_costs_uniform(const weft_schedule *s, double tf, double tb, double ti,
                        double tw, int per_op, double *dur)
{
    double part = per_op ? 1 : part_of_stage(s);
    for (int64_t i = 0; i < (int64_t)s->p * s->v; i++)
        set(dur + i * WEFT_OP_N_COMPUTE, tf, tb, ti, tw, part);
}

weft_status weft_costs_by_stage(const weft_schedule *s, int n, const double *tf,
                                const double *tb, const double *ti, const double *tw,
                                double *dur)
{
    int stages = weft_schedule_stages(s);
    if (n != stages && n != s->p) {
        if (stages == s->p)
            return WF_FAIL(WEFT_E_MISMATCH, "%d times per stage, %d are needed", n,
                           stages);
        return WF_FAIL(
            WEFT_E_MISMATCH,
            "%d times per stage, %d (one per stage) or %d (one per rank) are "
            "needed",
            n, stages, s->p);
    }
    double part = n == stages ? 1 : part_of_stage(s);
    for (int r = 0; r < s->p; r++) {
        for (int c = 0; c < s->v; c++, dur += WEFT_OP_N_COMPUTE) {
            int i = n == stages ? weft_schedule_stage(s, r, c) : r;
            set(dur, tf[i], tb[i], ti ? ti[i] : tb[i] / 2, tw ? tw[i] : tb[i] / 2,
                part);
        }
    }
    return WEFT_OK;
}
