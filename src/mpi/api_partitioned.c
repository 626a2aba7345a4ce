/* SPDX-License-Identifier: BSD-3-Clause */
/* Partitioned communication (MPI 5.0 chapter 4). */
#include "mpi/api.h"

#include "mpi/check.h"
#include "mpi/leaks.h"
#include "pt2pt/partitioned.h"
#include "runtime/progress.h"
#include "base/fail.h"

#include <limits.h>

/* What both inits share, as the user gave it. */
typedef struct user_partitions {
    const void *buf;
    int partitions;
    MPI_Count count; /* of each */
    MPI_Datatype datatype;
    int peer, tag;
    MPI_Comm comm;
    MPI_Info info;
    const MPI_Request *request;
} user_partitions_t;

static int check_partition_count(int partitions)
{
    return partitions >= 0
               ? MPI_SUCCESS
               : weft_fail(MPI_ERR_ARG, "partitions is %d, but must be at least 0", partitions);
}

static int check_partitioned_buffer(const user_partitions_t *user, const weft_type_t *type)
{
    MPI_Count total;
    if (__builtin_mul_overflow(user->count, (MPI_Count)user->partitions, &total))
        return weft_fail(MPI_ERR_COUNT,
                         "%d partitions of %lld elements are more than memory can hold",
                         user->partitions, (long long)user->count);
    return weft_check_buffer(user->buf, total, type, "buf");
}

static int check_partitions(weft_call_t *call, const user_partitions_t *user, const char *peer_name,
                            weft_comm_t **comm_out, weft_type_t **type_out)
{
    weft_info_t *info;
    int err = weft_check_live_comm(call, user->comm, comm_out);
    if (err == MPI_SUCCESS)
        err = check_partition_count(user->partitions);
    if (err == MPI_SUCCESS)
        err = weft_check_count(user->count, "count");
    if (err == MPI_SUCCESS)
        err = weft_check_committed_type(user->datatype, "datatype", type_out);
    if (err == MPI_SUCCESS)
        err = weft_check_rank(*comm_out, user->peer, false, peer_name);
    if (err == MPI_SUCCESS)
        err = weft_check_tag(user->tag, false, "tag");
    if (err == MPI_SUCCESS)
        err = check_partitioned_buffer(user, *type_out);
    if (err == MPI_SUCCESS)
        err = weft_check_info(user->info, &info);
    return err == MPI_SUCCESS ? weft_check_output(user->request, "request") : err;
}

/** Makes a persistent request for a message that is sent in partitions, each as soon as the program
 *  says that it is ready (section 4.2.1). MPI_Start begins a round, MPI_Pready gives partitions
 *  free, and the request is complete when all are sent. The message goes to an MPI_Precv_init of
 *  dest with the same communicator and tag, the first to the first and so on; ordinary receives do
 *  not get it.
 *  @param[in] buf  partitions one behind the other, each of count elements; a partition may be
 *      written until it is given free, and must then stay until the request is complete
 *  @param[in] partitions  0 or more; the receiver may divide the message differently
 *  @param[in] count  elements of each partition
 *  @param[in] dest  a rank of comm, or MPI_PROC_NULL
 *  @param[in] info  MPI_INFO_NULL, or any info: Weft knows no key
 *  @error MPI_ERR_ARG  partitions is negative
 *  @error MPI_ERR_OTHER  the process dest cannot be reached
 *  @see MPI_Precv_init, MPI_Start, MPI_Pready, MPI_Request_free */
WEFT_API(MPI_Psend_init_c);
int PMPI_Psend_init_c(const void *buf, int partitions, MPI_Count count, MPI_Datatype datatype,
                      int dest, int tag, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    weft_call_t call = weft_call_begin("MPI_Psend_init");
    user_partitions_t user = {buf, partitions, count, datatype, dest, tag, comm, info, request};
    weft_send_args_t args = {.buf = buf, .count = (size_t)count, .dest = dest, .tag = tag};
    weft_request_t *made;
    int err = check_partitions(&call, &user, "dest", &args.comm, &args.type);
    if (err == MPI_SUCCESS) {
        args.context = args.comm->context;
        err = weft_psend_init(&args, partitions, &made);
    }
    if (err == MPI_SUCCESS)
        *request = weft_give_request(call.name, made);
    return weft_call_end(&call, err);
}

/** Makes a persistent request for the receive of a message that is sent in partitions
 *  (section 4.2.1). MPI_Start begins a round, MPI_Parrived tells whether a partition is there, and
 *  the request is complete when all are. It gets the message of an MPI_Psend_init of the sender
 *  with the same communicator and tag, the first of the first and so on.
 *  @param[out] buf  partitions one behind the other, each of count elements; not to be touched
 *      while the request is active, except partitions that have arrived
 *  @param[in] partitions  0 or more; the sender may divide the message differently
 *  @param[in] count  elements of each partition
 *  @param[in] dest  the sender, a rank of comm, or MPI_PROC_NULL; not MPI_ANY_SOURCE (dest is its
 *      name in the header of the standard ABI, source in error messages)
 *  @param[in] tag  not MPI_ANY_TAG
 *  @param[in] info  MPI_INFO_NULL, or any info: Weft knows no key
 *  @error MPI_ERR_ARG  partitions is negative
 *  @note If the message is longer than all partitions here, the call that completes the request
 *      returns MPI_ERR_TRUNCATE.
 *  @see MPI_Psend_init, MPI_Start, MPI_Parrived */
WEFT_API(MPI_Precv_init_c);
int PMPI_Precv_init_c(void *buf, int partitions, MPI_Count count, MPI_Datatype datatype, int source,
                      int tag, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    weft_call_t call = weft_call_begin("MPI_Precv_init");
    user_partitions_t user = {buf, partitions, count, datatype, source, tag, comm, info, request};
    weft_recv_args_t args = {.buf = buf, .count = (size_t)count, .source = source, .tag = tag};
    weft_request_t *made;
    int err = check_partitions(&call, &user, "source", &args.comm, &args.type);
    if (err == MPI_SUCCESS) {
        args.context = args.comm->context;
        err = weft_precv_init(&args, partitions, &made);
    }
    if (err == MPI_SUCCESS)
        *request = weft_give_request(call.name, made);
    return weft_call_end(&call, err);
}

/* ---- sending ---- */

static int open_ready(weft_call_t *call, MPI_Request handle, weft_request_t **out)
{
    int err = weft_check_request(handle, out);
    if (err == MPI_SUCCESS) /* the request may be gone when its last partition is */
        weft_call_blame(call, (*out)->comm);
    return err;
}

static int end_ready(weft_call_t *call, int err)
{
    if (err == MPI_SUCCESS && call->holds_comm)
        weft_comm_release(call->comm);
    return weft_call_end(call, err);
}

/** Says that a partition of a started partitioned send is ready to be sent (section 4.2). It must
 *  not be changed any more until the request is complete. With MPI_THREAD_MULTIPLE several threads
 *  may call this for one request.
 *  @param[in] partition  counted from 0; each once between MPI_Start and the end of the round
 *  @param[in,out] request  an active request of MPI_Psend_init
 *  @error MPI_ERR_ARG  there is no such partition, or it is ready already
 *  @error MPI_ERR_REQUEST  the request is not of MPI_Psend_init, or has not been started
 *  @see MPI_Pready_range, MPI_Pready_list, MPI_Psend_init */
WEFT_API(MPI_Pready);
int PMPI_Pready(int partition, MPI_Request request)
{
    weft_call_t call = weft_call_begin("MPI_Pready");
    weft_ready_args_t args = {.first = partition, .count = 1};
    weft_request_t *send;
    int err = open_ready(&call, request, &send);
    if (err == MPI_SUCCESS)
        err = weft_pready(send, &args);
    return end_ready(&call, err);
}

/* Both ends belong to the range. */
static int check_range(int low, int high)
{
    return low <= high ? MPI_SUCCESS
                       : weft_fail(MPI_ERR_ARG,
                                   "partition_low is %d, but must be at most partition_high, "
                                   "which is %d",
                                   low, high);
}

/* The width of a range may be no int if it begins below 0 or ends at INT_MAX: no partition
 * is there. */
static int range_width(int low, int high)
{
    return low < 0 ? 1 : high - low < INT_MAX ? high - low + 1 : INT_MAX;
}

/** Says that several partitions that follow each other are ready to be sent (section 4.2).
 *  @param[in,out] request  an active request of MPI_Psend_init
 *  @param[in] partition_low  the first, counted from 0
 *  @param[in] partition_high  the last, which belongs to them
 *  @error MPI_ERR_ARG  partition_low is greater than partition_high, or one of the partitions does
 *      not exist or is ready already
 *  @error MPI_ERR_REQUEST  the request is not of MPI_Psend_init, or has not been started
 *  @note If one does not exist, none of them is sent; if one is ready already, those before it are.
 *  @see MPI_Pready, MPI_Pready_list */
WEFT_API(MPI_Pready_range);
int PMPI_Pready_range(int partition_low, int partition_high, MPI_Request request)
{
    weft_call_t call = weft_call_begin("MPI_Pready_range");
    weft_ready_args_t args = {.first = partition_low, .last = partition_high, .is_range = true};
    weft_request_t *send;
    int err = open_ready(&call, request, &send);
    if (err == MPI_SUCCESS)
        err = check_range(partition_low, partition_high);
    if (err == MPI_SUCCESS) {
        args.count = range_width(partition_low, partition_high);
        err = weft_pready(send, &args);
    }
    return end_ready(&call, err);
}

/** Says that the partitions of a list are ready to be sent (section 4.2).
 *  @param[in,out] request  an active request of MPI_Psend_init
 *  @param[in] length  the length of the list; 0 is allowed
 *  @param[in] array_of_partitions  [length], counted from 0, in any order
 *  @error MPI_ERR_ARG  one of the partitions does not exist or is ready already
 *  @error MPI_ERR_REQUEST  the request is not of MPI_Psend_init, or has not been started
 *  @note If one does not exist, none of them is sent; if one is ready already, those before it in
 *      the list are.
 *  @see MPI_Pready, MPI_Pready_range */
WEFT_API(MPI_Pready_list);
int PMPI_Pready_list(int length, const int array_of_partitions[], MPI_Request request)
{
    weft_call_t call = weft_call_begin("MPI_Pready_list");
    weft_ready_args_t args = {.count = length, .list = array_of_partitions};
    weft_request_t *send;
    int err = open_ready(&call, request, &send);
    if (err == MPI_SUCCESS)
        err = weft_check_count(length, "length");
    if (err == MPI_SUCCESS && length > 0)
        err = weft_check_input(array_of_partitions, "array_of_partitions");
    if (err == MPI_SUCCESS)
        err = weft_pready(send, &args);
    return end_ready(&call, err);
}

/* ---- receiving ---- */

/* True for MPI_REQUEST_NULL and for inactive requests (section 4.2.2). */
static int look_at_partition(const weft_request_t *request, int partition, bool *out)
{
    *out = true;
    if (request == NULL)
        return MPI_SUCCESS;
    int err = weft_parrived(request, partition, out);
    if (err != MPI_SUCCESS || *out)
        return err;
    weft_progress_test();
    return weft_parrived(request, partition, out);
}

/** Looks whether a partition of a partitioned receive has arrived, and does not wait
 *  (section 4.2.2). It may then be read, while the request is still active; the request has to be
 *  completed all the same.
 *  @param[in] request  of MPI_Precv_init, or MPI_REQUEST_NULL
 *  @param[in] partition  of the receiver, counted from 0
 *  @param[out] flag  true: it has arrived, or the request is inactive or MPI_REQUEST_NULL
 *  @error MPI_ERR_ARG  there is no such partition
 *  @error MPI_ERR_REQUEST  the request is of another function than MPI_Precv_init
 *  @see MPI_Precv_init, MPI_Test */
WEFT_API(MPI_Parrived);
int PMPI_Parrived(MPI_Request request, int partition, int *flag)
{
    weft_call_t call = weft_call_begin("MPI_Parrived");
    weft_request_t *receive = NULL;
    bool has_arrived;
    int err = request == MPI_REQUEST_NULL ? MPI_SUCCESS : weft_check_request(request, &receive);
    if (receive != NULL)
        call.comm = receive->comm;
    if (err == MPI_SUCCESS)
        err = weft_check_output(flag, "flag");
    if (err == MPI_SUCCESS)
        err = look_at_partition(receive, partition, &has_arrived);
    if (err == MPI_SUCCESS)
        *flag = has_arrived;
    return weft_call_end(&call, err);
}
