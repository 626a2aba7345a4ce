/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators: enquiries, making and freeing them, hints and names (MPI 5.0
 * sections 7.4, 7.8). */
#include "mpi/api.h"

#include "mpi/check.h"
#include "mpi/leaks.h"
#include "comm/comm_make.h"
#include "coll/coll.h"
#include "pt2pt/bsend.h"
#include "object/attribute.h"
#include "object/comm_hints.h"
#include "object/group_set.h"
#include "base/fail.h"

#include <stdio.h>
#include <string.h>

/* ---- enquiries ---- */

/** The number of processes in a communicator (section 7.4.1). Of an intercommunicator it is the
 *  number in the group that the caller belongs to.
 *  @see MPI_Comm_rank, MPI_Comm_remote_size */
WEFT_API(MPI_Comm_size);
int PMPI_Comm_size(MPI_Comm handle, int *size)
{
    weft_call_t call = weft_call_begin("MPI_Comm_size");
    weft_comm_t *comm;
    int err = weft_check_comm(&call, handle, &comm);
    if (err == MPI_SUCCESS)
        err = weft_check_output(size, "size");
    if (err == MPI_SUCCESS)
        *size = comm->group->size;
    return weft_call_end(&call, err);
}

/** The rank of the caller in a communicator, from 0 to its size - 1 (section 7.4.1). In an
 *  intercommunicator it is the rank in the caller's own group.
 *  @see MPI_Comm_size */
WEFT_API(MPI_Comm_rank);
int PMPI_Comm_rank(MPI_Comm handle, int *rank)
{
    weft_call_t call = weft_call_begin("MPI_Comm_rank");
    weft_comm_t *comm;
    int err = weft_check_comm(&call, handle, &comm);
    if (err == MPI_SUCCESS)
        err = weft_check_output(rank, "rank");
    if (err == MPI_SUCCESS)
        *rank = comm->rank;
    return weft_call_end(&call, err);
}

/* Of two results of comparing groups. */
static int worse_of(int one, int two)
{
    if (one == MPI_UNEQUAL || two == MPI_UNEQUAL)
        return MPI_UNEQUAL;
    return one == MPI_SIMILAR ? one : two;
}

static int compare(const weft_comm_t *one, const weft_comm_t *two)
{
    if (one == two)
        return MPI_IDENT;
    if (weft_comm_is_inter(one) != weft_comm_is_inter(two))
        return MPI_UNEQUAL;
    int result = worse_of(weft_group_compare(one->group, two->group),
                          weft_group_compare(one->peers, two->peers));
    return result == MPI_IDENT ? MPI_CONGRUENT : result;
}

/** Tells whether two communicators have the same processes (section 7.4.1). Two intercommunicators
 *  are compared by both of their groups; an intercommunicator and an intracommunicator are always
 *  unequal.
 *  @param[out] result  MPI_IDENT: they are one communicator; MPI_CONGRUENT: two with the same
 *      processes in the same order; MPI_SIMILAR: the same processes in another order;
 *      MPI_UNEQUAL: neither */
WEFT_API(MPI_Comm_compare);
int PMPI_Comm_compare(MPI_Comm handle1, MPI_Comm handle2, int *result)
{
    weft_call_t call = weft_call_begin("MPI_Comm_compare");
    weft_comm_t *one, *two;
    int err = weft_check_named_comm(&call, handle1, "comm1", &one);
    if (err == MPI_SUCCESS)
        err = weft_check_named_comm(&call, handle2, "comm2", &two);
    if (err == MPI_SUCCESS)
        err = weft_check_output(result, "result");
    if (err == MPI_SUCCESS)
        *result = compare(one, two);
    return weft_call_end(&call, err);
}

/** The group of a communicator (section 7.3.2). Of an intercommunicator it is the caller's own
 *  group. It stays valid when the communicator is freed.
 *  @see MPI_Comm_remote_group */
WEFT_API(MPI_Comm_group);
int PMPI_Comm_group(MPI_Comm handle, MPI_Group *group)
{
    weft_call_t call = weft_call_begin("MPI_Comm_group");
    weft_comm_t *comm;
    int err = weft_check_comm(&call, handle, &comm);
    if (err == MPI_SUCCESS)
        err = weft_check_output(group, "group");
    if (err == MPI_SUCCESS) {
        weft_group_retain(comm->group);
        *group = weft_give_group(call.name, comm->group);
    }
    return weft_call_end(&call, err);
}

/** The intercommunicator that joins the caller to the processes that have spawned it
 *  (section 11.8.2).
 *  @param[out] parent  always MPI_COMM_NULL
 *  @note Weft cannot spawn processes yet, so that none has a parent. */
WEFT_API(MPI_Comm_get_parent);
int PMPI_Comm_get_parent(MPI_Comm *parent)
{
    weft_call_t call = weft_call_begin("MPI_Comm_get_parent");
    int err = weft_check_output(parent, "parent");
    if (err == MPI_SUCCESS)
        *parent = MPI_COMM_NULL;
    return weft_call_end(&call, err);
}

/* ---- copies ---- */

static int check_dup(weft_call_t *call, MPI_Comm handle, const MPI_Comm *newcomm, weft_comm_t **out)
{
    int err = weft_check_live_comm(call, handle, out);
    return err == MPI_SUCCESS ? weft_check_output(newcomm, "newcomm") : err;
}

/** Copies a communicator, so that messages in the copy never meet those in the original
 *  (section 7.4.2). Collective over comm. The copy has the same group or groups, the same topology
 *  and error handler, and those attributes whose copy callbacks ask for it; it has no hints and no
 *  name. If a copy callback returns anything but MPI_SUCCESS, so does this function, and there is
 *  no copy at this rank. The caller frees the copy with MPI_Comm_free.
 *  @error MPI_ERR_OTHER  another rank could not make its part of the copy, so that all fail
 *  @see MPI_Comm_dup_with_info, MPI_Comm_idup */
WEFT_API(MPI_Comm_dup);
int PMPI_Comm_dup(MPI_Comm handle, MPI_Comm *newcomm)
{
    weft_call_t call = weft_call_begin("MPI_Comm_dup");
    weft_comm_t *comm, *copy;
    int err = check_dup(&call, handle, newcomm, &comm);
    if (err == MPI_SUCCESS)
        err = weft_comm_dup(comm, &copy);
    if (err == MPI_SUCCESS)
        *newcomm = weft_give_comm(call.name, copy);
    return weft_call_end(&call, err);
}

/** Copies a communicator as MPI_Comm_dup does, and gives the copy hints (section 7.4.2). Collective
 *  over comm. The hints of comm itself are not copied.
 *  @copydoc MPI_Comm_dup
 *  @see MPI_Comm_set_info */
WEFT_API(MPI_Comm_dup_with_info);
int PMPI_Comm_dup_with_info(MPI_Comm handle, MPI_Info info_handle, MPI_Comm *newcomm)
{
    weft_call_t call = weft_call_begin("MPI_Comm_dup_with_info");
    weft_comm_t *comm, *copy;
    weft_info_t *info;
    int err = check_dup(&call, handle, newcomm, &comm);
    if (err == MPI_SUCCESS)
        err = weft_check_info(info_handle, &info);
    if (err == MPI_SUCCESS)
        err = weft_comm_dup(comm, &copy);
    if (err != MPI_SUCCESS)
        return weft_call_end(&call, err);
    *newcomm = weft_give_comm(call.name, copy);
    return weft_call_end(&call, weft_comm_set_hints(copy, info));
}

static int idup(const char *name, MPI_Comm handle, MPI_Info info_handle, MPI_Comm *newcomm,
                MPI_Request *request)
{
    weft_call_t call = weft_call_begin(name);
    weft_comm_t *comm, *copy;
    weft_info_t *info;
    weft_request_t *begun;
    int err = check_dup(&call, handle, newcomm, &comm);
    if (err == MPI_SUCCESS)
        err = weft_check_output(request, "request");
    if (err == MPI_SUCCESS)
        err = weft_check_info(info_handle, &info);
    if (err == MPI_SUCCESS)
        err = weft_comm_idup(comm, &copy, &begun);
    if (err != MPI_SUCCESS)
        return weft_call_end(&call, err);
    *newcomm = weft_give_comm(call.name, copy);
    *request = weft_give_request(call.name, begun);
    return weft_call_end(&call, weft_comm_set_hints(copy, info));
}

/** Begins to copy a communicator as MPI_Comm_dup does, without waiting for the other ranks
 *  (section 7.4.2). Collective over comm. Copy callbacks of attributes are called before it
 *  returns. The request cannot be cancelled.
 *  @copydoc MPI_Comm_dup
 *  @param[out] newcomm  the copy, which must not be used until the request is complete
 *  @param[out] request  completes when all ranks have agreed on the copy, or have failed to */
WEFT_API(MPI_Comm_idup);
int PMPI_Comm_idup(MPI_Comm handle, MPI_Comm *newcomm, MPI_Request *request)
{
    return idup("MPI_Comm_idup", handle, MPI_INFO_NULL, newcomm, request);
}

/** Begins to copy a communicator as MPI_Comm_idup does, and gives the copy hints (section 7.4.2).
 *  Collective over comm.
 *  @copydoc MPI_Comm_idup
 *  @see MPI_Comm_set_info */
WEFT_API(MPI_Comm_idup_with_info);
int PMPI_Comm_idup_with_info(MPI_Comm handle, MPI_Info info, MPI_Comm *newcomm,
                             MPI_Request *request)
{
    return idup("MPI_Comm_idup_with_info", handle, info, newcomm, request);
}

/* ---- made of a group ---- */

static int check_subset(const weft_comm_t *comm, const weft_group_t *group)
{
    for (int rank = 0; group != comm->group && rank < group->size; rank++) {
        int process = weft_group_process(group, rank);
        if (weft_group_rank_of(comm->group, process) == MPI_UNDEFINED)
            return weft_fail(MPI_ERR_GROUP, "rank %d of group (%d in MPI_COMM_WORLD) is not in %s",
                             rank, weft_process_rank(process), weft_comm_label(comm));
    }
    return MPI_SUCCESS;
}

static int check_create(weft_call_t *call, MPI_Comm handle, MPI_Group group_handle,
                        weft_comm_t **comm_out, weft_group_t **group_out)
{
    int err = weft_check_live_comm(call, handle, comm_out);
    if (err == MPI_SUCCESS)
        err = weft_check_group(group_handle, "group", group_out);
    return err == MPI_SUCCESS ? check_subset(*comm_out, *group_out) : err;
}

/* A rank that is not in the group gets MPI_COMM_NULL at once. */
static int create_of_group(const char *name, weft_comm_t *comm, weft_group_t *group, int tag,
                           MPI_Comm *newcomm)
{
    weft_comm_t *made;
    if (group->rank == MPI_UNDEFINED) {
        *newcomm = MPI_COMM_NULL;
        return MPI_SUCCESS;
    }
    int err = weft_comm_create_of(comm, group, tag, &made);
    if (err == MPI_SUCCESS)
        *newcomm = weft_give_comm(name, made);
    return err;
}

static int split_comm(weft_comm_t *comm, int color, int key, MPI_Comm *newcomm)
{
    weft_comm_t *made;
    int err = weft_comm_split(comm, color, key, &made);
    if (err == MPI_SUCCESS)
        *newcomm = weft_give_comm("MPI_Comm_split", made);
    return err;
}

/* Neither group of an intercommunicator knows whom the other chooses. */
static int create_of_inter(weft_comm_t *inter, const weft_group_t *group, MPI_Comm *newcomm)
{
    bool is_member = group->rank != MPI_UNDEFINED;
    return split_comm(inter, is_member ? 0 : MPI_UNDEFINED, is_member ? group->rank : 0, newcomm);
}

/** Makes a communicator of a part of another one's processes, ranked as in the group given
 *  (section 7.4.2). Collective over comm. Ranks may name different groups if these have no member
 *  in common: each group becomes a communicator of its own. Of an intercommunicator both sides name
 *  a part of their own group, and the result joins the two parts; it is MPI_COMM_NULL if one of
 *  them is empty. The result has comm's error handler, but none of its attributes, hints and
 *  topology.
 *  @param[in] group  a part of comm's group, of an intercommunicator of the caller's own; the same
 *      at all members of it
 *  @param[out] newcomm  MPI_COMM_NULL if the caller is not in the group
 *  @error MPI_ERR_GROUP  a member of group is not in comm
 *  @note Of an intracommunicator only the members of the group wait for each other.
 *  @see MPI_Comm_create_group, MPI_Comm_split */
WEFT_API(MPI_Comm_create);
int PMPI_Comm_create(MPI_Comm handle, MPI_Group group_handle, MPI_Comm *newcomm)
{
    weft_call_t call = weft_call_begin("MPI_Comm_create");
    weft_comm_t *comm;
    weft_group_t *group;
    int err = check_create(&call, handle, group_handle, &comm, &group);
    if (err == MPI_SUCCESS)
        err = weft_check_output(newcomm, "newcomm");
    if (err == MPI_SUCCESS)
        err = weft_comm_is_inter(comm)
                  ? create_of_inter(comm, group, newcomm)
                  : create_of_group(call.name, comm, group, WEFT_CREATE_TAG, newcomm);
    return weft_call_end(&call, err);
}

/** Makes a communicator of a part of another one's processes, as MPI_Comm_create does, but
 *  collective over the members of that part alone (section 7.4.2). The other ranks of comm need not
 *  call it, and get MPI_COMM_NULL at once if they do.
 *  @param[in] group  a part of comm's group, the same at all its members
 *  @param[in] tag  the same at all members: it tells apart calls that several threads make at once,
 *      and has nothing to do with tags of messages
 *  @param[out] newcomm  MPI_COMM_NULL if the caller is not in the group
 *  @error MPI_ERR_COMM  an intercommunicator is given
 *  @error MPI_ERR_GROUP  a member of group is not in comm */
WEFT_API(MPI_Comm_create_group);
int PMPI_Comm_create_group(MPI_Comm handle, MPI_Group group_handle, int tag, MPI_Comm *newcomm)
{
    weft_call_t call = weft_call_begin("MPI_Comm_create_group");
    weft_comm_t *comm;
    weft_group_t *group;
    int err = check_create(&call, handle, group_handle, &comm, &group);
    if (err == MPI_SUCCESS)
        err = weft_check_output(newcomm, "newcomm");
    if (err == MPI_SUCCESS)
        err = weft_check_tag(tag, false, "tag");
    if (err == MPI_SUCCESS)
        err = weft_check_intra(comm);
    if (err == MPI_SUCCESS)
        err = create_of_group(call.name, comm, group, tag, newcomm);
    return weft_call_end(&call, err);
}

/* ---- splits ---- */

/** Divides a communicator into one new communicator for each color (section 7.4.2). Collective over
 *  comm. Keys may be negative. Of an intercommunicator each part is an intercommunicator too: it
 *  joins those of both groups who have given the color. The new ones have comm's error handler, but
 *  none of its attributes, hints and topology.
 *  @param[out] newcomm  MPI_COMM_NULL if color is MPI_UNDEFINED, or if nobody in the other group of
 *      an intercommunicator has given the color
 *  @error MPI_ERR_ARG  color is negative, but not MPI_UNDEFINED
 *  @see MPI_Comm_split_type */
WEFT_API(MPI_Comm_split);
int PMPI_Comm_split(MPI_Comm handle, int color, int key, MPI_Comm *newcomm)
{
    weft_call_t call = weft_call_begin("MPI_Comm_split");
    weft_comm_t *comm;
    int err = check_dup(&call, handle, newcomm, &comm);
    if (err == MPI_SUCCESS && color < 0 && color != MPI_UNDEFINED)
        err = weft_fail(MPI_ERR_ARG, "color is %d, but must be at least 0 or MPI_UNDEFINED", color);
    if (err == MPI_SUCCESS)
        err = split_comm(comm, color, key, newcomm);
    return weft_call_end(&call, err);
}

/* ---- freeing ---- */

static int check_freeable(weft_call_t *call, const MPI_Comm *handle, weft_comm_t **out)
{
    int err = weft_check_output(handle, "comm");
    if (err == MPI_SUCCESS)
        err = weft_check_comm(call, *handle, out);
    if (err == MPI_SUCCESS && weft_is_predefined(*handle))
        err = weft_fail(MPI_ERR_COMM, "comm is %s, which cannot be freed", weft_comm_label(*out));
    return err;
}

/* Operations in progress hold references of their own. Those that use the communicator's buffer are
 * waited for: the buffer is the program's again. */
static int free_comm(weft_call_t *call, weft_comm_t *comm, MPI_Comm *handle)
{
    int err = weft_attributes_delete_all(weft_comm_attributes(comm));
    if (err != MPI_SUCCESS)
        return err;
    weft_bsend_release(weft_bsend_of_comm(comm));
    call->comm = NULL;
    weft_note_back(comm);
    weft_comm_release(comm);
    *handle = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

/** Gives up a communicator and sets the handle to MPI_COMM_NULL (section 7.4.3). Collective over
 *  comm. Operations in progress complete. Delete callbacks of attributes are called, that of the
 *  attribute set last first; if one returns anything but MPI_SUCCESS, so does this function, and
 *  the communicator stays. A buffer attached to the communicator is waited for: then it is the
 *  program's again.
 *  @param[in,out] comm  the communicator
 *  @error MPI_ERR_COMM  comm is MPI_COMM_NULL or no communicator, or it is MPI_COMM_WORLD or
 *      MPI_COMM_SELF
 *  @note Weft sends no message for it: the ranks need not call it at the same time.
 *  @see MPI_Comm_disconnect, MPI_Comm_attach_buffer */
WEFT_API(MPI_Comm_free);
int PMPI_Comm_free(MPI_Comm *handle)
{
    weft_call_t call = weft_call_begin("MPI_Comm_free");
    weft_comm_t *comm;
    int err = check_freeable(&call, handle, &comm);
    if (err == MPI_SUCCESS)
        err = free_comm(&call, comm, handle);
    return weft_call_end(&call, err);
}

/** Gives up a communicator as MPI_Comm_free does, but only when all its ranks have called this
 *  (section 11.10.4). Collective over comm.
 *  @copydoc MPI_Comm_free */
WEFT_API(MPI_Comm_disconnect);
int PMPI_Comm_disconnect(MPI_Comm *handle)
{
    weft_call_t call = weft_call_begin("MPI_Comm_disconnect");
    weft_comm_t *comm;
    int err = check_freeable(&call, handle, &comm);
    /* The processes of a job stay connected until MPI_Finalize, which waits for all operations in
     * progress, so a barrier is all that is needed here. */
    if (err == MPI_SUCCESS)
        err = weft_coll_run(WEFT_BARRIER, &(weft_coll_args_t){.comm = weft_comm_whole(comm)});
    if (err == MPI_SUCCESS)
        err = free_comm(&call, comm, handle);
    return weft_call_end(&call, err);
}

/* ---- hints and names ---- */

static bool is_true(const weft_info_t *info, const char *key)
{
    const char *value = info == NULL ? NULL : weft_info_get(info, key);
    return value != NULL && strcmp(value, "true") == 0;
}

/** Gives hints to a communicator (section 7.4.4). Collective over comm. A hint that info lacks
 *  stays as it was. Weft knows `mpi_assert_no_any_tag`, `mpi_assert_no_any_source`,
 *  `mpi_assert_exact_length` and `mpi_assert_allow_overtaking`, each "true" or "false", and
 *  `mpi_assert_memory_alloc_kinds`; other keys and values are ignored.
 *  @note With `weft_share_memory` "true" the collectives of a communicator within one host, the
 *      nonblocking ones too, go through shared memory from now on; otherwise they do from its third
 *      blocking collective on.
 *  @note Of the assertions only `mpi_assert_memory_alloc_kinds` changes what Weft does: if all its
 *      kinds are of "mpi" or "system", buffers are not tested for being device memory, and must not
 *      be any.
 *  @see MPI_Comm_get_info */
WEFT_API(MPI_Comm_set_info);
int PMPI_Comm_set_info(MPI_Comm handle, MPI_Info info_handle)
{
    weft_call_t call = weft_call_begin("MPI_Comm_set_info");
    weft_comm_t *comm;
    weft_info_t *info;
    int err = weft_check_comm(&call, handle, &comm);
    if (err == MPI_SUCCESS)
        err = weft_check_info(info_handle, &info);
    if (err == MPI_SUCCESS)
        err = weft_comm_set_hints(comm, info);
    if (err == MPI_SUCCESS && is_true(info, "weft_share_memory"))
        err = weft_coll_share_memory(comm);
    return weft_call_end(&call, err);
}

/** The hints that are in force for a communicator, as a new info object (section 7.4.4). It has
 *  the four assertions of MPI_Comm_set_info, "false" if they were not set,
 *  `mpi_memory_alloc_kinds`, the kinds of memory that Weft can take buffers in, and
 *  `mpi_assert_memory_alloc_kinds` if that was set. */
WEFT_API(MPI_Comm_get_info);
int PMPI_Comm_get_info(MPI_Comm handle, MPI_Info *info_used)
{
    weft_call_t call = weft_call_begin("MPI_Comm_get_info");
    weft_comm_t *comm;
    weft_info_t *info;
    int err = weft_check_comm(&call, handle, &comm);
    if (err == MPI_SUCCESS)
        err = weft_check_output(info_used, "info_used");
    if (err == MPI_SUCCESS)
        err = weft_comm_get_hints(comm, &info);
    if (err == MPI_SUCCESS)
        *info_used = weft_info_handle(info);
    return weft_call_end(&call, err);
}

/** Gives a communicator a name, at this rank (section 7.8). Weft's error messages use it.
 *  @param[in] comm_name  a string that is copied, at most MPI_MAX_OBJECT_NAME - 1 letters of it
 *  @error MPI_ERR_ARG  comm_name is NULL */
WEFT_API(MPI_Comm_set_name);
int PMPI_Comm_set_name(MPI_Comm handle, const char *name)
{
    weft_call_t call = weft_call_begin("MPI_Comm_set_name");
    weft_comm_t *comm;
    int err = weft_check_comm(&call, handle, &comm);
    if (err == MPI_SUCCESS)
        err = weft_check_input(name, "comm_name");
    if (err == MPI_SUCCESS)
        snprintf(comm->name, sizeof(comm->name), "%s", name);
    return weft_call_end(&call, err);
}

/** The name of a communicator, as it was set at this rank (section 7.8). The predefined ones have
 *  the names of their constants, MPI_COMM_NULL included; any other has an empty name until it is
 *  given one.
 *  @param[in] comm  the communicator, or MPI_COMM_NULL
 *  @error MPI_ERR_COMM  comm is neither MPI_COMM_NULL nor a communicator */
WEFT_API(MPI_Comm_get_name);
int PMPI_Comm_get_name(MPI_Comm handle, char *name, int *length)
{
    weft_call_t call = weft_call_begin("MPI_Comm_get_name");
    weft_comm_t *comm = NULL;
    int err = handle == MPI_COMM_NULL ? MPI_SUCCESS : weft_check_comm(&call, handle, &comm);
    if (err == MPI_SUCCESS)
        err = weft_check_output(name, "comm_name");
    if (err == MPI_SUCCESS)
        err = weft_check_output(length, "resultlen");
    if (err == MPI_SUCCESS)
        *length =
            snprintf(name, MPI_MAX_OBJECT_NAME, "%s", comm == NULL ? "MPI_COMM_NULL" : comm->name);
    return weft_call_end(&call, err);
}
