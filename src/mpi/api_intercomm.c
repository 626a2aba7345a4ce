/* SPDX-License-Identifier: BSD-3-Clause */
/* Intercommunicators (MPI 5.0 section 7.6). */
#include "mpi/api.h"

#include "mpi/check.h"
#include "mpi/leaks.h"
#include "comm/comm_make.h"
#include "base/fail.h"

/** Tells whether a communicator is an intercommunicator (section 7.6.1). */
WEFT_API(MPI_Comm_test_inter);
int PMPI_Comm_test_inter(MPI_Comm handle, int *flag)
{
    weft_call_t call = weft_call_begin("MPI_Comm_test_inter");
    weft_comm_t *comm;
    int err = weft_check_comm(&call, handle, &comm);
    if (err == MPI_SUCCESS)
        err = weft_check_output(flag, "flag");
    if (err == MPI_SUCCESS)
        *flag = weft_comm_is_inter(comm);
    return weft_call_end(&call, err);
}

static int check_inter(weft_call_t *call, MPI_Comm handle, const char *name, weft_comm_t **out)
{
    int err = weft_check_named_comm(call, handle, name, out);
    if (err == MPI_SUCCESS && !weft_comm_is_inter(*out))
        err = weft_fail(MPI_ERR_COMM, "%s is an intracommunicator, which has no remote group",
                        weft_comm_label(*out));
    return err;
}

/** How many processes the other group of an intercommunicator has (section 7.6.1).
 *  @param[in] comm  an intercommunicator
 *  @error MPI_ERR_COMM  an intracommunicator is given
 *  @see MPI_Comm_size */
WEFT_API(MPI_Comm_remote_size);
int PMPI_Comm_remote_size(MPI_Comm handle, int *size)
{
    weft_call_t call = weft_call_begin("MPI_Comm_remote_size");
    weft_comm_t *comm;
    int err = check_inter(&call, handle, "comm", &comm);
    if (err == MPI_SUCCESS)
        err = weft_check_output(size, "size");
    if (err == MPI_SUCCESS)
        *size = comm->peers->size;
    return weft_call_end(&call, err);
}

/** The other group of an intercommunicator (section 7.6.1).
 *  @param[in] comm  an intercommunicator
 *  @error MPI_ERR_COMM  an intracommunicator is given
 *  @see MPI_Comm_group */
WEFT_API(MPI_Comm_remote_group);
int PMPI_Comm_remote_group(MPI_Comm handle, MPI_Group *group)
{
    weft_call_t call = weft_call_begin("MPI_Comm_remote_group");
    weft_comm_t *comm;
    int err = check_inter(&call, handle, "comm", &comm);
    if (err == MPI_SUCCESS)
        err = weft_check_output(group, "group");
    if (err == MPI_SUCCESS) {
        weft_group_retain(comm->peers);
        *group = weft_give_group(call.name, comm->peers);
    }
    return weft_call_end(&call, err);
}

/* ---- making ---- */

/* The arguments that only the leader has to give. */
static int check_leader(MPI_Comm peer_handle, int remote_leader, int tag, weft_leader_t *out)
{
    out->peer = weft_comm_of(peer_handle);
    int err = out->peer == NULL ? weft_bad_comm(peer_handle, "peer_comm")
                                : weft_check_tag(tag, false, "tag");
    if (err == MPI_SUCCESS && (remote_leader < 0 || remote_leader >= out->peer->size))
        err = weft_bad_rank(out->peer, remote_leader, "remote_leader");
    out->remote_leader = remote_leader;
    out->tag = tag;
    return err;
}

static int check_local(weft_call_t *call, MPI_Comm handle, int local_leader, weft_comm_t **out)
{
    int err = weft_check_intracomm(call, handle, "local_comm", out);
    if (err == MPI_SUCCESS && (local_leader < 0 || local_leader >= (*out)->size))
        err = weft_bad_rank(*out, local_leader, "local_leader");
    return err;
}

/** Joins two groups that have no process in common into an intercommunicator (section 7.6.2).
 *  Collective over the local communicators of both groups. Each group has a leader, and the leaders
 *  reach each other in a communicator that has both of them. The result has local_comm's error
 *  handler.
 *  @param[in] local_leader  the leader's rank in local_comm, the same at all its ranks
 *  @param[in] remote_leader  the other leader's rank in peer_comm; read at the local leader only
 *  @param[in] tag  the same at both leaders: it tells apart calls that several threads make at
 *      once, and has nothing to do with tags of messages. Read at the local leader only
 *  @error MPI_ERR_COMM  an intercommunicator is given as local_comm
 *  @error MPI_ERR_GROUP  a process is in both groups
 *  @error MPI_ERR_RANK  local_leader is not in local_comm, or remote_leader not in peer_comm
 *  @error MPI_ERR_OTHER  the local leader, another rank, had wrong arguments or could not reach the
 *      other leader
 *  @see MPI_Intercomm_merge */
WEFT_API(MPI_Intercomm_create);
int PMPI_Intercomm_create(MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm,
                          int remote_leader, int tag, MPI_Comm *newintercomm)
{
    weft_call_t call = weft_call_begin("MPI_Intercomm_create");
    weft_leader_t leader;
    weft_comm_t *local, *made;
    bool is_leader = false;
    int err = check_local(&call, local_comm, local_leader, &local);
    if (err == MPI_SUCCESS)
        err = weft_check_output(newintercomm, "newintercomm");
    if (err == MPI_SUCCESS)
        is_leader = local->rank == local_leader;
    /* A leader with wrong arguments takes part all the same, since its group waits for it. */
    if (is_leader)
        leader.error = check_leader(peer_comm, remote_leader, tag, &leader);
    if (err == MPI_SUCCESS)
        err = weft_intercomm_create(local, local_leader, is_leader ? &leader : NULL, &made);
    if (err == MPI_SUCCESS)
        *newintercomm = weft_give_comm(call.name, made);
    return weft_call_end(&call, err);
}

/** Makes an intracommunicator of both groups of an intercommunicator (section 7.6.2). Collective
 *  over intercomm. The members of each group keep their order. The result has intercomm's error
 *  handler.
 *  @param[in] high  the same at all members of one group: 0 for the group that gets the lower
 *      ranks, not 0 for the other; if both give the same, Weft chooses an order
 *  @error MPI_ERR_COMM  an intracommunicator is given */
WEFT_API(MPI_Intercomm_merge);
int PMPI_Intercomm_merge(MPI_Comm handle, int high, MPI_Comm *newintracomm)
{
    weft_call_t call = weft_call_begin("MPI_Intercomm_merge");
    weft_comm_t *inter, *merged;
    int err = check_inter(&call, handle, "intercomm", &inter);
    if (err == MPI_SUCCESS)
        err = weft_check_output(newintracomm, "newintracomm");
    if (err == MPI_SUCCESS)
        err = weft_intercomm_merge(inter, high != 0, &merged);
    if (err == MPI_SUCCESS)
        *newintracomm = weft_give_comm(call.name, merged);
    return weft_call_end(&call, err);
}
