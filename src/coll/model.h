/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cost model, in microseconds: the constants of a fabric (tuning.conf), and formulas by which
 * algorithms are compared. It is LogGP with one addition: the ranks of a node share its way out.
 *
 * The constants are the same on all ranks, and so are the results: every rank computes the same
 * formulas with the same numbers, and all choose the same algorithm without exchanging a message.
 */
#ifndef WEFT_COLL_MODEL_H
#define WEFT_COLL_MODEL_H

#include <stdbool.h>
#include <stddef.h>

/** The costs of messages between two ranks. */
typedef struct weft_link_cost {
    double latency_us;  /* of an empty message */
    double gap_us;      /* from one message of a rank to its next, each way */
    double port_us;     /* from one message of a node to its next, each way */
    double us_per_byte; /* for one stream; between nodes, for all streams of a node together */
    size_t eager_bytes; /* a longer message goes by rendezvous, which takes two latencies more */
} weft_link_cost_t;

typedef struct weft_fabric {
    weft_link_cost_t net, node; /* between nodes and on one */
    double reduce_us_per_byte;  /* for one operand */
    double copy_us_per_byte;
} weft_fabric_t;

/** The constants for a libfabric provider ("efa", "tcp;ofi_rxm"): those of the row with its name,
 * of the row with the part of the name before the semicolon, or of "net". */
weft_fabric_t weft_fabric_of(const char *provider);

/** Is there a row with exactly this name? */
bool weft_fabric_is_known(const char *provider);

/** The names of the rows, by number; NULL beyond the last. */
const char *weft_fabric_name(int index);

/** Take a row of a table: "fabric NAME latency_us gap_us port_us MB/s eager" or "memory reduce_MB/s
 * copy_MB/s". A row replaces an earlier one of the same name. Returns false, and changes nothing,
 * if it is no such row. */
bool weft_fabric_parse(const char *line);

/** Forget all rows. */
void weft_fabrics_close(void);

/** The call whose cost is estimated. */
typedef struct weft_model {
    weft_fabric_t fabric;
    /* least, most: the smallest and largest number of ranks on a node */
    int ranks, nodes, least, most;
    bool is_consecutive; /* the order of nodes is the order of ranks */
    double bytes;        /* one rank's contribution; for reductions and bcast the whole vector */
    int radix;
    double segment_bytes;
} weft_model_t;

/** A round in which each rank sends `others` messages of `bytes` at once, and receives as many. */
double weft_round_us(const weft_link_cost_t *link, double others, double bytes);

/** The same round, with the reduction of what was received. */
double weft_reduce_round_us(const weft_model_t *model, const weft_link_cost_t *link, double others,
                            double bytes);

/** A tree over `size` ranks, of the model's radix. */
double weft_tree_us(const weft_link_cost_t *link, int size, int radix, double bytes);

/** The same tree towards its root, with a reduction at each member. */
double weft_reduce_tree_us(const weft_model_t *model, const weft_link_cost_t *link, int size,
                           double bytes);

/** The same for a gather or scatter of blocks of `bytes`. */
double weft_blocks_tree_us(const weft_link_cost_t *link, int size, int radix, double bytes);

/** An allgather of `size` blocks of `bytes` by Bruck's algorithm: in each round a member sends all
 * its blocks k - 1 times. */
double weft_bruck_us(const weft_link_cost_t *link, int size, int radix, double bytes);

/** All operands go to rank 0, which reduces them and sends each rank a vector. It is alone in using
 * its node's way out. */
double weft_through_root_us(const weft_model_t *model);

/** Recursive multiplying of vectors of `bytes` over `size` ranks. */
double weft_multiplying_us(const weft_model_t *model, const weft_link_cost_t *link, int size,
                           double bytes);

/** Rabenseifner's algorithm, which exchanges parts, over `size` ranks. */
double weft_halving_us(const weft_model_t *model, const weft_link_cost_t *link, int size,
                       double bytes);

/** p - 1 rounds around the ring of all ranks, with a reduction in each if `reduces`. */
double weft_ring_us(const weft_model_t *model, double bytes, bool reduces);

/** The costs of a link that `sharers` ranks of a node use at the same time. */
weft_link_cost_t weft_shared(weft_link_cost_t link, int sharers);

/* Work of the ranks of a node among themselves: a tree, and a direct exchange of parts. */
double weft_node_tree_us(const weft_model_t *model, double bytes);
double weft_node_reduce_us(const weft_model_t *model, double bytes);
double weft_node_parts_us(const weft_model_t *model, double part_bytes);

/** The number of messages that a rank sends in all rounds of recursive multiplying. */
int weft_multiplying_messages(const weft_model_t *model, int size);

/** How long a piece keeps a node's link busy, if each of the node's carriers sends `messages`
 * messages and all of them together `bytes`. */
double weft_busy_us(const weft_model_t *model, double messages, double bytes);

/** The time of a pipeline of stages for `pieces` pieces: one piece takes `fill_us` through all
 * stages and `step_us` in the slowest. */
double weft_pipeline_us(double fill_us, double step_us, double pieces);

#endif
