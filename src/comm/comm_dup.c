/* SPDX-License-Identifier: BSD-3-Clause */
#include "comm/comm_make.h"

#include "coll/coll.h"
#include "pt2pt/pt2pt.h"
#include "object/attribute.h"
#include "base/fail.h"
#include "base/pool.h"

uint32_t weft_context_offer(void)
{
    uint32_t context;
    return weft_comm_new_context(&context) == MPI_SUCCESS ? context : WEFT_NO_CONTEXT;
}

int weft_context_check(uint32_t context)
{
    if (context != WEFT_NO_CONTEXT)
        return MPI_SUCCESS;
    return weft_fail(MPI_ERR_OTHER,
                     "the process that leads the new communicator has led so many that "
                     "it has no contexts left");
}

static weft_coll_args_t broadcast_of(weft_comm_t *comm, uint32_t *context)
{
    return (weft_coll_args_t){.comm = comm,
                              .root = 0,
                              .send_buf = context,
                              .send_count = sizeof(*context),
                              .send_type = weft_type_of(MPI_BYTE)};
}

static int copy_comm_attributes(weft_comm_t *from, weft_comm_t *to)
{
    return weft_attributes_copy(weft_comm_attributes(from), weft_comm_attributes(to));
}

int weft_comm_dup(weft_comm_t *comm, weft_comm_t **out)
{
    uint32_t context = comm->rank == 0 ? weft_context_offer() : WEFT_NO_CONTEXT;
    weft_coll_args_t args = broadcast_of(comm, &context);
    weft_comm_t *copy;
    int err = weft_coll_run(WEFT_BCAST, &args);
    if (err == MPI_SUCCESS)
        err = weft_context_check(context);
    if (err == MPI_SUCCESS)
        err = weft_comm_create(comm->group, context, comm, &copy);
    if (err != MPI_SUCCESS)
        return err;
    err = copy_comm_attributes(comm, copy);
    if (err != MPI_SUCCESS) {
        weft_comm_release(copy);
        return err;
    }
    *out = copy;
    return MPI_SUCCESS;
}

/* ---- nonblocking ---- */

typedef struct idup {
    weft_request_t request; /* first */
    weft_comm_t *copy; /* gets its context when the broadcast is over; holds a reference */
    uint32_t context;  /* the buffer of the broadcast */
} idup_t;

static weft_pool_t idups = WEFT_POOL(idup_t);

static void idup_release(weft_request_t *request)
{
    idup_t *idup = (idup_t *)request;
    weft_comm_release(idup->copy);
    weft_comm_release(request->comm);
    weft_pool_give(&idups, idup);
}

/* The other members wait for it: a collective cannot be cancelled (section 6.12). */
static void idup_cancel(weft_request_t *request)
{
    (void)request;
}

static const weft_request_ops_t idup_ops = {.name = "nonblocking duplication of a communicator",
                                            .release = idup_release,
                                            .cancel = idup_cancel};

static void idup_broadcast_is_over(weft_request_t *broadcast, void *owner)
{
    idup_t *idup = owner;
    int err = broadcast->status.MPI_ERROR;
    if (err == MPI_SUCCESS && idup->context == WEFT_NO_CONTEXT)
        err = MPI_ERR_OTHER;
    idup->copy->context = idup->context;
    idup->request.status.MPI_ERROR = err;
    weft_request_release(broadcast);
    weft_request_complete(&idup->request);
}

static int create_idup(weft_comm_t *comm, idup_t **out)
{
    idup_t *idup = weft_pool_take(&idups);
    if (idup == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a request");
    int err = weft_comm_create(comm->group, WEFT_NO_CONTEXT, comm, &idup->copy);
    if (err != MPI_SUCCESS) {
        weft_pool_give(&idups, idup);
        return err;
    }
    weft_request_init(&idup->request, &idup_ops, comm);
    weft_comm_retain(comm);
    *out = idup;
    return MPI_SUCCESS;
}

/* A callback has failed, but the broadcast must complete, since the other members need it. */
static int give_up_dup(idup_t *idup, int err)
{
    weft_request_wait(&idup->request);
    weft_request_release(&idup->request);
    return err;
}

int weft_comm_idup(weft_comm_t *comm, weft_comm_t **out, weft_request_t **request_out)
{
    idup_t *idup = NULL;
    weft_request_t *broadcast;
    int err = create_idup(comm, &idup);
    if (err != MPI_SUCCESS)
        return err;
    idup->context = comm->rank == 0 ? weft_context_offer() : WEFT_NO_CONTEXT;
    weft_coll_args_t args = broadcast_of(comm, &idup->context);
    err = weft_coll_begin(WEFT_BCAST, &args, &broadcast);
    if (err != MPI_SUCCESS) {
        weft_request_release(&idup->request);
        return err;
    }
    weft_request_watch(broadcast, idup_broadcast_is_over, idup);
    err = copy_comm_attributes(comm, idup->copy);
    if (err != MPI_SUCCESS)
        return give_up_dup(idup, err);
    weft_comm_retain(idup->copy);
    *out = idup->copy;
    *request_out = &idup->request;
    return MPI_SUCCESS;
}

void weft_comm_idups_close(void)
{
    weft_pool_close(&idups);
}
