/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators of weft_nccl.h: how they are made, what they tell, how they end. */
#include "nccl/nccl_private.h"

#include "mpi/library_users.h"
#include "comm/comm_make.h"
#include "ft/revoke.h"
#include "object/group.h"
#include "runtime/device.h"
#include "runtime/lock.h"
#include "runtime/process.h"
#include "runtime/world.h"
#include "base/fail.h"
#include "base/memory.h"
#include "mpi.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- arguments ---- */

static int refuse_member(const char *name, int value, const char *expected)
{
    return weft_fail(MPI_ERR_ARG, "config->%s is %d, but must be %s", name, value, expected);
}

static bool is_flag(int value)
{
    return value == NCCL_CONFIG_UNDEF_INT || value == 0 || value == 1;
}

static bool is_from(int value, int least)
{
    return value == NCCL_CONFIG_UNDEF_INT || value >= least;
}

/* Members that would tune NCCL's kernels have no effect, but must make sense. */
static int check_config(const ncclConfig_t *config)
{
    if (config == NULL)
        return MPI_SUCCESS;
    if (config->size != sizeof(*config) || config->magic != NCCL_CONFIG_MAGIC)
        return weft_fail(MPI_ERR_ARG,
                         "config has size %zu and magic 0x%x, but must begin as "
                         "NCCL_CONFIG_INITIALIZER of weft_nccl.h, with %zu and 0x%x",
                         config->size, config->magic, sizeof(*config), NCCL_CONFIG_MAGIC);
    if (!is_flag(config->blocking))
        return refuse_member("blocking", config->blocking, "0 or 1");
    if (!is_flag(config->splitShare))
        return refuse_member("splitShare", config->splitShare, "0 or 1");
    if (!is_from(config->cgaClusterSize, 0))
        return refuse_member("cgaClusterSize", config->cgaClusterSize, "0 or more");
    if (!is_from(config->minCTAs, 1))
        return refuse_member("minCTAs", config->minCTAs, "1 or more");
    if (!is_from(config->maxCTAs, 1))
        return refuse_member("maxCTAs", config->maxCTAs, "1 or more");
    if (config->netName != NCCL_CONFIG_UNDEF_PTR)
        return weft_fail(MPI_ERR_ARG,
                         "config->netName is \"%.64s\", but must be NULL: Weft "
                         "chooses networks by variables (WEFT_FABRIC_INTERFACE)",
                         config->netName);
    return MPI_SUCCESS;
}

static int check_ranks(int nranks, int rank)
{
    if (nranks < 1)
        return weft_fail(MPI_ERR_ARG, "nranks is %d, but must be 1 or more", nranks);
    if (rank < 0 || rank >= nranks)
        return weft_fail(MPI_ERR_ARG, "rank is %d, but must be from 0 to %d", rank, nranks - 1);
    return MPI_SUCCESS;
}

/* ---- making ---- */

/* `ranks` are the group's from here on. */
static int make_of_ranks(int *ranks, int size, const char *name, weft_comm_t **out)
{
    weft_group_t *group;
    for (int i = 0; i < size; i++)
        ranks[i] = weft_process_find(WEFT_OWN_JOB, ranks[i]);
    int err = weft_group_create(ranks, size, &group);
    if (err != MPI_SUCCESS)
        return err;
    err = weft_comm_create_named(group, name, out);
    weft_group_release(group);
    return err;
}

static int meet_nobody(int **ranks_out)
{
    int *ranks = weft_alloc(sizeof(*ranks));
    if (ranks == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a communicator");
    *ranks = weft_world.rank;
    *ranks_out = ranks;
    return MPI_SUCCESS;
}

static int meet_and_make(const nccl_init_t *init, weft_comm_t **out)
{
    char name[64];
    int *ranks;
    if (init->nranks > weft_world.size)
        return weft_fail(MPI_ERR_ARG,
                         "nranks is %d, but must be at most %d, the ranks of the job: each rank of "
                         "a communicator is a process of its own",
                         init->nranks, weft_world.size);
    int err = init->id.server == NCCL_NO_SERVER
                  ? meet_nobody(&ranks)
                  : wefti_nccl_meet(&init->id, init->nranks, init->rank, &ranks);
    if (err != MPI_SUCCESS)
        return err;
    snprintf(name, sizeof(name), "nccl %016" PRIx64 "%016" PRIx64, init->id.number[0],
             init->id.number[1]);
    return make_of_ranks(ranks, init->nranks, name, out);
}

/* The stream comes first, since a rank that has no device must not keep the others waiting. */
static int make_locked(const nccl_init_t *init, ncclComm_t *out)
{
    weft_stream_t *home;
    weft_comm_t *mpi;
    int err = wefti_nccl_open();
    if (err == MPI_SUCCESS)
        err = wefti_nccl_home_stream(&home);
    if (err == MPI_SUCCESS)
        err = meet_and_make(init, &mpi);
    return err == MPI_SUCCESS ? wefti_nccl_comm_create(mpi, home, out) : err;
}

/* Without MPI_Init each communicator holds a session, which starts MPI and ends it. */
int wefti_nccl_init(const nccl_init_t *init)
{
    bool needs_session = weft_world.world_model != WEFT_RUNNING;
    ncclComm_t comm = NULL;
    int err = needs_session ? weft_library_enter_session() : MPI_SUCCESS;
    if (err != MPI_SUCCESS)
        return err;
    weft_lock();
    err = make_locked(init, &comm);
    if (err == MPI_SUCCESS) {
        comm->holds_session = needs_session;
        *init->out = comm;
    }
    weft_unlock();
    if (err != MPI_SUCCESS && needs_session) {
        char why[NCCL_WHY_BYTES];
        snprintf(why, sizeof(why), "%s", weft_fail_text());
        weft_library_leave_session();
        weft_fail(err, "%s", why);
    }
    return err;
}

ncclResult_t weft_nccl_get_unique_id(ncclUniqueId *id)
{
    int err = wefti_nccl_check_output(id, "uniqueId");
    if (err == MPI_SUCCESS)
        err = wefti_nccl_id_make(id);
    if (err == MPI_SUCCESS && weft_world.stage == WEFT_RUNNING) {
        weft_lock();
        err = wefti_nccl_serve();
        weft_unlock();
    }
    return wefti_nccl_result("ncclGetUniqueId", err);
}

ncclResult_t weft_nccl_comm_init_rank(ncclComm_t *comm, int nranks, const ncclUniqueId *id,
                                      int rank, const ncclConfig_t *config)
{
    const char *name = config == NULL ? "ncclCommInitRank" : "ncclCommInitRankConfig";
    nccl_init_t init = {.name = name, .out = comm, .nranks = nranks, .rank = rank};
    int err = wefti_nccl_check_output(comm, "comm");
    if (err == MPI_SUCCESS)
        err = check_ranks(nranks, rank);
    if (err == MPI_SUCCESS)
        err = wefti_nccl_id_read(id, &init.id);
    if (err == MPI_SUCCESS)
        err = check_config(config);
    if (err == MPI_SUCCESS)
        err = wefti_nccl_in_group() ? wefti_nccl_enter_init(&init) : wefti_nccl_init(&init);
    return wefti_nccl_result(name, err);
}

static int device_number(const struct ncclComm *comm)
{
    return weft_device->number(weft_device->streams->device(comm->home->users));
}

/* The caller's current device is taken. */
static int check_devices(const ncclComm_t *comm, int ndev)
{
    int err = wefti_nccl_check_output(comm, "comm");
    if (err == MPI_SUCCESS && ndev < 1)
        err = weft_fail(MPI_ERR_ARG, "ndev is %d, but must be 1", ndev);
    if (err == MPI_SUCCESS && ndev > 1)
        err = weft_fail(MPI_ERR_UNSUPPORTED_OPERATION,
                        "ndev is %d, but must be 1: with Weft each rank is a process of its own; "
                        "start one for each device and use ncclCommInitRank",
                        ndev);
    return err;
}

static int check_current(ncclComm_t comm, const int *devlist)
{
    if (devlist == NULL || devlist[0] == device_number(comm))
        return MPI_SUCCESS;
    return weft_fail(MPI_ERR_ARG,
                     "devlist[0] is %d, but must be %d, the device that is current in this thread",
                     devlist[0], device_number(comm));
}

ncclResult_t weft_nccl_comm_init_all(ncclComm_t *comm, int ndev, const int *devlist)
{
    ncclUniqueId id;
    ncclComm_t made = NULL;
    nccl_init_t init = {.name = "ncclCommInitAll", .out = &made, .nranks = 1};
    int err = check_devices(comm, ndev);
    if (err == MPI_SUCCESS)
        err = wefti_nccl_id_make(&id);
    if (err == MPI_SUCCESS)
        err = wefti_nccl_id_read(&id, &init.id);
    init.id.server = NCCL_NO_SERVER;
    if (err == MPI_SUCCESS)
        err = wefti_nccl_init(&init);
    if (err == MPI_SUCCESS && (err = check_current(made, devlist)) != MPI_SUCCESS) {
        char why[NCCL_WHY_BYTES];
        snprintf(why, sizeof(why), "%s", weft_fail_text());
        weft_nccl_comm_destroy(made);
        weft_fail(err, "%s", why);
    }
    if (err == MPI_SUCCESS)
        *comm = made;
    return wefti_nccl_result("ncclCommInitAll", err);
}

/* ---- splitting ---- */

static int split_locked(ncclComm_t comm, int color, int key, ncclComm_t *out)
{
    weft_comm_t *mpi = NULL;
    int err =
        weft_comm_split(comm->mpi, color == NCCL_SPLIT_NOCOLOR ? MPI_UNDEFINED : color, key, &mpi);
    *out = NULL;
    if (err != MPI_SUCCESS || mpi == NULL)
        return err;
    return wefti_nccl_comm_create(mpi, comm->home, out);
}

ncclResult_t weft_nccl_comm_split(ncclComm_t comm, int color, int key, ncclComm_t *newcomm,
                                  const ncclConfig_t *config)
{
    ncclComm_t made = NULL;
    bool holds_session = false;
    int begun = wefti_nccl_begin(), err = begun;
    if (err == MPI_SUCCESS)
        err = wefti_nccl_check_usable(comm);
    if (err == MPI_SUCCESS)
        err = wefti_nccl_check_output(newcomm, "newcomm");
    if (err == MPI_SUCCESS && color < 0 && color != NCCL_SPLIT_NOCOLOR)
        err = weft_fail(MPI_ERR_ARG, "color is %d, but must be 0 or more, or NCCL_SPLIT_NOCOLOR",
                        color);
    if (err == MPI_SUCCESS)
        err = check_config(config);
    if (err == MPI_SUCCESS)
        err = split_locked(comm, color, key, &made);
    if (err == MPI_SUCCESS) {
        *newcomm = made;
        holds_session = made != NULL && comm->holds_session;
    }
    ncclResult_t result = wefti_nccl_end("ncclCommSplit", begun, err);
    if (holds_session && weft_library_enter_session() == MPI_SUCCESS)
        made->holds_session = true;
    return result;
}

/* ---- the end ---- */

ncclResult_t weft_nccl_comm_finalize(ncclComm_t comm)
{
    int begun = wefti_nccl_begin(), err = begun;
    if (err == MPI_SUCCESS)
        err = wefti_nccl_check_usable(comm);
    if (err == MPI_SUCCESS)
        comm->is_finalized = true;
    return wefti_nccl_end("ncclCommFinalize", begun, err);
}

/* Is also allowed after MPI has ended: then no other thread is in the library. */
static ncclResult_t end_comm(const char *name, ncclComm_t comm, bool is_abort)
{
    bool runs = weft_world.stage == WEFT_RUNNING, holds_session = false;
    if (runs)
        weft_lock();
    int err = wefti_nccl_check_comm(comm, "comm");
    if (err == MPI_SUCCESS && is_abort && comm->mpi != NULL)
        err = weft_comm_revoke(comm->mpi);
    if (err == MPI_SUCCESS) {
        holds_session = comm->mpi != NULL && comm->holds_session;
        wefti_nccl_comm_release(comm);
    }
    if (runs)
        weft_unlock();
    if (holds_session)
        err = weft_library_leave_session();
    return wefti_nccl_result(name, err);
}

ncclResult_t weft_nccl_comm_destroy(ncclComm_t comm)
{
    return end_comm("ncclCommDestroy", comm, false);
}

ncclResult_t weft_nccl_comm_abort(ncclComm_t comm)
{
    return end_comm("ncclCommAbort", comm, true);
}

/* ---- what it tells ---- */

ncclResult_t weft_nccl_comm_async_error(ncclComm_t comm, ncclResult_t *error)
{
    int begun = wefti_nccl_begin(), err = begun;
    if (err == MPI_SUCCESS)
        err = wefti_nccl_check_comm(comm, "comm");
    if (err == MPI_SUCCESS)
        err = wefti_nccl_check_output(error, "asyncError");
    if (err == MPI_SUCCESS) {
        bool is_revoked = comm->mpi != NULL && comm->mpi->is_revoked;
        *error = comm->async == ncclSuccess && is_revoked ? ncclRemoteError : comm->async;
    }
    return wefti_nccl_end("ncclCommGetAsyncError", begun, err);
}

static int count_of_comm(const struct ncclComm *comm)
{
    return comm->mpi->size;
}

static int rank_in_comm(const struct ncclComm *comm)
{
    return comm->mpi->rank;
}

static ncclResult_t tell_number(const char *name, ncclComm_t comm, const char *output, int *out,
                                int (*number)(const struct ncclComm *comm))
{
    int begun = wefti_nccl_begin(), err = begun;
    if (err == MPI_SUCCESS)
        err = wefti_nccl_check_comm(comm, "comm");
    if (err == MPI_SUCCESS && comm->mpi == NULL)
        err = wefti_nccl_check_usable(comm);
    if (err == MPI_SUCCESS)
        err = wefti_nccl_check_output(out, output);
    if (err == MPI_SUCCESS)
        *out = number(comm);
    return wefti_nccl_end(name, begun, err);
}

ncclResult_t weft_nccl_comm_count(ncclComm_t comm, int *count)
{
    return tell_number("ncclCommCount", comm, "count", count, count_of_comm);
}

ncclResult_t weft_nccl_comm_device(ncclComm_t comm, int *device)
{
    return tell_number("ncclCommCuDevice", comm, "device", device, device_number);
}

ncclResult_t weft_nccl_comm_rank(ncclComm_t comm, int *rank)
{
    return tell_number("ncclCommUserRank", comm, "rank", rank, rank_in_comm);
}
