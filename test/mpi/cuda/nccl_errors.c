/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Wrong calls of weft_nccl.h return a result that says so, with a text that names the function, the
 * argument, its value and what is expected, and nothing is changed by them. Ranks that do not
 * agree on a communicator hear so, as do those of one that another rank aborts.
 */
#include "nccl_comm.h"

static nccl_comm_t all;
static memory_t in, out;

static void wrong_outputs(void)
{
    int number;
    ncclUniqueId id = {{0}};
    NCCL(ncclGetVersion(&number));
    EXPECT(number, NCCL_VERSION_CODE);
    EXPECT(NCCL_VERSION_CODE, NCCL_VERSION(NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH));
    EXPECT_TEXT(ncclGetErrorString(ncclSuccess), "no error");
    EXPECT(strlen(ncclGetErrorString((ncclResult_t)77)) > 0, 1);
    NCCL_FAILS(ncclGetVersion(NULL), ncclInvalidArgument, "ncclGetVersion: version is NULL");
    NCCL_FAILS(ncclGetUniqueId(NULL), ncclInvalidArgument, "ncclGetUniqueId: uniqueId is NULL");
    NCCL_FAILS(ncclCommCount(all.nccl, NULL), ncclInvalidArgument, "ncclCommCount: count is NULL");
    NCCL_FAILS(ncclCommCuDevice(all.nccl, NULL), ncclInvalidArgument, "device is NULL");
    NCCL_FAILS(ncclCommUserRank(all.nccl, NULL), ncclInvalidArgument, "rank is NULL");
    NCCL_FAILS(ncclCommGetAsyncError(all.nccl, NULL), ncclInvalidArgument, "asyncError is NULL");
    NCCL_FAILS(ncclCommInitRank(NULL, 1, id, 0), ncclInvalidArgument, "comm is NULL");
    NCCL_FAILS(ncclMemAlloc(NULL, 8), ncclInvalidArgument, "ptr is NULL");
}

static void wrong_making(void)
{
    ncclComm_t made = all.nccl;
    ncclUniqueId id, other = {{0}};
    int device = 0, two[2] = {0, 1};
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    NCCL(ncclGetUniqueId(&id));
    NCCL_FAILS(ncclCommInitRank(&made, 0, id, 0), ncclInvalidArgument,
               "ncclCommInitRank: nranks is 0, but must be 1 or more");
    NCCL_FAILS(ncclCommInitRank(&made, 2, id, 2), ncclInvalidArgument,
               "rank is 2, but must be from 0 to 1");
    NCCL_FAILS(ncclCommInitRank(&made, 1000, id, 2), ncclInvalidArgument, "nranks is 1000");
    NCCL_FAILS(ncclCommInitRank(&made, 1, other, 0), ncclInvalidArgument, "commId is not an id");
    config.blocking = 2;
    NCCL_FAILS(ncclCommInitRankConfig(&made, 1, id, 0, &config), ncclInvalidArgument,
               "ncclCommInitRankConfig: config->blocking is 2, but must be 0 or 1");
    config.blocking = 1;
    config.netName = "IB";
    NCCL_FAILS(ncclCommInitRankConfig(&made, 1, id, 0, &config), ncclInvalidArgument,
               "config->netName is \"IB\"");
    config.netName = NCCL_CONFIG_UNDEF_PTR;
    config.size = 7;
    NCCL_FAILS(ncclCommInitRankConfig(&made, 1, id, 0, &config), ncclInvalidArgument,
               "config has size 7");
    NCCL_FAILS(ncclCommInitAll(&made, 2, two), ncclInvalidUsage, "ndev is 2, but must be 1");
    NCCL_FAILS(ncclCommInitAll(&made, 0, two), ncclInvalidArgument, "ndev is 0");
    CU(cuCtxGetDevice(&device));
    device++;
    NCCL_FAILS(ncclCommInitAll(&made, 1, &device), ncclInvalidArgument, "devlist[0] is");
    EXPECT(made == all.nccl, 1);
    device--;
    NCCL(ncclCommInitAll(&made, 1, &device));
    NCCL(ncclCommDestroy(made));
    NCCL_FAILS(ncclCommDestroy(made), ncclInvalidArgument, "is no communicator, or was destroyed");
    NCCL_FAILS(ncclCommSplit(all.nccl, -5, 0, &made, NULL), ncclInvalidArgument, "color is -5");
    NCCL_FAILS(ncclCommSplit(all.nccl, 0, 0, NULL, NULL), ncclInvalidArgument, "newcomm is NULL");
}

/* A configuration that is allowed. */
static void right_making(void)
{
    ncclComm_t made;
    ncclUniqueId id;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    config.minCTAs = 1;
    config.maxCTAs = 32;
    config.cgaClusterSize = 0;
    config.splitShare = 1;
    NCCL(ncclGetUniqueId(&id));
    NCCL(ncclCommInitRankConfig(&made, 1, id, 0, &config));
    NCCL(ncclCommFinalize(made));
    NCCL_FAILS(ncclAllReduce(in.at, out.at, 1, ncclInt32, ncclSum, made, all.stream),
               ncclInvalidUsage, "it was finalized");
    NCCL(ncclCommDestroy(made));
}

static void wrong_operations(void)
{
    void *to = out.at, *from = in.at;
    ncclComm_t comm = all.nccl;
    CUstream stream = all.stream;
    int size = all.size;
    NCCL_FAILS(ncclAllReduce(from, to, 1, ncclInt32, ncclSum, NULL, stream), ncclInvalidArgument,
               "ncclAllReduce: comm is NULL");
    NCCL_FAILS(ncclAllReduce(NULL, to, 1, ncclInt32, ncclSum, comm, stream), ncclInvalidArgument,
               "sendbuff is NULL");
    NCCL_FAILS(ncclAllReduce(from, NULL, 3, ncclInt32, ncclSum, comm, stream), ncclInvalidArgument,
               "recvbuff is NULL, but must have room for 3 elements");
    NCCL_FAILS(ncclAllReduce(from, to, 1, (ncclDataType_t)99, ncclSum, comm, stream),
               ncclInvalidArgument, "datatype is 99, but must be from 0 to 11");
    NCCL_FAILS(ncclAllReduce(from, to, 1, ncclInt32, (ncclRedOp_t)5, comm, stream),
               ncclInvalidArgument, "op is 5, but must be from 0 to 4");
    NCCL_FAILS(ncclAllReduce(from, to, (size_t)-1 / 2, ncclInt32, ncclSum, comm, stream),
               ncclInvalidArgument, "count is ");
    NCCL_FAILS(ncclAllReduce(from, to, 1, ncclInt32, ncclSum, comm, (CUstream)2),
               ncclInvalidArgument, "cudaStreamPerThread");
    NCCL_FAILS(ncclReduce(from, to, 1, ncclInt32, ncclSum, size, comm, stream), ncclInvalidArgument,
               "ncclReduce: root is ");
    NCCL_FAILS(ncclBroadcast(from, to, 1, ncclInt32, -1, comm, stream), ncclInvalidArgument,
               "root is -1, but must be from 0 to ");
    NCCL_FAILS(ncclSend(from, 1, ncclInt32, size, comm, stream), ncclInvalidArgument, "peer is ");
    NCCL_FAILS(ncclSend(from, 1, ncclInt32, all.rank, comm, stream), ncclInvalidUsage,
               "this rank itself, but there are 1 more sends than receives");
    NCCL_FAILS(ncclAlltoAll(from, from, 1, ncclInt32, comm, stream), ncclInvalidArgument,
               "there is no all-to-all in place");
}

static void wrong_ops(void)
{
    ncclRedOp_t op = ncclSum;
    float scalar = 2;
    ncclComm_t comm = all.nccl;
    NCCL_FAILS(ncclRedOpCreatePreMulSum(&op, &scalar, ncclFloat, (ncclScalarResidence_t)3, comm),
               ncclInvalidArgument, "residence is 3");
    NCCL_FAILS(ncclRedOpCreatePreMulSum(&op, NULL, ncclFloat, ncclScalarHostImmediate, comm),
               ncclInvalidArgument, "scalar is NULL");
    NCCL_FAILS(ncclRedOpCreatePreMulSum(&op, &scalar, ncclFloat, ncclScalarDevice, comm),
               ncclInvalidArgument, "memory of the host");
    NCCL_FAILS(ncclRedOpCreatePreMulSum(NULL, &scalar, ncclFloat, ncclScalarHostImmediate, comm),
               ncclInvalidArgument, "op is NULL");
    NCCL(ncclRedOpCreatePreMulSum(&op, &scalar, ncclFloat, ncclScalarHostImmediate, comm));
    NCCL_FAILS(ncclAllReduce(in.at, out.at, 1, ncclInt32, op, comm, all.stream),
               ncclInvalidArgument, "op was made for elements of type 7, but datatype is 2");
    NCCL_FAILS(ncclAllReduce(&scalar, out.at, 1, ncclFloat, op, comm, all.stream),
               ncclInvalidArgument, "memory of the host");
    NCCL(ncclRedOpDestroy(op, comm));
    NCCL_FAILS(ncclRedOpDestroy(op, comm), ncclInvalidArgument, "ncclRedOpDestroy: op is 5");
    NCCL_FAILS(ncclAllReduce(in.at, out.at, 1, ncclFloat, op, comm, all.stream),
               ncclInvalidArgument, "op is 5");
    NCCL_FAILS(ncclRedOpDestroy(ncclSum, comm), ncclInvalidArgument, "op is 0");
}

static void wrong_groups(void)
{
    ncclUniqueId id;
    ncclComm_t made[2];
    NCCL_FAILS(ncclGroupEnd(), ncclInvalidUsage, "there is no group");
    NCCL(ncclGroupStart());
    NCCL(ncclAllReduce(in.at, out.at, 1, ncclInt32, ncclSum, all.nccl, all.stream));
    NCCL_FAILS(ncclSend(in.at, 1, ncclInt32, -1, all.nccl, all.stream), ncclInvalidArgument,
               "peer is -1");
    NCCL_FAILS(ncclGroupEnd(), ncclInvalidArgument, "peer is -1");
    NCCL(ncclGetUniqueId(&id));
    NCCL(ncclGroupStart());
    NCCL(ncclCommInitRank(&made[0], 2, id, 0));
    if (all.size > 1)
        NCCL_FAILS(ncclCommInitRank(&made[1], 2, id, 1), ncclInvalidUsage,
                   "the group has rank 0 with the same commId already");
    NCCL_FAILS(ncclGroupEnd(), all.size > 1 ? ncclInvalidUsage : ncclInvalidArgument, "rank");
    NCCL(ncclGroupStart());
    NCCL(ncclGroupEnd());
}

static void memory(void)
{
    void *at, *handle;
    int number = 7;
    NCCL(ncclMemAlloc(&at, 1000));
    memory_put(at, &number, sizeof(number));
    NCCL(ncclCommRegister(all.nccl, at, 1000, &handle));
    NCCL(ncclCommDeregister(all.nccl, handle));
    NCCL_FAILS(ncclCommDeregister(all.nccl, handle), ncclInvalidArgument, "handle is");
    NCCL_FAILS(ncclCommRegister(all.nccl, NULL, 1000, &handle), ncclInvalidArgument, "buff is");
    NCCL(ncclMemFree(at));
    NCCL(ncclMemFree(NULL));
}

/* Two ranks say different sizes, and then the same rank. */
static void disagree(void)
{
    ncclUniqueId ids[2];
    ncclComm_t made;
    if (all.rank == 0) {
        NCCL(ncclGetUniqueId(&ids[0]));
        NCCL(ncclGetUniqueId(&ids[1]));
    }
    MPI_Bcast(ids, sizeof(ids), MPI_BYTE, 0, all.mpi);
    if (all.rank < 2) {
        NCCL_FAILS(ncclCommInitRank(&made, 2 + all.rank, ids[0], all.rank), ncclInvalidArgument,
                   "nranks is ");
        NCCL_FAILS(ncclCommInitRank(&made, 2, ids[1], 1), ncclInvalidArgument,
                   "each must have a rank of its own");
    }
    MPI_Barrier(all.mpi);
}

/* A receive that nobody sends to ends when another rank aborts; the stream goes on. Nobody aborts
   while others still make the communicator, which would then fail. */
static void abort_other(void)
{
    nccl_comm_t one = nccl_comm_of(all.mpi, all.stream);
    ncclResult_t error = ncclSuccess;
    MPI_Barrier(all.mpi);
    if (all.rank == 0) {
        NCCL(ncclRecv(out.at, 1, ncclInt32, 1, one.nccl, one.stream));
        CU(cuStreamSynchronize(one.stream));
        NCCL(ncclCommGetAsyncError(one.nccl, &error));
        EXPECT(error, ncclRemoteError);
        EXPECT(strstr(ncclGetLastError(one.nccl), "revoked") != NULL, 1);
        NCCL(ncclCommAbort(one.nccl));
    } else if (all.rank == 1) {
        NCCL(ncclCommAbort(one.nccl));
    } else {
        while (error == ncclSuccess) {
            int flag;
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
            NCCL(ncclCommGetAsyncError(one.nccl, &error));
        }
        EXPECT(error, ncclRemoteError);
        NCCL(ncclCommDestroy(one.nccl));
    }
    MPI_Barrier(all.mpi);
}

/* A message that is too long is an error of the receiver's communicator. */
static void send_too_much(void)
{
    nccl_comm_t one = nccl_comm_of(all.mpi, all.stream);
    ncclResult_t error = ncclSuccess;
    if (all.rank == 0)
        NCCL(ncclRecv(out.at, 1, ncclInt32, 1, one.nccl, one.stream));
    if (all.rank == 1)
        NCCL(ncclSend(in.at, 2, ncclInt32, 0, one.nccl, one.stream));
    CU(cuStreamSynchronize(one.stream));
    NCCL(ncclCommGetAsyncError(one.nccl, &error));
    EXPECT(error, all.rank == 0 ? ncclInvalidUsage : ncclSuccess);
    NCCL(ncclCommDestroy(one.nccl));
}

int main(int argc, char **argv)
{
    int unused;
    MPI_Init(&argc, &argv);
    expect_begin();
    memory_begin(expect_rank);
    all = nccl_comm_of(MPI_COMM_WORLD, nccl_stream());
    in = memory_take(DEVICE, 1024);
    out = memory_take(DEVICE, 1024);
    wrong_outputs();
    wrong_making();
    right_making();
    wrong_operations();
    wrong_ops();
    wrong_groups();
    memory();
    if (all.size > 2)
        disagree();
    if (all.size > 1) {
        abort_other();
        send_too_much();
    }
    nccl_expect_no_error(&all);
    memory_give(&in);
    memory_give(&out);
    int failed = expect_end();
    NCCL_FAILS(ncclAllReduce(in.at, out.at, 1, ncclInt32, ncclSum, all.nccl, all.stream),
               ncclInvalidUsage, "MPI does not run");
    NCCL_FAILS(ncclCommCount(all.nccl, &unused), ncclInvalidUsage, "MPI does not run");
    NCCL(ncclCommDestroy(all.nccl));
    return failed || expect_failures != 0;
}
