/* SPDX-License-Identifier: BSD-3-Clause */
/* Sessions and what is made of them (MPI 5.0 section 11.3; MPI_Comm_create_from_group: 7.4.2). */
#include "mpi/api.h"

#include "mpi/leaks.h"
#include "mpi/library_users.h"
#include "mpi/process_sets.h"
#include "mpi/session_call.h"
#include "mpi/check.h"
#include "comm/comm_make.h"
#include "pt2pt/bsend.h"
#include "object/comm_hints.h"
#include "object/info_env.h"
#include "base/fail.h"

#include <stdio.h>
#include <string.h>

/* ---- begin and end ---- */

static int check_session_info(MPI_Info handle, int *level_out)
{
    weft_info_t *info;
    int err = weft_check_info(handle, &info);
    const char *level =
        err != MPI_SUCCESS || info == NULL ? NULL : weft_info_get(info, "thread_level");
    *level_out = MPI_THREAD_MULTIPLE;
    if (level != NULL && !weft_thread_level_read(level, level_out))
        err = weft_fail(MPI_ERR_INFO_VALUE,
                        "the info key thread_level is \"%s\"; expected is MPI_THREAD_SINGLE, "
                        "MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE",
                        level);
    return err;
}

/* The library may have to be started, which takes and gives the lock by itself. */
static int open_session(weft_errhandler_t *handler, int level, weft_session_t **out)
{
    weft_lock_give();
    int err = weft_library_enter_session();
    weft_lock_take();
    if (err != MPI_SUCCESS)
        return err;
    err = weft_session_create(handler, level, out);
    if (err == MPI_SUCCESS)
        return err;
    weft_lock_give();
    weft_library_leave_session();
    weft_lock_take();
    return err;
}

/** Opens a session, by which a part of a program uses MPI independently of others and of MPI_Init
 *  (section 11.3.1). May be called at any time, from any thread, any number of times.
 *  @param[in] info  key thread_level: the name of a level, for example MPI_THREAD_SERIALIZED; else
 *      MPI_THREAD_MULTIPLE
 *  @param[in] errhandler  for errors of this call and of the session
 *  @error MPI_ERR_INFO_VALUE  thread_level is no such name
 *  @error MPI_ERR_OTHER  the start of the library failed: the text says why
 *  @note The first session starts the library, if MPI_Init has not, and returns when the other
 *      processes of the host have started it too. Every session may be used by several threads at
 *      once, whatever its thread_level.
 *  @see MPI_Session_finalize, MPI_Group_from_session_pset, MPI_Comm_create_from_group */
WEFT_API(MPI_Session_init);
int PMPI_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session *handle)
{
    weft_call_t call = weft_call_begin_anytime("MPI_Session_init");
    weft_errhandler_t *handler;
    weft_session_t *session;
    int level;
    int err = weft_check_errhandler_of(errhandler, WEFT_KIND_SESSION, &handler);
    if (err != MPI_SUCCESS)
        return weft_call_end_anytime(&call, err);
    err = check_session_info(info, &level);
    if (err == MPI_SUCCESS)
        err = weft_check_output(handle, "session");
    if (err == MPI_SUCCESS)
        err = open_session(handler, level, &session);
    if (err == MPI_SUCCESS)
        *handle = weft_session_handle(session);
    return weft_call_end_with(&call, handler, MPI_SESSION_NULL, err);
}

/* Errors of the library's end go to the session's handler, though the session has gone by then. */
static int close_session(weft_call_t *call, weft_session_t *session, MPI_Session *handle)
{
    weft_errhandler_t *handler = session->errhandler;
    MPI_Session old = *handle;
    weft_errhandler_retain(handler);
    weft_bsend_release(weft_bsend_of_session(session));
    weft_session_end(session);
    *handle = MPI_SESSION_NULL;
    weft_lock_give();
    int err = weft_library_leave_session();
    weft_lock_take();
    err = weft_call_end_with(call, handler, old, err);
    weft_lock_take();
    weft_errhandler_release(handler);
    weft_lock_give();
    return err;
}

/** Closes a session (section 11.3.1). The communicators that come from it must have been freed, and
 *  their operations be complete. If nothing else in the process uses MPI, the call waits until all
 *  that the process has sent is received.
 *  @param[in,out] session  becomes MPI_SESSION_NULL
 *  @error MPI_ERR_OTHER  a message that this process has sent will never be received; the session
 *      is closed all the same
 *  @note A process that ends while a session is open ends the job with an error.
 *  @see MPI_Session_init */
WEFT_API(MPI_Session_finalize);
int PMPI_Session_finalize(MPI_Session *handle)
{
    weft_session_call_t call = weft_session_call_begin("MPI_Session_finalize");
    weft_session_t *session = NULL;
    int err = weft_check_output(handle, "session");
    if (err == MPI_SUCCESS)
        err = weft_check_session(&call, *handle, &session);
    if (err != MPI_SUCCESS)
        return weft_session_call_end(&call, err);
    return close_session(&call.frame, session, handle);
}

static int describe_session(const weft_session_t *session, weft_info_t **out)
{
    char kinds[MPI_MAX_INFO_VAL];
    weft_info_t *info = NULL;
    weft_memory_kinds(kinds, sizeof(kinds));
    int err = weft_info_create(&info);
    if (err == MPI_SUCCESS)
        err = weft_info_set(info, "thread_level", weft_thread_level_name(session->thread_level));
    if (err == MPI_SUCCESS)
        err = weft_info_set(info, "mpi_memory_alloc_kinds", kinds);
    if (err == MPI_SUCCESS)
        *out = info;
    else
        weft_info_release(info);
    return err;
}

/** Gives what is in force for a session (section 11.3.1). The info has the keys thread_level, the
 *  level that was asked for, and mpi_memory_alloc_kinds.
 *  @see MPI_Session_init, MPI_Info_free */
WEFT_API(MPI_Session_get_info);
int PMPI_Session_get_info(MPI_Session handle, MPI_Info *info_used)
{
    weft_session_call_t call = weft_session_call_begin("MPI_Session_get_info");
    weft_session_t *session;
    weft_info_t *info;
    int err = weft_check_session(&call, handle, &session);
    if (err == MPI_SUCCESS)
        err = weft_check_output(info_used, "info_used");
    if (err == MPI_SUCCESS)
        err = describe_session(session, &info);
    if (err == MPI_SUCCESS)
        *info_used = weft_info_handle(info);
    return weft_session_call_end(&call, err);
}

/* ---- process sets ---- */

static int check_psets(weft_session_call_t *call, MPI_Session handle, MPI_Info info_handle)
{
    weft_session_t *session;
    weft_info_t *info; /* no key is known */
    int err = weft_check_session(call, handle, &session);
    return err == MPI_SUCCESS ? weft_check_info(info_handle, &info) : err;
}

/** Tells how many process sets there are of which this process is a member (section 11.3.3).
 *  mpi://WORLD, all processes of the job, and mpi://SELF are always there; a launcher with PMIx may
 *  define more.
 *  @param[in] info  MPI_INFO_NULL, or any info: Weft knows no key
 *  @param[out] npset_names  how many there are, 2 or more
 *  @see MPI_Session_get_nth_pset, MPI_Group_from_session_pset */
WEFT_API(MPI_Session_get_num_psets);
int PMPI_Session_get_num_psets(MPI_Session handle, MPI_Info info, int *npset_names)
{
    weft_session_call_t call = weft_session_call_begin("MPI_Session_get_num_psets");
    int err = check_psets(&call, handle, info);
    if (err == MPI_SUCCESS)
        err = weft_check_output(npset_names, "npset_names");
    if (err == MPI_SUCCESS)
        *npset_names = weft_process_sets_count();
    return weft_session_call_end(&call, err);
}

static int check_nth(int n, const int *pset_len, const char *pset_name)
{
    int count = weft_process_sets_count();
    if (n < 0 || n >= count)
        return weft_fail(MPI_ERR_ARG, "n is %d, but there are %d process sets", n, count);
    int err = weft_check_output(pset_len, "pset_len");
    if (err == MPI_SUCCESS && *pset_len < 0)
        err = weft_fail(MPI_ERR_ARG, "pset_len is %d, but must be at least 0", *pset_len);
    if (err == MPI_SUCCESS && *pset_len > 0)
        err = weft_check_output(pset_name, "pset_name");
    return err;
}

/** Gives the name of a process set (section 11.3.3). Numbers and names stay the same as long as the
 *  process lives.
 *  @param[in] info  MPI_INFO_NULL, or any info: Weft knows no key
 *  @param[in] n  which one, from 0 to one less than MPI_Session_get_num_psets gives
 *  @param[in,out] pset_len  the room in pset_name; 0: only the length is asked for. Becomes the
 *      length of the whole name with its final 0
 *  @param[out] pset_name  as much of the name as there is room for, with a final 0; NULL is allowed
 *      if *pset_len is 0
 *  @error MPI_ERR_ARG  there is no such set, or *pset_len is negative
 *  @see MPI_Session_get_num_psets, MPI_Session_get_pset_info */
WEFT_API(MPI_Session_get_nth_pset);
int PMPI_Session_get_nth_pset(MPI_Session handle, MPI_Info info, int n, int *pset_len,
                              char *pset_name)
{
    weft_session_call_t call = weft_session_call_begin("MPI_Session_get_nth_pset");
    int err = check_psets(&call, handle, info);
    if (err == MPI_SUCCESS)
        err = check_nth(n, pset_len, pset_name);
    if (err != MPI_SUCCESS)
        return weft_session_call_end(&call, err);
    const char *name = weft_process_set_name(n);
    if (*pset_len > 0)
        snprintf(pset_name, (size_t)*pset_len, "%s", name);
    *pset_len = (int)strlen(name) + 1;
    return weft_session_call_end(&call, MPI_SUCCESS);
}

static int find_pset(weft_session_call_t *call, MPI_Session handle, const char *pset_name,
                     int *number)
{
    weft_session_t *session;
    int err = weft_check_session(call, handle, &session);
    if (err == MPI_SUCCESS)
        err = weft_check_text(pset_name, MPI_MAX_PSET_NAME_LEN - 1, MPI_ERR_ARG, "pset_name");
    if (err == MPI_SUCCESS)
        *number = weft_process_set_find(pset_name);
    return err;
}

static int describe_pset(int number, weft_info_t **out)
{
    char size[16];
    weft_info_t *info = NULL;
    snprintf(size, sizeof(size), "%d", weft_process_set_size(number));
    int err = weft_info_create(&info);
    if (err == MPI_SUCCESS)
        err = weft_info_set(info, "mpi_size", size);
    if (err == MPI_SUCCESS)
        *out = info;
    else
        weft_info_release(info);
    return err;
}

/** Gives an info about a process set; its key mpi_size says how many processes the set has
 *  (section 11.3.3).
 *  @param[in] pset_name  its name; the scheme, and what follows it up to the next slash, are
 *      compared without regard to case
 *  @error MPI_ERR_ARG  this process is a member of no set with this name, or the name is longer
 *      than MPI_MAX_PSET_NAME_LEN allows
 *  @see MPI_Session_get_nth_pset */
WEFT_API(MPI_Session_get_pset_info);
int PMPI_Session_get_pset_info(MPI_Session handle, const char *pset_name, MPI_Info *info_handle)
{
    weft_session_call_t call = weft_session_call_begin("MPI_Session_get_pset_info");
    weft_info_t *info;
    int number;
    int err = find_pset(&call, handle, pset_name, &number);
    if (err == MPI_SUCCESS)
        err = weft_check_output(info_handle, "info");
    if (err == MPI_SUCCESS && number < 0)
        err = weft_fail(MPI_ERR_ARG, "pset_name is \"%s\", which is no process set of this process",
                        pset_name);
    if (err == MPI_SUCCESS)
        err = describe_pset(number, &info);
    if (err == MPI_SUCCESS)
        *info_handle = weft_info_handle(info);
    return weft_session_call_end(&call, err);
}

/** Makes a group of the processes of a process set (section 7.3.2). The call is local.
 *  @param[in] pset_name  its name; the scheme, and what follows it up to the next slash, are
 *      compared without regard to case
 *  @param[out] newgroup  the new group, to be freed with MPI_Group_free; MPI_GROUP_NULL, without an
 *      error, if this process is a member of no set with this name
 *  @error MPI_ERR_ARG  the name is longer than MPI_MAX_PSET_NAME_LEN allows
 *  @see MPI_Comm_create_from_group, MPI_Session_get_nth_pset */
WEFT_API(MPI_Group_from_session_pset);
int PMPI_Group_from_session_pset(MPI_Session handle, const char *pset_name, MPI_Group *newgroup)
{
    weft_session_call_t call = weft_session_call_begin("MPI_Group_from_session_pset");
    weft_group_t *group;
    int number;
    int err = find_pset(&call, handle, pset_name, &number);
    if (err == MPI_SUCCESS)
        err = weft_check_output(newgroup, "newgroup");
    if (err == MPI_SUCCESS && number < 0) {
        *newgroup = MPI_GROUP_NULL;
        return weft_session_call_end(&call, MPI_SUCCESS);
    }
    if (err == MPI_SUCCESS)
        err = weft_process_set_group(number, call.session, &group);
    if (err == MPI_SUCCESS)
        *newgroup = weft_give_group("MPI_Group_from_session_pset", group);
    return weft_session_call_end(&call, err);
}

/* ---- communicators ---- */

typedef struct from_group_args {
    const char *function;
    const char *group_name, *newcomm_name; /* what the standard calls them; for messages */
    weft_group_t *group;
    const char *name;
    weft_info_t *info;
    weft_errhandler_t *handler;
} from_group_args_t;

static int check_from_group(from_group_args_t *args, MPI_Group group, MPI_Info info,
                            const MPI_Comm *newcomm)
{
    int err = weft_check_group(group, args->group_name, &args->group);
    if (err == MPI_SUCCESS)
        err = weft_check_text(args->name, MPI_MAX_STRINGTAG_LEN - 1, MPI_ERR_ARG, "stringtag");
    if (err == MPI_SUCCESS)
        err = weft_check_info(info, &args->info);
    if (err == MPI_SUCCESS)
        err = weft_check_output(newcomm, args->newcomm_name);
    if (err == MPI_SUCCESS && args->group->size > 0 && args->group->rank == MPI_UNDEFINED)
        err = weft_fail(MPI_ERR_GROUP, "this process is not a member of %s", args->group_name);
    return err;
}

/* Give the new communicator what the arguments say. */
static int finish_from_group(const from_group_args_t *args, weft_comm_t *comm, MPI_Comm *newcomm)
{
    weft_comm_set_errhandler(comm, args->handler);
    int err = weft_comm_set_hints(comm, args->info);
    if (err == MPI_SUCCESS)
        *newcomm = weft_give_comm(args->function, comm);
    else
        weft_comm_release(comm);
    return err;
}

static int make_from_group(const from_group_args_t *args, MPI_Comm *newcomm)
{
    weft_comm_t *comm;
    if (args->group->size == 0) {
        *newcomm = MPI_COMM_NULL;
        return MPI_SUCCESS;
    }
    int err = weft_comm_create_named(args->group, args->name, &comm);
    return err == MPI_SUCCESS ? finish_from_group(args, comm, newcomm) : err;
}

/** Makes a communicator of the processes of a group, without a communicator that they have already
 *  (section 7.4.2). Collective over the group: all members call it with groups of the same
 *  processes in the same order.
 *  @param[in] stringtag  the same at all members, at most MPI_MAX_STRINGTAG_LEN - 1 letters; tells
 *      calls apart that run at the same time
 *  @param[in] info  hints for the new communicator, as for MPI_Comm_set_info
 *  @param[in] errhandler  of the new communicator; errors of this call go there too
 *  @param[out] newcomm  MPI_COMM_NULL if the group is empty
 *  @error MPI_ERR_GROUP  this process is not a member of group
 *  @error MPI_ERR_ARG  stringtag is too long
 *  @see MPI_Group_from_session_pset, MPI_Intercomm_create_from_groups, MPI_Comm_create_group */
WEFT_API(MPI_Comm_create_from_group);
int PMPI_Comm_create_from_group(MPI_Group group, const char *stringtag, MPI_Info info,
                                MPI_Errhandler errhandler, MPI_Comm *newcomm)
{
    weft_call_t call = weft_call_begin("MPI_Comm_create_from_group");
    from_group_args_t args = {
        .function = call.name, .name = stringtag, .group_name = "group", .newcomm_name = "newcomm"};
    int err = weft_check_errhandler_of(errhandler, WEFT_KIND_COMM, &args.handler);
    if (err != MPI_SUCCESS)
        return weft_call_end(&call, err);
    err = check_from_group(&args, group, info, newcomm);
    if (err == MPI_SUCCESS)
        err = make_from_group(&args, newcomm);
    return weft_call_end_for(&call, args.handler, err);
}

/* The remote group matters at the leader alone. */
static int check_remote_leader(MPI_Group handle, int remote_leader, weft_leader_t *out)
{
    weft_group_t *remote;
    int err = weft_check_group(handle, "remote_group", &remote);
    if (err == MPI_SUCCESS && (remote_leader < 0 || remote_leader >= remote->size))
        err = weft_fail(MPI_ERR_RANK, "remote_leader is %d, but remote_group has ranks 0 to %d",
                        remote_leader, remote->size - 1);
    if (err == MPI_SUCCESS)
        out->remote_leader = weft_group_process(remote, remote_leader);
    return err;
}

static int make_inter_from_groups(const from_group_args_t *args, int local_leader,
                                  weft_leader_t *leader, MPI_Comm *newintercomm)
{
    weft_comm_t *inter;
    int err = weft_intercomm_create_named(args->group, local_leader, args->name, leader, &inter);
    return err == MPI_SUCCESS ? finish_from_group(args, inter, newintercomm) : err;
}

static int check_local_leader(const weft_group_t *group, int local_leader)
{
    if (local_leader >= 0 && local_leader < group->size)
        return MPI_SUCCESS;
    return weft_fail(MPI_ERR_RANK, "local_leader is %d, but local_group has %d ranks", local_leader,
                     group->size);
}

/** Makes an intercommunicator of two groups, without a communicator that they have already
 *  (section 7.6.2). Collective over both groups, which must have no process in common.
 *  @param[in] local_leader  a rank of local_group, the same at all its members
 *  @param[in] remote_group  looked at by the leader alone
 *  @param[in] remote_leader  the rank of the other leader in remote_group; looked at by the leader
 *      alone
 *  @param[in] stringtag  the same at all members of both groups, at most MPI_MAX_STRINGTAG_LEN - 1
 *      letters; tells calls apart that run at the same time
 *  @param[in] info  hints for the new communicator, as for MPI_Comm_set_info
 *  @param[in] errhandler  of the new communicator; errors of this call go there too
 *  @error MPI_ERR_GROUP  this process is not a member of local_group, or the groups have a process
 *      in common
 *  @error MPI_ERR_ARG  stringtag is too long
 *  @note If the arguments of a leader are wrong, the call fails at all members of its group.
 *  @see MPI_Comm_create_from_group, MPI_Intercomm_create */
WEFT_API(MPI_Intercomm_create_from_groups);
int PMPI_Intercomm_create_from_groups(MPI_Group local_group, int local_leader,
                                      MPI_Group remote_group, int remote_leader,
                                      const char *stringtag, MPI_Info info,
                                      MPI_Errhandler errhandler, MPI_Comm *newintercomm)
{
    weft_call_t call = weft_call_begin("MPI_Intercomm_create_from_groups");
    from_group_args_t args = {.function = call.name,
                              .name = stringtag,
                              .group_name = "local_group",
                              .newcomm_name = "newintercomm"};
    weft_leader_t leader, *own = NULL;
    int err = weft_check_errhandler_of(errhandler, WEFT_KIND_COMM, &args.handler);
    if (err != MPI_SUCCESS)
        return weft_call_end(&call, err);
    err = check_from_group(&args, local_group, info, newintercomm);
    if (err == MPI_SUCCESS)
        err = check_local_leader(args.group, local_leader);
    if (err == MPI_SUCCESS && args.group->rank == local_leader) {
        own = &leader;
        /* With wrong arguments it takes part all the same, since its group waits for it. */
        leader.error = check_remote_leader(remote_group, remote_leader, &leader);
    }
    if (err == MPI_SUCCESS)
        err = make_inter_from_groups(&args, local_leader, own, newintercomm);
    return weft_call_end_for(&call, args.handler, err);
}
