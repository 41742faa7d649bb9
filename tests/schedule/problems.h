/* SPDX-License-Identifier: Apache-2.0 */
/* Problems for the kind "optimal", what the other kinds make of them, and the grid on
 * which the two are compared: for the tests and for bench/optimal.c. A call of the
 * library that fails although it must not ends the program. */
#ifndef WEFT_TESTS_SCHEDULE_PROBLEMS_H
#define WEFT_TESTS_SCHEDULE_PROBLEMS_H
#include <stdint.h>
#include <weft/schedule.h>

enum { MOST_STAGES = 256 };

/* opt points into the lists, so a problem is set up where it stays. */
typedef struct problem {
    int p, m, v;
    double f[MOST_STAGES], i[MOST_STAGES], w[MOST_STAGES];
    double free_i[MOST_STAGES], free_w[MOST_STAGES], limit[MOST_STAGES];
    weft_link_tier tier[3];
    weft_schedule_options opt;
} problem;

typedef enum stage_times {
    STAGES_EQUAL, /* 1, 1, 1 of a full stage                                           */
    STAGES_REAL, /* 1, 1.1, 0.9                                                       */
    STAGES_THIRDS, /* the same, every third stage a fifth longer; an embedding on the
                      first (0.1 in F and W), a head on the last (0.2 in F, I and W)    */
    STAGES_RANDOM /* the same, each stage up to a fifth longer or shorter              */
} stage_times;

/* One chunk per rank on `single`, else two; seed is for STAGES_RANDOM alone. */
void set_up(problem *a, weft_placement_kind place, int p, int m, stage_times times,
            uint64_t *seed);

/* Of a message between two ranks. */
double delay_of(const weft_schedule_options *opt, int from, int to);
double time_of(const weft_schedule *s, const weft_schedule_options *opt);
/* Most that a rank holds, in forwards of a full stage or in the unit of the lists. */
double held_at_most(const weft_schedule *s, int rank, const weft_schedule_options *opt);
int keeps_limits(const weft_schedule *s, const weft_schedule_options *opt);

/* ---- the other kinds ------------------------------------------------------------ */

/* All that train in steps. zb-auto is told the mean stage. 0 where it is no such kind, has
 * another placement or cannot. */
int make_other(const char *kind, const problem *a, weft_schedule *out);
/* Within the limits; NaN where it cannot. */
double time_of_other(const char *kind, const problem *a);
/* INFINITY and "none fits" if none of them keeps the limits. */
double best_other(const problem *a, const char **name);

/* ---- the grid ------------------------------------------------------------------- */

typedef struct grid {
    int most_p; /* 2, 3, 4, 6, 8, 11, 16 up to this, beside m = 2, 4, ..., 64 */
    int every;  /* takes only each such cell                                  */
    stage_times times;
    uint64_t seed;
} grid;

/* Each cell of p, m, placement, latency (0, 0.25, 0.5), once for every other kind that
 * can run it, in the memory which that one takes on each rank. */
void each_cell(const grid *g, void (*visit)(const problem *a, void *ctx), void *ctx);
#endif
