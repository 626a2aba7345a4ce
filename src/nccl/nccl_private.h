/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NCCL's communicators and calls inside Weft. Functions return MPI error classes with a text of
 * weft_fail, as everywhere; nccl_frame.c makes an ncclResult_t of them at the end of a call. All
 * functions are called with the lock held, unless they say otherwise.
 */
#ifndef WEFT_NCCL_NCCL_PRIVATE_H
#define WEFT_NCCL_NCCL_PRIVATE_H

#include "stream/stream.h"
#include "datatype/op.h"
#include "datatype/type.h"
#include "object/comm.h"
#include "base/list.h"

/* The library exports what the header declares. */
#pragma GCC visibility push(default)
#include <weft_nccl.h>
#pragma GCC visibility pop

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- the frame of a call: nccl_frame.c ---- */

/** Begin a call that needs MPI to run, and take the lock. MPI_ERR_UNSUPPORTED_OPERATION with a
 * text: it does not run, and no lock was taken. */
int wefti_nccl_begin(void);
/** End a call after wefti_nccl_begin() has returned `begun`: release the lock if it was taken. */
ncclResult_t wefti_nccl_end(const char *name, int begun, int error);
/** The same for a call that holds no lock: notes the error with the text of weft_fail. */
ncclResult_t wefti_nccl_result(const char *name, int error);
ncclResult_t wefti_nccl_result_of(int error);

int wefti_nccl_check_output(const void *out, const char *name);

/* ---- types and operations: nccl_types.c ---- */

/** What a reduction does beside the operation of MPI. */
typedef struct nccl_reduction {
    weft_op_t *op;
    bool scales_first;     /* the operand by the factor */
    bool divides_last;     /* the result by the factor */
    const void *factor_at; /* as in weft_scaling_t */
    uint64_t factor;
} nccl_reduction_t;

/** An operation of ncclRedOpCreatePreMulSum. */
typedef struct nccl_own_op {
    bool is_used;
    ncclDataType_t type;
    const void *factor_at; /* NULL: `factor` */
    uint64_t factor;
} nccl_own_op_t;

int wefti_nccl_check_type(ncclDataType_t type, weft_type_t **out);
/** The operation `op` of a communicator, on elements of this type. */
int wefti_nccl_find_op(const struct ncclComm *comm, ncclRedOp_t op, ncclDataType_t type,
                       nccl_reduction_t *out);
/** The bits that weft_scaling_t wants, of an element in host memory. */
uint64_t wefti_nccl_factor_of(ncclDataType_t type, const void *element);

/* ---- communicators: nccl_comm.c ---- */

enum { NCCL_WHY_BYTES = 400 };

/** The place behind an operation in a stream. */
typedef struct nccl_place {
    weft_stream_t *stream; /* NULL: there was none yet */
    uint64_t capture;
    void *mark;
} nccl_place_t;

struct ncclComm {
    weft_link_t link;
    weft_comm_t *mpi; /* NULL: MPI has ended */
    bool holds_session;
    bool is_finalized;
    weft_stream_t *home; /* the legacy default stream of its device */
    ncclResult_t async;  /* the first error of an operation that had begun */
    char why[NCCL_WHY_BYTES];
    nccl_place_t latest[2]; /* of the operations: [1] of those that are captured */
    /* while a group runs: the stream in which its operations run, and the entry of `latest` */
    weft_stream_t *lead;
    nccl_place_t *place;
    void *room; /* memory on the device, for one operation after the other */
    size_t room_bytes;
    nccl_own_op_t *ops; /* [op_count] */
    int op_count;
    weft_list_t registrations;
};

/** The communicator of a handle that is live; MPI_ERR_COMM with a text. */
int wefti_nccl_check_comm(ncclComm_t comm, const char *name);
/** The same, and nothing has ended it. */
int wefti_nccl_check_usable(ncclComm_t comm);

/** Make a communicator out of one of MPI's, of which it takes the reference, also when it fails. */
int wefti_nccl_comm_create(weft_comm_t *mpi, weft_stream_t *home, ncclComm_t *out);
void wefti_nccl_comm_release(ncclComm_t comm);

/** `bytes` bytes on the device, the same memory for all operations of the communicator, which run
 * one after the other. MPI_ERR_NO_MEM. */
int wefti_nccl_room(ncclComm_t comm, size_t bytes, void **out);

/** What the first call of a run of MPI prepares. */
int wefti_nccl_open(void);

/* ---- streams: nccl_streams.c ---- */

/** The legacy default stream of the current context. */
int wefti_nccl_home_stream(weft_stream_t **out);
/** The stream that a call names; it is the communicator's as long as there are communicators. */
int wefti_nccl_stream_of(const struct ncclComm *comm, cudaStream_t handle, weft_stream_t **out);
/** No communicator is left. */
void wefti_nccl_streams_release(void);

/* ---- how the ranks of a communicator meet: rendezvous.c ---- */

enum { NCCL_NO_SERVER = -1 }; /* of a communicator of this process alone */

/** What an ncclUniqueId holds. */
typedef struct nccl_id {
    char magic[8];
    uint64_t number[2]; /* random */
    int32_t server;     /* the rank in the job that tells the others of each other */
} nccl_id_t;

int wefti_nccl_id_make(ncclUniqueId *out);
int wefti_nccl_id_read(const ncclUniqueId *id, nccl_id_t *out);

/** Answer those that ask this process. */
int wefti_nccl_serve(void);
void wefti_nccl_serve_no_more(void);

/** Meet the other ranks: *ranks_out is from weft_alloc, [nranks] ranks in the job. Blocks.
 * MPI_ERR_ARG if what the ranks say does not fit together. */
int wefti_nccl_meet(const nccl_id_t *id, int nranks, int rank, int **ranks_out);

/* ---- calls, alone or in a group: nccl_group.c ---- */

typedef enum nccl_kind {
    NCCL_SEND,
    NCCL_RECV,
    NCCL_ALL_REDUCE,
    NCCL_BROADCAST,
    NCCL_REDUCE,
    NCCL_ALL_GATHER,
    NCCL_REDUCE_SCATTER,
    NCCL_ALL_TO_ALL,
    NCCL_GATHER,
    NCCL_SCATTER,
} nccl_kind_t;

typedef struct nccl_call {
    weft_link_t link; /* in the group */
    nccl_kind_t kind;
    const char *name;
    ncclComm_t comm;
    cudaStream_t handle;
    weft_stream_t *stream; /* of `handle` */
    const void *send;
    void *recv;
    size_t count; /* NCCL's: of one block where there are several */
    ncclDataType_t nccl_type;
    weft_type_t *type;
    ncclRedOp_t op;
    nccl_reduction_t reduction;
    int peer; /* or the root */
} nccl_call_t;

/** ncclCommInitRank in a group: done when the group ends. */
typedef struct nccl_init {
    struct nccl_init *next; /* in the group */
    const char *name;
    ncclComm_t *out;
    int nranks, rank;
    nccl_id_t id;
} nccl_init_t;

/** Is this thread between ncclGroupStart and ncclGroupEnd? Needs no lock. */
bool wefti_nccl_in_group(void);
/** Run a checked call, or collect it; the call is copied. */
int wefti_nccl_enter(const nccl_call_t *call);
/** Collect a communicator's making; without the lock. */
int wefti_nccl_enter_init(const nccl_init_t *init);
/** A call of the group was refused: ncclGroupEnd will return `result`. Needs no lock. */
void wefti_nccl_spoil_group(ncclResult_t result);

/* ---- what runs: nccl_run.c and nccl_coll.c ---- */

/** Put calls (a list of nccl_call_t) into their streams. */
int wefti_nccl_run(weft_list_t *calls);
/** Put one collective into the stream of its communicator's `lead`. */
int wefti_nccl_run_coll(nccl_call_t *call);

/** Make a communicator (nccl_api_comm.c); without the lock. */
int wefti_nccl_init(const nccl_init_t *init);

#endif
