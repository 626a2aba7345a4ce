/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of mpix.h about fault tolerance (user-level failure mitigation). */
#include "mpi/api.h"

#include "mpi/check.h"
#include "mpi/leaks.h"
#include "comm/comm_make.h"
#include "ft/consensus.h"
#include "ft/revoke.h"
#include "pt2pt/pt2pt.h"
#include "runtime/failures.h"
#include "base/fail.h"
#include "base/memory.h"
#include "mpix.h"

/* ---- revoking ---- */

/** Makes a communicator unusable at all its ranks (mpix.h). Operations on it that are under way,
 *  and those that begin later, end with MPIX_ERR_REVOKED; so a rank that has seen a failure frees
 *  the others from what they wait for. It is not collective: any rank may call it, and it returns
 *  before the others know. MPIX_Comm_shrink, MPIX_Comm_agree, MPI_Comm_free and enquiries go on
 *  working.
 *  @error MPI_ERR_NO_MEM  there is no memory to note it
 *  @see MPIX_Comm_is_revoked, MPIX_Comm_shrink */
WEFT_API(MPIX_Comm_revoke);
int PMPIX_Comm_revoke(MPI_Comm handle)
{
    weft_call_t call = weft_call_begin("MPIX_Comm_revoke");
    weft_comm_t *comm;
    int err = weft_check_comm(&call, handle, &comm);
    if (err == MPI_SUCCESS)
        err = weft_comm_revoke(comm);
    return weft_call_end(&call, err);
}

/** Tells whether a communicator has been revoked, as far as this rank knows (mpix.h). Local.
 *  @see MPIX_Comm_revoke */
WEFT_API(MPIX_Comm_is_revoked);
int PMPIX_Comm_is_revoked(MPI_Comm handle, int *flag)
{
    weft_call_t call = weft_call_begin("MPIX_Comm_is_revoked");
    weft_comm_t *comm;
    int err = weft_check_comm(&call, handle, &comm);
    if (err == MPI_SUCCESS)
        err = weft_check_output(flag, "flag");
    if (err == MPI_SUCCESS)
        *flag = comm->is_revoked;
    return weft_call_end(&call, err);
}

/* ---- who has failed ---- */

/* The first `limit` of weft_failures that are members of `comm`: both groups of an
 * intercommunicator. */
static int failed_group(weft_comm_t *comm, int limit, weft_group_t **out)
{
    weft_group_t *members = weft_comm_whole(comm)->group;
    int count = 0;
    int *processes = weft_alloc_array((size_t)limit + 1, sizeof(*processes));
    if (processes == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a group of %d ranks", limit);
    for (int i = 0; i < limit; i++) {
        if (weft_group_rank_of(members, weft_failures.at[i].process) != MPI_UNDEFINED)
            processes[count++] = weft_failures.at[i].process;
    }
    return weft_group_derive(members, processes, count, out);
}

static int give_failed(const char *name, MPI_Comm handle, bool is_acked, MPI_Group *out)
{
    weft_call_t call = weft_call_begin(name);
    weft_comm_t *comm;
    weft_group_t *group = NULL;
    int err = weft_check_comm(&call, handle, &comm);
    if (err == MPI_SUCCESS)
        err = weft_check_output(out, "failedgrp");
    if (err == MPI_SUCCESS)
        err = failed_group(comm, is_acked ? comm->acknowledged : weft_failures.count, &group);
    if (err == MPI_SUCCESS)
        *out = weft_give_group(call.name, group);
    return weft_call_end(&call, err);
}

/** Gives the group of the ranks of a communicator that have failed, as far as this rank knows, in
 *  the order in which it has learnt of them (mpix.h). Local. Later calls give longer groups that
 *  begin alike. The caller frees the group.
 *  @param[out] failedgrp  of an intercommunicator it has ranks of both groups; MPI_GROUP_EMPTY if
 *      none has failed
 *  @see MPIX_Comm_ack_failed, MPI_Group_translate_ranks */
WEFT_API(MPIX_Comm_get_failed);
int PMPIX_Comm_get_failed(MPI_Comm comm, MPI_Group *failedgrp)
{
    return give_failed("MPIX_Comm_get_failed", comm, false, failedgrp);
}

/* Acknowledge the first `most` failures of members; returns how many are acknowledged now. */
static int acknowledge(weft_comm_t *comm, int most)
{
    weft_group_t *members = weft_comm_whole(comm)->group;
    int acked = 0;
    for (int i = 0; i < weft_failures.count; i++) {
        if (weft_group_rank_of(members, weft_failures.at[i].process) == MPI_UNDEFINED)
            continue;
        if (i >= comm->acknowledged && acked >= most)
            break;
        acked++;
        if (i >= comm->acknowledged)
            comm->acknowledged = i + 1;
    }
    weft_pt2pt_acknowledged(comm);
    return acked;
}

/** Acknowledges failures: receives from MPI_ANY_SOURCE wait again, and MPIX_Comm_agree does not
 *  report these failures any more, if all ranks have acknowledged them (mpix.h). Local.
 *  @param[in] num_to_ack  how many ranks of the group that MPIX_Comm_get_failed gives, from its
 *      beginning; more than there are: all
 *  @param[out] num_acked  how many are acknowledged now, by this call and earlier ones
 *  @see MPIX_Comm_get_failed, MPIX_Comm_agree */
WEFT_API(MPIX_Comm_ack_failed);
int PMPIX_Comm_ack_failed(MPI_Comm handle, int num_to_ack, int *num_acked)
{
    weft_call_t call = weft_call_begin("MPIX_Comm_ack_failed");
    weft_comm_t *comm;
    int err = weft_check_comm(&call, handle, &comm);
    if (err == MPI_SUCCESS)
        err = weft_check_count(num_to_ack, "num_to_ack");
    if (err == MPI_SUCCESS)
        err = weft_check_output(num_acked, "num_acked");
    if (err == MPI_SUCCESS)
        *num_acked = acknowledge(comm, num_to_ack);
    return weft_call_end(&call, err);
}

/** Acknowledges all failures that this rank knows of, as MPIX_Comm_ack_failed does (mpix.h). Local.
 *  @see MPIX_Comm_failure_get_acked, MPIX_Comm_ack_failed */
WEFT_API(MPIX_Comm_failure_ack);
int PMPIX_Comm_failure_ack(MPI_Comm handle)
{
    weft_call_t call = weft_call_begin("MPIX_Comm_failure_ack");
    weft_comm_t *comm;
    int err = weft_check_comm(&call, handle, &comm);
    if (err == MPI_SUCCESS)
        acknowledge(comm, weft_failures.count);
    return weft_call_end(&call, err);
}

/** Gives the group of the ranks whose failures have been acknowledged (mpix.h). Local. The caller
 *  frees the group.
 *  @param[out] failedgrp  in the order of MPIX_Comm_get_failed
 *  @see MPIX_Comm_failure_ack, MPIX_Comm_get_failed */
WEFT_API(MPIX_Comm_failure_get_acked);
int PMPIX_Comm_failure_get_acked(MPI_Comm comm, MPI_Group *failedgrp)
{
    return give_failed("MPIX_Comm_failure_get_acked", comm, true, failedgrp);
}

/* ---- agreeing ---- */

typedef struct fault_agreement {
    weft_request_t request; /* first */
    int *flag;
} fault_agreement_t;

static void agree_release(weft_request_t *request)
{
    weft_comm_release(request->comm);
    weft_free(request);
}

static const weft_request_ops_t agree_ops = {
    .name = "agreement", .release = agree_release, .cancel = weft_request_cannot_cancel};

static void agree_is_decided(const weft_decision_t *decision, void *owner)
{
    fault_agreement_t *agreement = owner;
    *agreement->flag = decision->flag;
    if (decision->is_new)
        weft_request_note_error(
            &agreement->request,
            weft_fail(MPIX_ERR_PROC_FAILED,
                      "the ranks have agreed, but one of them has not acknowledged a failure"));
    weft_request_complete(&agreement->request);
}

static int begin_agree(weft_comm_t *comm, int *flag, weft_request_t **out)
{
    fault_agreement_t *agreement = weft_alloc(sizeof(*agreement));
    if (agreement == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a request");
    weft_request_init(&agreement->request, &agree_ops, comm);
    weft_comm_retain(comm);
    agreement->flag = flag;
    int err = weft_consensus_begin(comm, *flag, agree_is_decided, agreement);
    if (err != MPI_SUCCESS)
        weft_request_release(&agreement->request);
    else
        *out = &agreement->request;
    return err;
}

static int check_agree(weft_call_t *call, MPI_Comm handle, const int *flag, weft_comm_t **out)
{
    int err = weft_check_comm(call, handle, out);
    return err == MPI_SUCCESS ? weft_check_output(flag, "flag") : err;
}

/** Lets the ranks that live agree on the bitwise AND of their flags, whoever fails meanwhile
 *  (mpix.h). Collective over comm; it works on a revoked communicator, too. All ranks that return
 *  get the same flag and the same error.
 *  @param[in,out] flag  this rank's flag, then the AND of all; it is set also when the call returns
 *      MPIX_ERR_PROC_FAILED
 *  @note The error is of class MPIX_ERR_PROC_FAILED if a rank of comm has failed and not all others
 *      have acknowledged that.
 *  @see MPIX_Comm_iagree, MPIX_Comm_ack_failed, MPIX_Comm_shrink */
WEFT_API(MPIX_Comm_agree);
int PMPIX_Comm_agree(MPI_Comm handle, int *flag)
{
    weft_call_t call = weft_call_begin("MPIX_Comm_agree");
    weft_comm_t *comm;
    weft_request_t *request;
    int err = check_agree(&call, handle, flag, &comm);
    if (err == MPI_SUCCESS)
        err = begin_agree(comm, flag, &request);
    if (err == MPI_SUCCESS)
        err = weft_request_finish(request, MPI_STATUS_IGNORE);
    return weft_call_end(&call, err);
}

/** Begins what MPIX_Comm_agree does, and returns at once (mpix.h).
 *  @copydoc MPIX_Comm_agree
 *  @param[in,out] flag  read by the call; written, and not to be used before, when the request
 *      completes
 *  @see MPI_Wait, MPIX_Comm_agree */
WEFT_API(MPIX_Comm_iagree);
int PMPIX_Comm_iagree(MPI_Comm handle, int *flag, MPI_Request *out)
{
    weft_call_t call = weft_call_begin("MPIX_Comm_iagree");
    weft_comm_t *comm;
    weft_request_t *request;
    int err = check_agree(&call, handle, flag, &comm);
    if (err == MPI_SUCCESS)
        err = weft_check_output(out, "request");
    if (err == MPI_SUCCESS)
        err = begin_agree(comm, flag, &request);
    if (err == MPI_SUCCESS)
        *out = weft_give_request(call.name, request);
    return weft_call_end(&call, err);
}

/* ---- shrinking ---- */

static void take_shrunk(weft_comm_t *comm, void *newcomm)
{
    *(MPI_Comm *)newcomm = weft_give_comm("MPIX_Comm_shrink", comm);
}

static int begin_shrink(weft_call_t *call, MPI_Comm handle, MPI_Comm *newcomm, weft_request_t **out)
{
    weft_comm_t *comm;
    weft_comm_taker_t taker = {take_shrunk, newcomm};
    int err = weft_check_comm(call, handle, &comm);
    if (err == MPI_SUCCESS)
        err = weft_check_output(newcomm, "newcomm");
    return err == MPI_SUCCESS ? weft_comm_shrink_begin(comm, &taker, out) : err;
}

/** Makes a communicator of the ranks that live, in their order (mpix.h). Collective over the ranks
 *  of comm that live; comm may be revoked. No rank that was known to have failed is in the new one,
 *  and all ranks get the same. The caller frees it with MPI_Comm_free.
 *  @param[out] newcomm  of the kind that comm has, with its error handler, but no attributes, hints
 *      or topology
 *  @error MPI_ERR_OTHER  another rank could not make its part of newcomm, so that all fail
 *  @see MPIX_Comm_ishrink, MPIX_Comm_revoke, MPIX_Comm_agree */
WEFT_API(MPIX_Comm_shrink);
int PMPIX_Comm_shrink(MPI_Comm comm, MPI_Comm *newcomm)
{
    weft_call_t call = weft_call_begin("MPIX_Comm_shrink");
    weft_request_t *request;
    int err = begin_shrink(&call, comm, newcomm, &request);
    if (err == MPI_SUCCESS)
        err = weft_request_finish(request, MPI_STATUS_IGNORE);
    return weft_call_end(&call, err);
}

/** Begins what MPIX_Comm_shrink does, and returns at once (mpix.h).
 *  @copydoc MPIX_Comm_shrink
 *  @param[out] newcomm  written when the request completes
 *  @see MPI_Wait, MPIX_Comm_shrink */
WEFT_API(MPIX_Comm_ishrink);
int PMPIX_Comm_ishrink(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *out)
{
    weft_call_t call = weft_call_begin("MPIX_Comm_ishrink");
    weft_request_t *request;
    weft_comm_t *checked;
    int err = weft_check_comm(&call, comm, &checked);
    if (err == MPI_SUCCESS)
        err = weft_check_output(out, "request");
    if (err == MPI_SUCCESS)
        err = begin_shrink(&call, comm, newcomm, &request);
    if (err == MPI_SUCCESS)
        *out = weft_give_request(call.name, request);
    return weft_call_end(&call, err);
}
