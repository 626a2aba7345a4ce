/* SPDX-License-Identifier: BSD-3-Clause */
#include "comm/comm_make.h"

#include "comm/inter_make.h"
#include "object/attribute.h"
#include "base/fail.h"
#include "base/pool.h"

static weft_members_t all_members(weft_comm_t *comm)
{
    return (weft_members_t){.parent = comm, .rank = comm->rank, .size = comm->size};
}

static int copy_comm_attributes(weft_comm_t *from, weft_comm_t *to)
{
    return weft_attributes_copy(weft_comm_attributes(from), weft_comm_attributes(to));
}

static weft_inter_parts_t parts_of(const weft_comm_t *inter)
{
    return (weft_inter_parts_t){
        .own = inter->group, .remote = inter->peers, .both = inter->both->group, .model = inter};
}

static int make_copy(weft_comm_t *comm, weft_comm_t **out)
{
    weft_members_t members = all_members(weft_comm_whole(comm));
    weft_creation_t creation = wefti_creation_next(members.parent);
    if (!weft_comm_is_inter(comm))
        return wefti_comm_make(&members, &creation, comm->group, MPI_SUCCESS, out);
    weft_inter_parts_t parts = parts_of(comm);
    return wefti_inter_make(&members, &creation, &parts, MPI_SUCCESS, out);
}

int weft_comm_dup(weft_comm_t *comm, weft_comm_t **out)
{
    weft_comm_t *copy;
    int err = make_copy(comm, &copy);
    if (err != MPI_SUCCESS)
        return err;
    copy->topology = weft_topology_retain(comm->topology);
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
    weft_comm_t *copy;      /* gets its context when all have agreed; a reference of its own */
    weft_agreement_t agreement;
} idup_t;

static weft_pool_t idups = WEFT_POOL(idup_t);

static void idup_release(weft_request_t *request)
{
    idup_t *idup = (idup_t *)request;
    weft_comm_release(idup->copy);
    weft_comm_release(request->comm);
    weft_pool_give(&idups, idup);
}

static const weft_request_ops_t idup_ops = {.name = "nonblocking duplication of a communicator",
                                            .release = idup_release,
                                            .cancel = weft_request_cannot_cancel};

static void idup_is_agreed(weft_agreement_t *agreement, void *owner)
{
    idup_t *idup = owner;
    int err = wefti_agreement_result(agreement, &idup->copy->context);
    if (err != MPI_SUCCESS)
        weft_request_note_error(&idup->request, err);
    else if (weft_comm_is_inter(idup->copy))
        idup->copy->both->context = idup->copy->context;
    weft_request_complete(&idup->request);
}

static int create_copy(weft_comm_t *comm, weft_comm_t **out)
{
    if (!weft_comm_is_inter(comm))
        return weft_comm_create(comm->group, WEFT_NO_CONTEXT, comm, out);
    weft_inter_parts_t parts = parts_of(comm);
    return wefti_inter_create(&parts, out);
}

static int create_idup(weft_comm_t *comm, idup_t **out)
{
    idup_t *idup = weft_pool_take(&idups);
    if (idup == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a request");
    int err = create_copy(comm, &idup->copy);
    if (err != MPI_SUCCESS) {
        weft_pool_give(&idups, idup);
        return err;
    }
    idup->copy->topology = weft_topology_retain(comm->topology);
    weft_request_init(&idup->request, &idup_ops, comm);
    weft_comm_retain(comm);
    *out = idup;
    return MPI_SUCCESS;
}

/* A callback has failed, but the agreement must complete, since the other members need it. */
static int give_up_dup(idup_t *idup, int err)
{
    weft_request_wait(&idup->request);
    weft_request_release(&idup->request);
    return err;
}

int weft_comm_idup(weft_comm_t *comm, weft_comm_t **out, weft_request_t **request_out)
{
    weft_members_t members = all_members(weft_comm_whole(comm));
    weft_creation_t creation = wefti_creation_next(members.parent);
    idup_t *idup = NULL;
    int err = create_idup(comm, &idup);
    /* Without a request it waits until all have failed: the others would wait for this vote. */
    if (err != MPI_SUCCESS)
        return wefti_comm_make(&members, &creation, NULL, err, out);
    idup->agreement.on_over = idup_is_agreed;
    idup->agreement.owner = idup;
    if (!weft_comm_is_inter(comm))
        wefti_creation_choose_vci(&creation, comm->group);
    wefti_agreement_begin(&idup->agreement, &members, &creation, MPI_SUCCESS);
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
