/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpix.h: what Weft offers beyond the standard, under names that begin with MPIX_. A program can
 * also test at compile time whether it is built with Weft, and with which version: mpi.h has no
 * such macro, because a program built with it runs with any library of the standard ABI.
 */
#ifndef MPIX_H_INCLUDED
#define MPIX_H_INCLUDED

#include <mpi.h>

#include <stddef.h>

#define WEFT_VERSION_MAJOR 0
#define WEFT_VERSION_MINOR 1
#define WEFT_VERSION_PATCH 0
#define WEFT_VERSION       "0.1.0"

/*
 * Floating point of 16 bits: IEEE 754 binary16 (_Float16), and bfloat16, the upper half of a float.
 * And of 8 bits: E4M3 and E5M2, named for their exponent and fraction bits, as in the "OCP 8-bit
 * Floating Point Specification" (float8_e4m3fn and float8_e5m2 of torch). E4M3 has no infinity.
 *
 * They are in the group "floating point" of predefined operations: MPI_SUM, MPI_PROD, MPI_MIN,
 * MPI_MAX. Numbers are combined as floats. On the host each result of two operands is rounded to
 * its bits, to the nearest, ties to even; on devices operands that are combined together, in the
 * order of ranks, are rounded once. Results beyond a type's greatest number (448 of E4M3, 57344 of
 * E5M2) are not held to it: they become infinity, or NaN in E4M3, as in torch.
 *
 * Like MPI's own, these handles are constants. The standard ABI reserves the values below 0x1000
 * (MPI 5.0, section 21.3.3); Weft's extensions are from there to 0x1fff, where no object can be.
 * Bits 5:3 encode the size as in the standard's handles. To other libraries they are
 * handles that they did not make.
 */
#define MPIX_FLOAT8_E4M3 ((MPI_Datatype)0x00001242)
#define MPIX_FLOAT8_E5M2 ((MPI_Datatype)0x00001243)
#define MPIX_C_FLOAT16   ((MPI_Datatype)0x0000124a)
#define MPIX_BFLOAT16    ((MPI_Datatype)0x0000124b)

/*
 * Device memory (CUDA). All calls take pointers to it, in every build and without any setting: the
 * driver is the one that the program has loaded. MPIX_Query_cuda_support returns 1, or 0 when this
 * is switched off (WEFT_DEVICE=no). It may be called at any time, also before MPI_Init and after
 * MPI_Finalize.
 */
#define MPIX_CUDA_AWARE_SUPPORT 1

/*
 * Fault tolerance (docs/fault_tolerance.md), as the MPI Forum's proposal of user-level failure
 * mitigation (ULFM) has it. Error classes: a process that the call needs has failed; a receive from
 * MPI_ANY_SOURCE waits on, but a process that might have sent the message has failed; the
 * communicator was revoked. With WEFT_RECOVERY=yes calls return them and the job goes on; otherwise
 * the first failure ends the job.
 */
#define MPIX_ERR_PROC_FAILED         0x3001
#define MPIX_ERR_PROC_FAILED_PENDING 0x3002
#define MPIX_ERR_REVOKED             0x3003

#ifdef __cplusplus
extern "C" {
#endif
int MPIX_Query_cuda_support(void);
int PMPIX_Query_cuda_support(void);

/*
 * Starting without a launcher that speaks PMIx: the program says which rank it is and lends MPI a
 * store of keys and values that all ranks of the job reach (a torch.distributed.Store, etcd, ...).
 * MPI needs little of it: rank 0 puts one value, by which the others find it, and all else goes
 * over connections of MPI's own.
 *
 *     MPIX_Bootstrap bootstrap = {.bytes = sizeof(bootstrap), .rank = rank, .size = size,
 *                                 .state = store, .put = put, .get = get};
 *     MPIX_Bootstrap_set(&bootstrap);
 *     MPI_Init(NULL, NULL);
 *
 * The callbacks. Only the thread that starts MPI calls them, one at a time and before that call
 * (MPI_Init, MPI_Init_thread, MPI_Session_init) returns. They may block, may not call MPI, and
 * return normally (no exception, no longjmp). A key has at most 63 letters, digits, "/" and "-";
 * a value is bytes, zeros among them, at most MPIX_BOOTSTRAP_VALUE_MAX. Jobs that share a store
 * need keys of their own: the callbacks put a prefix in front of them. A value that an earlier job
 * has left under a key does no harm.
 */
enum {
    MPIX_BOOTSTRAP_VALUE_MAX = 4096,
    MPIX_BOOTSTRAP_ABSENT = 1, /* of get: no value has come in time */
    MPIX_BOOTSTRAP_FAILED = 2  /* of put and get: the store cannot be used; MPI_Init fails */
};

typedef struct MPIX_Bootstrap {
    size_t bytes;     /* sizeof(MPIX_Bootstrap): later versions may add members at the end */
    int rank, size;   /* in MPI_COMM_WORLD */
    const char *host; /* ranks with different names share no memory; NULL: MPI finds out */
    void *state;      /* is passed to the callbacks; stays valid until MPI has ended */
    /* Make a value readable by all ranks, in place of what is there. 0 or MPIX_BOOTSTRAP_FAILED.
     * `data` is MPI's; it is not valid afterwards. */
    int (*put)(void *state, const char *key, const void *data, size_t bytes);
    /* Wait for a value, about limit_ms milliseconds at most (0: not at all; less is allowed, as MPI
     * asks again), and copy it to out[room]; its length goes to bytes_out, also where it is larger
     * than room, which is an error. 0, MPIX_BOOTSTRAP_ABSENT or MPIX_BOOTSTRAP_FAILED. */
    int (*get)(void *state, const char *key, int limit_ms, void *out, size_t room,
               size_t *bytes_out);
} MPIX_Bootstrap;

int MPIX_Bootstrap_set(const MPIX_Bootstrap *bootstrap);
int PMPIX_Bootstrap_set(const MPIX_Bootstrap *bootstrap);

/*
 * What the job runs on and what costs it speed: hosts, cores, the ways between ranks, warnings, as
 * mpirun --report prints them at the start. Collective over comm; every rank gets the same text, of
 * which `size` bytes, the zero at the end included, go to text[]; the length of the whole text,
 * without the zero, goes to length. To learn the length, call it with size 0. MPIX_REPORT_JSON is
 * an object with "version", "ranks", "simulated_on", "hosts" and "warnings"; later versions may
 * add members to it.
 */
enum { MPIX_REPORT_TEXT = 0, MPIX_REPORT_JSON = 1 };

int MPIX_Comm_report(MPI_Comm comm, int form, int size, char *text, int *length);
int PMPIX_Comm_report(MPI_Comm comm, int form, int size, char *text, int *length);

/*
 * Operations in the order of a CUDA stream (docs/streams.md). A stream communicator belongs to a
 * stream. The _enqueue functions return at once; the operation runs after the work that was put
 * into the stream before it, and before the work that is put there later. No synchronisation by the
 * host is needed, and while a stream is being captured the operation becomes part of the graph.
 * The stream does not wait for operations that have a request: MPI_Wait does, or
 * MPIX_Wait_enqueue, which has the stream wait. For a collective the request is MPI_REQUEST_NULL
 * where it is a kernel in the stream, which later work there comes after.
 *
 * MPIX_Stream_create takes the info keys "type", which is "cudaStream_t", and "value", the stream's
 * handle as MPIX_Info_set_hex writes it. Without "type" the stream belongs to no device, and
 * _enqueue is an error. MPIX_Stream_comm_create is collective over comm; each rank gives a stream
 * of its own, or MPIX_STREAM_NULL. In MPIX_Comm_get_stream idx is 0. Operations that are enqueued
 * when a stream or a communicator is freed still complete; MPI_Finalize waits for them.
 */
typedef struct MPIX_ABI_Stream *MPIX_Stream;
#define MPIX_STREAM_NULL ((MPIX_Stream)0x00001300)

int MPIX_Info_set_hex(MPI_Info info, const char *key, const void *value, int value_size);
int MPIX_Stream_create(MPI_Info info, MPIX_Stream *stream);
int MPIX_Stream_free(MPIX_Stream *stream);
int MPIX_Stream_comm_create(MPI_Comm comm, MPIX_Stream stream, MPI_Comm *newcomm);
int MPIX_Comm_get_stream(MPI_Comm comm, int idx, MPIX_Stream *stream);
int MPIX_Send_enqueue(const void *buf, int count, MPI_Datatype datatype, int dest, int tag,
                      MPI_Comm comm);
int MPIX_Recv_enqueue(void *buf, int count, MPI_Datatype datatype, int source, int tag,
                      MPI_Comm comm, MPI_Status *status);
int MPIX_Isend_enqueue(const void *buf, int count, MPI_Datatype datatype, int dest, int tag,
                       MPI_Comm comm, MPI_Request *request);
int MPIX_Irecv_enqueue(void *buf, int count, MPI_Datatype datatype, int source, int tag,
                       MPI_Comm comm, MPI_Request *request);
int MPIX_Wait_enqueue(MPI_Request *request, MPI_Status *status);
int MPIX_Waitall_enqueue(int count, MPI_Request array_of_requests[],
                         MPI_Status array_of_statuses[]);
int MPIX_Barrier_enqueue(MPI_Comm comm);
int MPIX_Bcast_enqueue(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm);
int MPIX_Allreduce_enqueue(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype,
                           MPI_Op op, MPI_Comm comm);
int MPIX_Reduce_scatter_enqueue(const void *sendbuf, void *recvbuf, const int recvcounts[],
                                MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);
int MPIX_Allgather_enqueue(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                           int recvcount, MPI_Datatype recvtype, MPI_Comm comm);
int MPIX_Alltoall_enqueue(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                          int recvcount, MPI_Datatype recvtype, MPI_Comm comm);
int MPIX_Ibarrier_enqueue(MPI_Comm comm, MPI_Request *request);
int MPIX_Ibcast_enqueue(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm,
                        MPI_Request *request);
int MPIX_Iallreduce_enqueue(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype,
                            MPI_Op op, MPI_Comm comm, MPI_Request *request);
int MPIX_Ireduce_scatter_enqueue(const void *sendbuf, void *recvbuf, const int recvcounts[],
                                 MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                                 MPI_Request *request);
int MPIX_Iallgather_enqueue(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
                            void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                            MPI_Request *request);
int MPIX_Ialltoall_enqueue(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                           int recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                           MPI_Request *request);

int PMPIX_Info_set_hex(MPI_Info info, const char *key, const void *value, int value_size);
int PMPIX_Stream_create(MPI_Info info, MPIX_Stream *stream);
int PMPIX_Stream_free(MPIX_Stream *stream);
int PMPIX_Stream_comm_create(MPI_Comm comm, MPIX_Stream stream, MPI_Comm *newcomm);
int PMPIX_Comm_get_stream(MPI_Comm comm, int idx, MPIX_Stream *stream);
int PMPIX_Send_enqueue(const void *buf, int count, MPI_Datatype datatype, int dest, int tag,
                       MPI_Comm comm);
int PMPIX_Recv_enqueue(void *buf, int count, MPI_Datatype datatype, int source, int tag,
                       MPI_Comm comm, MPI_Status *status);
int PMPIX_Isend_enqueue(const void *buf, int count, MPI_Datatype datatype, int dest, int tag,
                        MPI_Comm comm, MPI_Request *request);
int PMPIX_Irecv_enqueue(void *buf, int count, MPI_Datatype datatype, int source, int tag,
                        MPI_Comm comm, MPI_Request *request);
int PMPIX_Wait_enqueue(MPI_Request *request, MPI_Status *status);
int PMPIX_Waitall_enqueue(int count, MPI_Request array_of_requests[],
                          MPI_Status array_of_statuses[]);
int PMPIX_Barrier_enqueue(MPI_Comm comm);
int PMPIX_Bcast_enqueue(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm);
int PMPIX_Allreduce_enqueue(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype,
                            MPI_Op op, MPI_Comm comm);
int PMPIX_Reduce_scatter_enqueue(const void *sendbuf, void *recvbuf, const int recvcounts[],
                                 MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);
int PMPIX_Allgather_enqueue(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
                            void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm);
int PMPIX_Alltoall_enqueue(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                           int recvcount, MPI_Datatype recvtype, MPI_Comm comm);
int PMPIX_Ibarrier_enqueue(MPI_Comm comm, MPI_Request *request);
int PMPIX_Ibcast_enqueue(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm,
                         MPI_Request *request);
int PMPIX_Iallreduce_enqueue(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype,
                             MPI_Op op, MPI_Comm comm, MPI_Request *request);
int PMPIX_Ireduce_scatter_enqueue(const void *sendbuf, void *recvbuf, const int recvcounts[],
                                  MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                                  MPI_Request *request);
int PMPIX_Iallgather_enqueue(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
                             void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                             MPI_Request *request);
int PMPIX_Ialltoall_enqueue(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
                            void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                            MPI_Request *request);

/*
 * Fault tolerance. MPIX_Comm_revoke is called by one rank, and reaches all; the others whose names
 * have no "i" before them, but for enquiries and acknowledgements, which are local, are collective
 * over the ranks of comm that live. mpix.h above has the error classes.
 */
int MPIX_Comm_revoke(MPI_Comm comm);
int MPIX_Comm_is_revoked(MPI_Comm comm, int *flag);
int MPIX_Comm_get_failed(MPI_Comm comm, MPI_Group *failedgrp);
int MPIX_Comm_ack_failed(MPI_Comm comm, int num_to_ack, int *num_acked);
int MPIX_Comm_failure_ack(MPI_Comm comm);
int MPIX_Comm_failure_get_acked(MPI_Comm comm, MPI_Group *failedgrp);
int MPIX_Comm_agree(MPI_Comm comm, int *flag);
int MPIX_Comm_iagree(MPI_Comm comm, int *flag, MPI_Request *request);
int MPIX_Comm_shrink(MPI_Comm comm, MPI_Comm *newcomm);
int MPIX_Comm_ishrink(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request);

int PMPIX_Comm_revoke(MPI_Comm comm);
int PMPIX_Comm_is_revoked(MPI_Comm comm, int *flag);
int PMPIX_Comm_get_failed(MPI_Comm comm, MPI_Group *failedgrp);
int PMPIX_Comm_ack_failed(MPI_Comm comm, int num_to_ack, int *num_acked);
int PMPIX_Comm_failure_ack(MPI_Comm comm);
int PMPIX_Comm_failure_get_acked(MPI_Comm comm, MPI_Group *failedgrp);
int PMPIX_Comm_agree(MPI_Comm comm, int *flag);
int PMPIX_Comm_iagree(MPI_Comm comm, int *flag, MPI_Request *request);
int PMPIX_Comm_shrink(MPI_Comm comm, MPI_Comm *newcomm);
int PMPIX_Comm_ishrink(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request);
#ifdef __cplusplus
}
#endif

#endif
