/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The simulator: runs the plans of all ranks of a collective in one process, in the order of time
 * that follows from the cost model's constants. It counts what they do, and proves the result: each
 * element of a rank's data is a number that identifies it, and at the end each rank must have what
 * the standard requires.
 *
 *   a rank     does one thing at a time: begins a message (gap), reduces, copies; it takes the
 *              messages that arrive one by one (gap)
 *   a node     has one way out and one way in, which its ranks share; a message occupies it
 *              for a while (port)
 *   a message  between nodes takes latency + bytes / rate from the time the way is free; a long one
 *              goes by rendezvous. On a node the receiver copies it.
 */
#ifndef WEFT_SIMULATOR_SIMULATOR_H
#define WEFT_SIMULATOR_SIMULATOR_H

#include "coll/team/shape.h"
#include "coll/tuning.h"

typedef struct weft_simulation {
    weft_coll_t coll;
    const weft_shape_t *shape;
    size_t bytes; /* as tuning.conf counts them, rounded up to elements of 8 */
    int root;
    weft_choice_t choice;
    const char *fabric;
    int island_nodes; /* this many nodes lie near each other; 0: all do */
    bool is_in_place, is_oversubscribed;
    bool commutes; /* the operation of a reduction */
    /* Reduce by an operation that is not associative, and check that all ranks agree, instead of
     * checking the values. */
    bool compares_bits;
    size_t memory_bytes; /* the simulator may use this much memory */
} weft_simulation_t;

typedef enum weft_sim_depth {
    WEFT_SIM_PROVED,  /* every rank has the right result */
    WEFT_SIM_RUN,     /* all messages match; there was no memory for their data */
    WEFT_SIM_SAMPLED, /* a few ranks' plans were counted; the time is the model's formula */
    WEFT_SIM_WRONG,   /* see `complaint` */
} weft_sim_depth_t;

typedef struct weft_sim_result {
    weft_sim_depth_t depth;
    char complaint[200];
    int rounds, net_rounds; /* messages of the longest chain; of those, between nodes */
    double messages, net_messages, net_bytes; /* of all ranks; net: between nodes */
    double far_bytes;                         /* the part of net_bytes that goes between islands */
    double most_messages, most_bytes;         /* sent by one rank */
    double most_scratch_bytes;                /* of one rank */
    double time_us, bound_us;                 /* bound: no algorithm can be faster in this model */
} weft_sim_result_t;

/** Returns MPI_SUCCESS, with the result in *out, or MPI_ERR_NO_MEM. */
int weft_simulate(const weft_simulation_t *simulation, weft_sim_result_t *out);

/** The facts of a call in the form in which the tuning table takes them. */
weft_tuning_query_t weft_sim_query(const weft_simulation_t *simulation);

#endif
