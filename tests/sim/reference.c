/* SPDX-License-Identifier: Apache-2.0 */
#include "reference.h"

typedef struct builder {
    graph g;
    const weft_schedule *s;
    const weft_costs *c;
    int *lane; /* [p] last node on the rank's lane, -1 */
    int *made; /* [2][stages][m] node that makes the value; block node in a pair */
    int *sent; /* [2][stages][m] its message's node, -1 where it stays           */
    int *out;  /* [p][p] last overlapped message between two ranks, -1           */
    int step;
} builder;

static int add_node(builder *b, int type, int rank, const weft_op *op, double length)
{
    graph *g = &b->g;
    if (g->n == g->cap_nodes) {
        g->cap_nodes = 2 * g->cap_nodes + 64;
        g->node = realloc(g->node, (size_t)g->cap_nodes * sizeof *g->node);
    }
    g->node[g->n] = (node){.type = type,
                           .rank = rank,
                           .step = b->step,
                           .op = *op,
                           .length = length,
                           .pair_length = length};
    return g->n++;
}

static void add_edge(builder *b, int from, int to, double after)
{
    graph *g = &b->g;
    if (from < 0) return;
    if (g->n_edges == g->cap_edges) {
        g->cap_edges = 2 * g->cap_edges + 64;
        g->edge = realloc(g->edge, (size_t)g->cap_edges * sizeof *g->edge);
    }
    g->edge[g->n_edges++] = (struct edge){from, to, after};
}

static int on_lane(builder *b, int type, int rank, const weft_op *op, double length)
{
    int before = b->lane[rank], n = add_node(b, type, rank, op, length);
    if (before >= 0) add_edge(b, before, n, b->g.node[before].length);
    return b->lane[rank] = n;
}

static int value(const builder *b, int grad, int stage, int64_t micro)
{
    return (grad * weft_schedule_stages(b->s) + stage) * b->s->m + (int)micro;
}

static int is_grad(const weft_op *op)
{
    return op->kind == WEFT_OP_B || op->kind == WEFT_OP_I;
}

static int makes_value(const weft_op *op)
{
    return op->kind == WEFT_OP_F || is_grad(op);
}

static int stage_of(const builder *b, int rank, const weft_op *op)
{
    return weft_schedule_stage(b->s, rank, op->chunk);
}

/* Its value's number, or that of its input; -1: none. */
static int result_of(const builder *b, int rank, const weft_op *op)
{
    return makes_value(op) ? value(b, is_grad(op), stage_of(b, rank, op), op->micro)
                           : -1;
}

static int input_of(const builder *b, int rank, const weft_op *op)
{
    int stage = stage_of(b, rank, op) + (op->kind == WEFT_OP_F ? -1 : 1);
    if (!makes_value(op) || stage < 0 || stage >= weft_schedule_stages(b->s)) return -1;
    return value(b, is_grad(op), stage, op->micro);
}

static int rank_at(const builder *b, int stage, int64_t micro)
{
    int rank, chunk;
    weft_schedule_holder(b->s, stage, micro, &rank, &chunk);
    return rank;
}

static void wire(const builder *b, int from, int to, double *latency, double *gap)
{
    *latency = b->c->latency;
    *gap = 0;
    for (int k = 0; k < b->c->n_tiers; k++) {
        const weft_link_tier *t = &b->c->tier[k];
        if (t->ranks && from / t->ranks != to / t->ranks) continue;
        *latency = t->latency;
        if (t->bandwidth > 0) *gap = b->c->message_bytes / t->bandwidth;
        return;
    }
}

/* Where the value of the op goes; its own rank when nowhere. */
static int target(const builder *b, int rank, const weft_op *op)
{
    int stage = stage_of(b, rank, op) + (op->kind == WEFT_OP_F ? 1 : -1);
    if (!makes_value(op) || stage < 0 || stage >= weft_schedule_stages(b->s))
        return rank;
    return rank_at(b, stage, op->micro);
}

/* The nodes that come before and after an op: lists are walked step by step and rank by
 * rank, so edges between ranks are added once all nodes of a step are there. */
typedef struct wait {
    int node, input, recv;
} wait;

static int receive(builder *b, int rank, const weft_op *op, wait *w)
{
    double latency, gap;
    int input = input_of(b, rank, op);
    *w = (wait){-1, input, -1};
    if (input < 0) return 0;
    int from = rank_at(b, input / b->s->m % weft_schedule_stages(b->s), op->micro);
    if (from == rank || b->c->messages != WEFT_MESSAGES_BLOCKING) return 1;
    wire(b, from, rank, &latency, &gap);
    w->recv = on_lane(b, NODE_RECV, rank, op, latency + gap);
    return 1;
}

static void send(builder *b, int rank, const weft_op *op, int maker)
{
    double latency, gap;
    int to = target(b, rank, op), result = result_of(b, rank, op);
    if (result < 0) return;
    b->made[result] = maker;
    b->sent[result] = -1;
    if (to == rank) return;
    wire(b, rank, to, &latency, &gap);
    if (b->c->messages == WEFT_MESSAGES_BLOCKING) {
        b->sent[result] = on_lane(b, NODE_SEND, rank, op, latency + gap);
        return;
    }
    int n = add_node(b, NODE_SEND, rank, op, latency + gap);
    int *last = &b->out[rank * b->s->p + to];
    add_edge(b, maker, n, b->g.node[maker].length);
    add_edge(b, *last, n, gap);
    *last = b->sent[result] = n;
}

static void connect(builder *b, const wait *w)
{
    if (w->input < 0) return;
    int from = b->sent[w->input];
    if (w->recv >= 0)
        add_edge(b, from, w->recv, 0);
    else if (from >= 0)
        add_edge(b, from, w->node, b->g.node[from].length);
    else
        add_edge(b, b->made[w->input], w->node, b->g.node[b->made[w->input]].length);
}

static double length_of(const builder *b, int rank, const weft_op *op)
{
    return b->c->dur[(rank * b->s->v + op->chunk) * WEFT_OP_N_COMPUTE + op->kind];
}

static double pair_length(const builder *b, int rank, double sum)
{
    double x = b->c->overlap_by_rank ? b->c->overlap_by_rank[rank] : b->c->overlap_cost;
    return x > 0 ? x : sum;
}

static void add_step(builder *b)
{
    const weft_schedule *s = b->s;
    wait *w = malloc((size_t)s->first[s->p] * sizeof *w);
    int n = 0;
    for (int r = 0; r < s->p; r++)
        for (int64_t i = s->first[r]; i < s->first[r + 1]; i++) {
            const weft_op *op = &s->op[i], *mate = op + 1;
            int first = n, pair = (op->flags & WEFT_OPF_PAIR) != 0;
            double one = length_of(b, r, op), two = pair ? length_of(b, r, mate) : 0;
            double all = pair ? pair_length(b, r, one + two) : one;
            double share = pair ? (one > 0 ? all * (one / (one + two)) : 0) : one;
            int atomic = pair && b->c->overlap == WEFT_OVERLAP_ATOMIC;
            n += receive(b, r, op, &w[n]);
            if (atomic) n += receive(b, r, mate, &w[n]);
            int x = on_lane(b, NODE_OP, r, op, atomic ? all : share);
            b->g.node[x].pair_length = share;
            for (int k = first; k < n; k++)
                w[k].node = x;
            send(b, r, op, x);
            if (!pair) continue;
            first = n;
            if (!atomic) n += receive(b, r, mate, &w[n]);
            int y = atomic ? add_node(b, NODE_OP, r, mate, all)
                           : on_lane(b, NODE_OP, r, mate, all - share);
            b->g.node[y].pair_length = all - share;
            if (atomic) {
                add_edge(b, x, y, 0);
                b->g.node[y].pair_from = share;
            }
            for (int k = first; k < n; k++)
                w[k].node = y;
            send(b, r, mate, y);
            i++;
        }
    for (int k = 0; k < n; k++)
        connect(b, &w[k]);
    free(w);
}

static int joins(const builder *b, const weft_sim_options *o, int rank, int other)
{
    int mirror =
        b->s->placement == WEFT_PLACE_BIDIR || b->s->placement == WEFT_PLACE_BIDIRV;
    return o->sync == WEFT_SYNC_GLOBAL || other == rank ||
           (mirror && other == b->s->p - 1 - rank);
}

/* A node of no length for "may change its weights", and one for the change. */
static void add_updates(builder *b, const weft_sim_options *o)
{
    static const weft_op none;
    int p = b->s->p, *last = malloc((size_t)p * sizeof *last), before = -1;
    for (int r = 0; r < p; r++)
        last[r] = b->lane[r];
    for (int r = 0; r < p; r++) {
        double latency = 0, gap;
        int n = add_node(b, NODE_JOIN, r, &none, 0);
        for (int q = 0; q < p; q++)
            if (joins(b, o, r, q)) add_edge(b, last[q], n, b->g.node[last[q]].length);
        if (before >= 0) wire(b, r - 1, r, &latency, &gap);
        if (o->sync == WEFT_SYNC_CHAIN) add_edge(b, before, n, latency);
        before = b->lane[r] = n;
        double t = o->optimizer ? o->optimizer[r] : 0;
        if (t > 0) on_lane(b, NODE_UPDATE, r, &none, t);
    }
    free(last);
}

static void find_longest_paths(graph *g)
{
    for (int sweep = 0, changed = 1; changed; sweep++) {
        changed = 0;
        if (sweep > g->n) fail_msg("the reference has a cycle");
        for (int i = 0; i < g->n_edges; i++) {
            const struct edge *e = &g->edge[i];
            double start = g->node[e->from].start + e->after;
            if (start <= g->node[e->to].start) continue;
            g->node[e->to].start = start;
            changed = 1;
        }
    }
}

static int *filled(int n)
{
    int *x = malloc((size_t)n * sizeof *x);
    for (int i = 0; i < n; i++)
        x[i] = -1;
    return x;
}

graph reference_graph(const weft_schedule *s, const weft_costs *c,
                      const weft_sim_options *o)
{
    builder b = {.s = s, .c = c};
    int values = 2 * weft_schedule_stages(s) * s->m, steps = o->steps ? o->steps : 1;
    b.lane = filled(s->p);
    b.out = filled(s->p * s->p);
    b.made = filled(values);
    b.sent = filled(values);
    for (b.step = 0; b.step < steps; b.step++) {
        add_step(&b);
        if (o->optimizer || b.step < steps - 1) add_updates(&b, o);
    }
    free(b.lane);
    free(b.out);
    free(b.made);
    free(b.sent);
    find_longest_paths(&b.g);
    return b.g;
}

double reference_makespan(const graph *g)
{
    double end = 0;
    for (int i = 0; i < g->n; i++) {
        const node *n = &g->node[i];
        int counts = n->type == NODE_OP || n->type == NODE_UPDATE;
        if (counts && n->start + n->length > end) end = n->start + n->length;
    }
    return end;
}

void graph_clear(graph *g)
{
    free(g->node);
    free(g->edge);
}
