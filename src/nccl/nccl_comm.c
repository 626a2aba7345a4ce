/* SPDX-License-Identifier: BSD-3-Clause */
#include "nccl/nccl_private.h"

#include "mpi/start.h"
#include "stream/conduit.h"
#include "object/errhandler.h"
#include "runtime/device.h"
#include "runtime/lock.h"
#include "base/fail.h"
#include "base/memory.h"
#include "mpi.h"

#include <stdio.h>
#include <string.h>

/* Memory that ncclCommRegister was told of: nothing is done with it. */
typedef struct registration {
    weft_link_t link;
} registration_t;

/* Handles are looked up here, so that one that was destroyed is never followed. It is not freed
 * when MPI ends: the program may still destroy its communicators. */
static weft_list_t comms = {&comms, &comms};
static int comm_slot = -1; /* of MPI's communicators: their struct ncclComm */
static weft_errhandler_t *handler;

/* ---- handles ---- */

int wefti_nccl_check_comm(ncclComm_t comm, const char *name)
{
    if (comm == NULL)
        return weft_fail(MPI_ERR_COMM, "%s is NULL, but must be a communicator", name);
    for (weft_link_t *link = comms.next; link != &comms; link = link->next) {
        if (WEFT_ELEMENT(link, struct ncclComm, link) == comm)
            return MPI_SUCCESS;
    }
    return weft_fail(MPI_ERR_COMM, "%s is %p, which is no communicator, or was destroyed", name,
                     (void *)comm);
}

int wefti_nccl_check_usable(ncclComm_t comm)
{
    int err = wefti_nccl_check_comm(comm, "comm");
    if (err != MPI_SUCCESS)
        return err;
    if (comm->mpi == NULL)
        return weft_fail(MPI_ERR_UNSUPPORTED_OPERATION,
                         "comm can only be destroyed: MPI was finalized after it was made");
    if (comm->is_finalized)
        return weft_fail(MPI_ERR_UNSUPPORTED_OPERATION,
                         "comm can only be destroyed: it was finalized");
    return MPI_SUCCESS;
}

/* ---- errors of operations that had begun ---- */

/* Called without the lock, mostly by the library's thread. */
static void nccl_on_error(MPI_Comm *handle, int *code, ...)
{
    weft_lock();
    const weft_comm_t *mpi = weft_comm_of(*handle);
    ncclComm_t comm = mpi == NULL ? NULL : mpi->slot[comm_slot];
    if (comm != NULL && comm->async == ncclSuccess) {
        comm->async = wefti_nccl_result_of(*code);
        snprintf(comm->why, sizeof(comm->why), "%s", weft_fail_text());
    }
    weft_unlock();
}

/* ---- the beginning and the end of MPI ---- */

/* Operations that are not over, and graphs, hold MPI's communicator, and may use the room, which
 * then stays until MPI ends. */
static void release_device(ncclComm_t comm)
{
    bool is_last = comm->mpi->object.references == 1;
    for (int i = 0; i < 2; i++)
        weft_device->streams->drop_mark(comm->home->users, comm->latest[i].mark);
    if (comm->room != NULL && is_last)
        weft_device->give_scratch(weft_device->streams->device(comm->home->users), comm->room);
}

static void forget_mpi(ncclComm_t comm)
{
    weft_comm_t *mpi = comm->mpi;
    if (mpi == NULL)
        return;
    release_device(comm);
    mpi->slot[comm_slot] = NULL;
    comm->mpi = NULL;
    weft_comm_release(mpi);
}

static void nccl_end(void)
{
    for (weft_link_t *link = comms.next; link != &comms; link = link->next)
        forget_mpi(WEFT_ELEMENT(link, struct ncclComm, link));
    wefti_nccl_serve_no_more();
    wefti_nccl_streams_release();
    if (handler != NULL)
        weft_errhandler_release(handler);
    handler = NULL;
}

/* Before MPI's communicator goes, its slot is empty. */
static void nccl_forget_comm(weft_comm_t *mpi, void *state)
{
    (void)mpi;
    (void)state;
}

int wefti_nccl_open(void)
{
    if (handler != NULL)
        return MPI_SUCCESS;
    comm_slot = weft_comm_slot_register("nccl", nccl_forget_comm);
    if (comm_slot < 0)
        return MPI_ERR_INTERN;
    weft_on_stop = nccl_end;
    return weft_errhandler_create(nccl_on_error, &handler);
}

/* ---- communicators ---- */

int wefti_nccl_comm_create(weft_comm_t *mpi, weft_stream_t *home, ncclComm_t *out)
{
    ncclComm_t comm = weft_alloc_zeroed(1, sizeof(*comm));
    int err = comm == NULL ? weft_fail(MPI_ERR_NO_MEM, "no memory for a communicator")
                           : weft_conduit_agree(mpi, home);
    if (err != MPI_SUCCESS) {
        weft_free(comm);
        weft_comm_release(mpi);
        return err;
    }
    comm->mpi = mpi;
    comm->home = home;
    weft_list_init(&comm->registrations);
    weft_list_append(&comms, &comm->link);
    mpi->slot[comm_slot] = comm;
    weft_comm_set_errhandler(mpi, handler);
    *out = comm;
    return MPI_SUCCESS;
}

/* Operations in streams hold MPI's communicator until they are over. */
void wefti_nccl_comm_release(ncclComm_t comm)
{
    forget_mpi(comm);
    for (weft_link_t *link; (link = weft_list_pop(&comm->registrations)) != NULL;)
        weft_free(WEFT_ELEMENT(link, registration_t, link));
    weft_list_remove(&comm->link);
    weft_free(comm->ops);
    weft_free(comm);
    if (weft_list_is_empty(&comms))
        wefti_nccl_streams_release();
}

/* The operations of a communicator run one after the other, so that one piece of memory serves all
 * of them. A piece that is too small is left to the operations that may still use it. */
int wefti_nccl_room(ncclComm_t comm, size_t bytes, void **out)
{
    if (comm->room_bytes < bytes) {
        void *room =
            weft_device->take_scratch(weft_device->streams->device(comm->home->users), bytes);
        if (room == NULL)
            return weft_fail(MPI_ERR_NO_MEM,
                             "no %zu bytes of memory on the device for operands "
                             "(WEFT_DEVICE_SCRATCH_MAX)",
                             bytes);
        comm->room = room;
        comm->room_bytes = bytes;
    }
    *out = comm->room;
    return MPI_SUCCESS;
}

/* ---- registered memory ---- */

ncclResult_t weft_nccl_comm_register(ncclComm_t comm, void *buff, size_t size, void **handle)
{
    int begun = wefti_nccl_begin(), err = begun;
    registration_t *made = NULL;
    if (err == MPI_SUCCESS)
        err = wefti_nccl_check_usable(comm);
    if (err == MPI_SUCCESS && (buff == NULL || size == 0))
        err = weft_fail(MPI_ERR_BUFFER, "buff is %p and size is %zu, but expected is memory", buff,
                        size);
    if (err == MPI_SUCCESS)
        err = wefti_nccl_check_output(handle, "handle");
    if (err == MPI_SUCCESS && (made = weft_alloc(sizeof(*made))) == NULL)
        err = weft_fail(MPI_ERR_NO_MEM, "no memory for a handle");
    if (err == MPI_SUCCESS) {
        weft_list_append(&comm->registrations, &made->link);
        *handle = made;
    }
    return wefti_nccl_end("ncclCommRegister", begun, err);
}

static registration_t *find_registration(ncclComm_t comm, const void *handle)
{
    weft_list_t *list = &comm->registrations;
    for (weft_link_t *link = list->next; link != list; link = link->next) {
        if (WEFT_ELEMENT(link, registration_t, link) == handle)
            return WEFT_ELEMENT(link, registration_t, link);
    }
    return NULL;
}

ncclResult_t weft_nccl_comm_deregister(ncclComm_t comm, void *handle)
{
    int begun = wefti_nccl_begin(), err = begun;
    registration_t *made = NULL;
    if (err == MPI_SUCCESS)
        err = wefti_nccl_check_comm(comm, "comm");
    if (err == MPI_SUCCESS && (made = find_registration(comm, handle)) == NULL)
        err = weft_fail(MPI_ERR_ARG,
                        "handle is %p, but must be one that ncclCommRegister has given for this "
                        "communicator",
                        handle);
    if (err == MPI_SUCCESS) {
        weft_list_remove(&made->link);
        weft_free(made);
    }
    return wefti_nccl_end("ncclCommDeregister", begun, err);
}
