/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What things cost, in microseconds: the constants of a fabric (tuning.conf), and formulas that
 * algorithms are compared by. LogGP with one addition: the ranks of a node share its way out.
 *
 * The constants are the same on all ranks, and so are the results: every rank runs the same code on
 * the same numbers, and all choose the same algorithm without a word.
 */
#ifndef WEFT_COLL_MODEL_H
#define WEFT_COLL_MODEL_H

#include <stdbool.h>
#include <stddef.h>

/** Between two ranks. */
typedef struct weft_link_cost {
    double latency_us;  /* of an empty message */
    double gap_us;      /* from one message of a rank to its next, each way */
    double port_us;     /* from one message of a node to its next, each way */
    double us_per_byte; /* of one stream; between nodes, of all of a node's */
    size_t eager_bytes; /* a longer message goes by rendezvous, which takes two latencies more */
} weft_link_cost_t;

typedef struct weft_fabric {
    weft_link_cost_t net, node; /* between nodes and on one */
    double reduce_us_per_byte;  /* of one operand */
    double copy_us_per_byte;
} weft_fabric_t;

/** The constants for a libfabric provider ("efa", "tcp;ofi_rxm"): of the row of its name, of the
 *  part in front of its semicolon, or of "net". */
weft_fabric_t weft_fabric_of(const char *provider);

/** Is there a row of exactly this name? */
bool weft_fabric_is_known(const char *provider);

/** The names of the rows, by number; NULL beyond the last. */
const char *weft_fabric_name(int index);

/** Take a row of a table: "fabric NAME latency_us gap_us port_us MB/s eager" or "memory
 *  reduce_MB/s copy_MB/s". A row replaces one of the same name. False: it is none, and nothing is
 * changed. */
bool weft_fabric_parse(const char *line);

/** Forget all rows. */
void weft_fabrics_close(void);

/** A call whose cost is asked for. */
typedef struct weft_model {
    weft_fabric_t fabric;
    int ranks, nodes, least, most; /* least, most: ranks of a node */
    bool is_consecutive;           /* the order of nodes is the order of ranks */
    double bytes; /* one rank's contribution; of reductions and bcast the whole vector */
    int radix;
    double segment_bytes;
} weft_model_t;

/** `others` messages of `bytes` at once from each rank, and as many to it. */
double weft_round_us(const weft_link_cost_t *link, double others, double bytes);

/** The same round, and the reduction of what came. */
double weft_reduce_round_us(const weft_model_t *model, const weft_link_cost_t *link, double others,
                            double bytes);

/** A tree over `size` ranks of the model's radix. */
double weft_tree_us(const weft_link_cost_t *link, int size, int radix, double bytes);

/** The same tree towards its root, with the reductions of its nodes. */
double weft_reduce_tree_us(const weft_model_t *model, const weft_link_cost_t *link, int size,
                           double bytes);

/** The same of a gather or scatter of blocks of `bytes`. */
double weft_blocks_tree_us(const weft_link_cost_t *link, int size, int radix, double bytes);

/** Recursive multiplying of vectors of `bytes` over `size` ranks. */
double weft_multiplying_us(const weft_model_t *model, const weft_link_cost_t *link, int size,
                           double bytes);

/** Rabenseifner's, of parts; `size` ranks. */
double weft_halving_us(const weft_model_t *model, const weft_link_cost_t *link, int size,
                       double bytes);

/** p - 1 rounds around the ring of all ranks, which may put together what comes. */
double weft_ring_us(const weft_model_t *model, double bytes, bool reduces);

/** A link that `sharers` ranks of a node use at the same time. */
weft_link_cost_t weft_shared(weft_link_cost_t link, int sharers);

/* What ranks of a node do among themselves: a tree there, parts exchanged straight. */
double weft_node_tree_us(const weft_model_t *model, double bytes);
double weft_node_reduce_us(const weft_model_t *model, double bytes);
double weft_node_parts_us(const weft_model_t *model, double part_bytes);

/** Messages that a rank sends in all rounds of recursive multiplying. */
int weft_multiplying_messages(const weft_model_t *model, int size);

/** How long a node is busy between nodes with a piece, of which each of its carriers sends
 *  `messages` messages and all together `bytes`. */
double weft_busy_us(const weft_model_t *model, double messages, double bytes);

/** Time of a pipeline of stages: `pieces` pieces, of which one takes `fill_us` to go through all
 *  stages and `step_us` in the slowest. */
double weft_pipeline_us(double fill_us, double step_us, double pieces);

#endif
