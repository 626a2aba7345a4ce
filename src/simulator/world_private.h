/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the simulator share: the ranks of a simulated job. */
#ifndef WEFT_SIMULATOR_WORLD_PRIVATE_H
#define WEFT_SIMULATOR_WORLD_PRIVATE_H

#include "simulator/simulator.h"

#include "coll/plan.h"

#include <stdint.h>

/* A step, without the fields that only the data need. */
typedef struct weft_sim_step {
    uint64_t bytes; /* for a reduction or copy: the bytes that it works on */
    int32_t peer;
    uint8_t kind; /* weft_step_kind_t */
    bool waits;
} weft_sim_step_t;

/* A thread runs a plan, or a part of one. */
typedef struct weft_sim_thread {
    const weft_sim_step_t *steps;
    uint32_t count, next;
    int32_t rank;
    int16_t part; /* -1: the whole plan */
    bool has_begun, waits;
    int32_t outstanding;        /* messages and parts whose end is not known */
    int32_t rounds, net_rounds; /* the longest chain of messages that its present step depends on */
    int32_t next_rounds, next_net_rounds; /* the same for the step after a wait */
    double until;                         /* when everything ends whose end is known */
} weft_sim_thread_t;

typedef struct weft_sim_rank {
    double free_at;      /* when it can begin its next operation */
    double copy_free_at; /* when it can copy what arrives */
    double take_free_at; /* when it can take the next message */
    uint32_t first_thread;
    /* For a proof: */
    weft_plan_t *plan;
    char *buffers[WEFT_BUFFERS];
} weft_sim_rank_t;

typedef struct weft_sim_world {
    const weft_simulation_t *its;
    weft_fabric_t fabric;
    int size;
    size_t count; /* elements of a block */
    weft_type_t *type;
    weft_op_t *op;
    bool has_data;          /* this is a proof */
    weft_sim_rank_t *ranks; /* [size] */
    weft_sim_thread_t *threads;
    size_t thread_count, thread_room;
    double *way_out, *way_in; /* [nodes]; when they are free */
    int *counts, *displs;     /* [size], the same for all ranks */
    MPI_Datatype *types;
    weft_sim_result_t result;
} weft_sim_world_t;

/** The arguments of a rank. The communicator in them is valid until the next call. */
weft_coll_args_t weft_sim_args(weft_sim_world_t *world, int rank);

/* contents.c: the contents of the ranks' buffers. */

/** Bytes of a rank's send and receive buffers. */
size_t weft_sim_in_bytes(const weft_sim_world_t *world, int rank);
size_t weft_sim_out_bytes(const weft_sim_world_t *world, int rank);

int weft_sim_open_contents(weft_sim_world_t *world);
void weft_sim_close_contents(weft_sim_world_t *world);
void weft_sim_fill(weft_sim_world_t *world, int rank);

/** Check the results of all ranks; an error in them goes to result.complaint. Returns MPI_SUCCESS
 * or MPI_ERR_NO_MEM. */
int weft_sim_check(weft_sim_world_t *world);

/* replay.c */

/** Run all threads to their end; `result` gets counts and time. Returns MPI_SUCCESS or
 * MPI_ERR_NO_MEM. */
int weft_sim_replay(weft_sim_world_t *world);

/* bound.c */
double weft_sim_bound_us(const weft_sim_world_t *world);

#endif
