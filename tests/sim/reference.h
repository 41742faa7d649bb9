/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Simulation a second time, independent of the library's: ops, messages and updates of all
 * steps are the nodes of a graph whose edges say "starts at least so long after the start
 * of", and the times are its longest paths, found by sweeps until nothing changes.
 */
#ifndef WEFT_TESTS_SIM_REFERENCE_H
#define WEFT_TESTS_SIM_REFERENCE_H
#include "schedule/support.h"

enum { NODE_OP, NODE_SEND, NODE_RECV, NODE_UPDATE, NODE_JOIN };

typedef struct node {
    int type, rank, step;
    weft_op op;    /* of an op, or of the message's op */
    double length; /* of the node                      */
    double start;  /* found                            */
    double
        pair_from; /* an op of an atomic pair starts so much after the block; else 0 */
    double
        pair_length; /* its own part of the block; else length                       */
} node;

typedef struct graph {
    int n, n_edges, cap_nodes, cap_edges;
    node *node;
    struct edge {
        int from, to;
        double after;
    } * edge;
} graph;

/* Steps of s; longest paths are found. Free with graph_clear(). */
graph reference_graph(const weft_schedule *s, const weft_costs *c,
                      const weft_sim_options *o);
void graph_clear(graph *g);
double reference_makespan(const graph *g);
#endif
