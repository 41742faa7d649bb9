/* SPDX-License-Identifier: Apache-2.0 */
#include <weft/machine.h>

#include <math.h>

/* Ranks of a tier's domain; 0 stands for all, which no group passes. */
static double domain(const weft_machine *m, int tier)
{
    const weft_tier *t = &m->tier[tier];
    return tier == m->n_tiers - 1 || !t->ranks ? HUGE_VAL : t->ranks;
}

/* Ranks on two axes: all of `near` with all of `far`. */
typedef struct group {
    weft_span near, far;
    double size;
    int last; /* tier whose domains hold it whole */
} group;

/* Groups fill so many ranks in a row and start at multiples of that. */
static int64_t extent(weft_span near, weft_span far)
{
    int64_t n = near.size * far.size, most = n;
    if (near.size > 1 && near.stride * near.size > most) most = near.stride * near.size;
    if (far.size > 1 && far.stride * far.size > most) most = far.stride * far.size;
    return most;
}

static int tier_of(const weft_machine *m, int64_t span)
{
    int tier = 0;
    /* a domain that groups divide cuts none, any other cuts some */
    while (tier < m->n_tiers - 1) {
        int64_t d = m->tier[tier].ranks;
        if (span <= d && d % span == 0) break;
        tier++;
    }
    return tier;
}

static group group_of(const weft_machine *m, weft_span near, weft_span far)
{
    return (group){near, far, (double)near.size * (double)far.size,
                   tier_of(m, extent(near, far))};
}

int weft_machine_tier(const weft_machine *m, int64_t stride, int64_t size)
{
    return size <= 1 ? 0 : tier_of(m, stride * size);
}

static double clamp(double x, double least, double most)
{
    return x < least ? least : x > most ? most : x;
}

/* Ranks of a group that share a domain of a tier; a group that does not fit fills each
 * domain it touches as evenly as its strides let it. */
static double inside(const weft_machine *m, int tier, const group *g)
{
    double d = domain(m, tier);
    double near = clamp(d / (double)g->near.stride, 1, (double)g->near.size);
    double far = clamp(d / (double)g->far.stride, 1, (double)g->far.size);
    return clamp(near * far, 1, d);
}

typedef struct link {
    double alpha_s, bytes_per_s;
} link;

/* Of a tier for a group of which `k` ranks share its domain. */
static link link_of(const weft_machine *m, int tier, weft_collective c, double k)
{
    const weft_tier *t = &m->tier[tier];
    link l = {t->alpha_s, t->bytes_per_s * t->efficiency};
    if (t->measured[c].bytes_per_s > 0)
        l = (link){t->measured[c].alpha_s, t->measured[c].bytes_per_s};
    /* without a switch each rank has a wire to each other, and the group's are k - 1 */
    if (!t->switched && t->ranks > 1 && k < t->ranks)
        l.bytes_per_s *= (k - 1) / (t->ranks - 1);
    return l;
}

/* Steps of a pass over d parts: a ring's, or where those are many a tree's, there and
 * back (Sanders, Speck and Traeff 2009, Two-tree algorithms for full bandwidth). */
static double pass_steps(double d)
{
    double ring = d - 1, tree = d > 2 ? 2 * ceil(log2(d)) : ring;
    return ring < tree ? ring : tree;
}

/* One pass of a ring over the group: every rank sends (k-1)/k of the bytes. */
static double ring_pass_s(const weft_machine *m, weft_collective c, double bytes,
                          const group *g)
{
    double k = g->size, alpha = 0, worst = 0, below = 1;

    for (int tier = 0; tier <= g->last; tier++) {
        double here = tier == g->last ? k : inside(m, tier, g);
        double parts = here / below; /* domains of the tier below that it joins */
        if (parts > 1) {
            link l = link_of(m, tier, c, here);
            /* a ring crosses between two of them once; `below` rings share the work,
             * each over a link of its own */
            double s_per_byte = 1 / (l.bytes_per_s * (below < 1 ? 1 : below));
            if (s_per_byte > worst) worst = s_per_byte;
            alpha += pass_steps(parts) * l.alpha_s;
        }
        below = here;
    }
    return alpha + (k - 1) / k * bytes * worst;
}

/* Each rank sends 1/k of its bytes to every other: what leaves a domain goes over the
 * rank's own link of that tier, all tiers at once. */
static double all_to_all_s(const weft_machine *m, double bytes, const group *g)
{
    double k = g->size, slowest = 0, alpha = 0, below = 1;

    for (int tier = 0; tier <= g->last; tier++) {
        double here = tier == g->last ? k : inside(m, tier, g);
        if (here > below) {
            link l = link_of(m, tier, WEFT_COLL_ALL_TO_ALL, here);
            double s = bytes * (here - below) / k / l.bytes_per_s;
            if (s > slowest) slowest = s;
            alpha += pass_steps(here / below) * l.alpha_s;
        }
        below = here;
    }
    return alpha + slowest;
}

double weft_machine_group_s(const weft_machine *m, weft_collective c, double bytes,
                            weft_span near, weft_span far)
{
    group g = group_of(m, near, far);

    if (g.size <= 1) return 0;
    switch (c) {
    case WEFT_COLL_P2P: {
        link l = link_of(m, g.last, c, 2);
        return l.alpha_s + bytes / l.bytes_per_s;
    }
    case WEFT_COLL_ALL_TO_ALL: return all_to_all_s(m, bytes, &g);
    case WEFT_COLL_ALL_REDUCE: return 2 * ring_pass_s(m, c, bytes, &g);
    default: return ring_pass_s(m, c, bytes, &g);
    }
}

double weft_machine_collective_s(const weft_machine *m, weft_collective c, double bytes,
                                 int64_t stride, int64_t size)
{
    return weft_machine_group_s(m, c, bytes, (weft_span){stride, size},
                                (weft_span){stride * size, 1});
}
