/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks of arguments: the only place where an MPI handle becomes an object. Each returns an error
 * class with a text that names the argument, its value and what was expected. The quick test of
 * each is inline; the explanation of a failure is not.
 */
#ifndef WEFT_MPI_CHECK_H
#define WEFT_MPI_CHECK_H

#include "mpi/call.h"
#include "pt2pt/pt2pt.h"
#include "datatype/op.h"
#include "datatype/type.h"
#include "object/comm.h"
#include "object/group.h"
#include "object/info.h"
#include "base/config.h"

int weft_bad_comm(MPI_Comm handle, const char *name) __attribute__((cold));
int weft_bad_session(MPI_Session handle) __attribute__((cold));
int weft_bad_message(MPI_Message handle) __attribute__((cold));
int weft_bad_type(MPI_Datatype handle, const char *name) __attribute__((cold));
int weft_bad_count(MPI_Count count, const char *name) __attribute__((cold));
int weft_bad_rank(const weft_comm_t *comm, int rank, const char *name) __attribute__((cold));
int weft_bad_tag(int tag, const char *name) __attribute__((cold));
int weft_bad_buffer(const void *buf, const char *name) __attribute__((cold));
/** MPI_IN_PLACE where it is not allowed: MPI_ERR_BUFFER. */
int weft_bad_in_place(const char *name) __attribute__((cold));
int weft_bad_output(const char *name) __attribute__((cold));
int weft_bad_size(MPI_Count count, const weft_type_t *type) __attribute__((cold));
/** The type is not committed, or its data overlap and nothing can be received with it:
 * MPI_ERR_TYPE, or MPI_SUCCESS if it is committed and there are no elements of it. */
int weft_unusable_type(const weft_type_t *type, MPI_Count count, const char *name)
    __attribute__((cold));

/** "MPI_COMM_WORLD", or the name that the user gave, or "the communicator". */
const char *weft_comm_label(const weft_comm_t *comm);

/** Also sets call->comm, so that later errors go to this communicator's handler. */
static inline int weft_check_named_comm(weft_call_t *call, MPI_Comm handle, const char *name,
                                        weft_comm_t **out)
{
    weft_comm_t *comm = weft_comm_of(handle);
    *out = comm; /* also when NULL: compilers do not see that weft_bad_comm() fails */
    if (__builtin_expect(comm == NULL, 0))
        return weft_bad_comm(handle, name);
    call->comm = comm;
    return MPI_SUCCESS;
}

static inline int weft_check_comm(weft_call_t *call, MPI_Comm handle, weft_comm_t **out)
{
    return weft_check_named_comm(call, handle, "comm", out);
}

/** MPIX_ERR_REVOKED: no communication is possible on it. */
static inline int weft_check_revoked(const weft_comm_t *comm)
{
    return __builtin_expect(weft_world.is_watchful, 0) ? weft_pt2pt_look(comm) : MPI_SUCCESS;
}

/** As weft_check_comm, for calls that communicate. */
static inline int weft_check_live_comm(weft_call_t *call, MPI_Comm handle, weft_comm_t **out)
{
    int err = weft_check_comm(call, handle, out);
    return __builtin_expect(err == MPI_SUCCESS, 1) ? weft_check_revoked(*out) : err;
}

int weft_check_group(MPI_Group handle, const char *name, weft_group_t **out);
/** MPI_INFO_NULL gives NULL. */
int weft_check_info(MPI_Info handle, weft_info_t **out);
/** MPI_INFO_NULL and MPI_INFO_ENV are errors: the info is to be changed. */
int weft_check_own_info(MPI_Info handle, weft_info_t **out);
int weft_check_errhandler(MPI_Errhandler handle, weft_errhandler_t **out);
/** As weft_check_errhandler, for one that is to be attached to an object of this kind. */
int weft_check_errhandler_of(MPI_Errhandler handle, weft_kind_t kind, weft_errhandler_t **out);
int weft_check_op(MPI_Op handle, weft_op_t **out);
int weft_check_request(MPI_Request handle, weft_request_t **out);
/** "array_of_requests[3]": an entry of an array, for messages. */
typedef struct weft_entry_name {
    char text[40];
} weft_entry_name_t;

weft_entry_name_t weft_entry_name(const char *array, int index);
/** As weft_check_request, for an entry of an array. */
int weft_check_request_at(const MPI_Request handles[], int index, const char *name,
                          weft_request_t **out);

static inline int weft_check_named_type(MPI_Datatype handle, const char *name, weft_type_t **out)
{
    weft_type_t *type = weft_type_of(handle);
    *out = type;
    if (__builtin_expect(type == NULL, 0))
        return weft_bad_type(handle, name);
    return MPI_SUCCESS;
}

static inline int weft_check_type(MPI_Datatype handle, weft_type_t **out)
{
    return weft_check_named_type(handle, "datatype", out);
}

static inline int weft_check_committed_type(MPI_Datatype handle, const char *name,
                                            weft_type_t **out)
{
    int err = weft_check_named_type(handle, name, out);
    if (__builtin_expect(err == MPI_SUCCESS && !(*out)->is_committed, 0))
        return weft_unusable_type(*out, 1, name);
    return err;
}

/** The type of `count` elements that are received. */
static inline int weft_check_receiving_type(MPI_Datatype handle, MPI_Count count, const char *name,
                                            weft_type_t **out)
{
    int err = weft_check_named_type(handle, name, out);
    if (__builtin_expect(err == MPI_SUCCESS && !(*out)->can_receive, 0))
        return weft_unusable_type(*out, count, name);
    return err;
}

static inline int weft_check_count(MPI_Count count, const char *name)
{
    return __builtin_expect(count < 0, 0) ? weft_bad_count(count, name) : MPI_SUCCESS;
}

/** A pointer that the function writes to. */
static inline int weft_check_output(const void *pointer, const char *name)
{
    return __builtin_expect(pointer == NULL, 0) ? weft_bad_output(name) : MPI_SUCCESS;
}

/** A pointer that the function reads from. */
int weft_check_input(const void *pointer, const char *name);

/** A user's string of at most `most` letters: `error_class` otherwise. */
int weft_check_text(const char *text, size_t most, int error_class, const char *name);

/** MPI_BOTTOM or MPI_IN_PLACE where there are data. The former is right where the type has
 * addresses. */
int weft_check_odd_buffer(const void *buf, const weft_type_t *type, const char *name)
    __attribute__((cold));

static inline bool weft_is_odd_buffer(const void *buf)
{
    return (uintptr_t)buf <= (uintptr_t)MPI_IN_PLACE; /* MPI_BOTTOM is 0 */
}

/** A buffer of `count` elements, whose bytes can be counted; not MPI_IN_PLACE. */
static inline int weft_check_buffer(const void *buf, MPI_Count count, const weft_type_t *type,
                                    const char *name)
{
    MPI_Count bytes;
    if (__builtin_expect(__builtin_mul_overflow(count, (MPI_Count)type->size, &bytes), 0))
        return weft_bad_size(count, type);
    bool is_odd = weft_is_odd_buffer(buf) && bytes > 0;
    return __builtin_expect(is_odd, 0) ? weft_check_odd_buffer(buf, type, name) : MPI_SUCCESS;
}

/** A rank of `comm`, or MPI_PROC_NULL, or MPI_ANY_SOURCE if that is allowed. */
static inline int weft_check_rank(const weft_comm_t *comm, int rank, bool any_is_allowed,
                                  const char *name)
{
    if (__builtin_expect((unsigned)rank < (unsigned)comm->size, 1) || rank == MPI_PROC_NULL ||
        (any_is_allowed && rank == MPI_ANY_SOURCE))
        return MPI_SUCCESS;
    return weft_bad_rank(comm, rank, name);
}

/** Not an intercommunicator. */
int weft_check_intra(const weft_comm_t *comm);

static inline int weft_check_intracomm(weft_call_t *call, MPI_Comm handle, const char *name,
                                       weft_comm_t **out)
{
    int err = weft_check_named_comm(call, handle, name, out);
    return err == MPI_SUCCESS ? weft_check_intra(*out) : err;
}

/** A tag, or MPI_ANY_TAG if that is allowed. */
static inline int weft_check_tag(int tag, bool any_is_allowed, const char *name)
{
    if (__builtin_expect(tag >= 0, 1) || (any_is_allowed && tag == MPI_ANY_TAG))
        return MPI_SUCCESS;
    return weft_bad_tag(tag, name);
}

/** A rank of `comm`: MPI_ERR_ROOT otherwise. */
int weft_check_root(const weft_comm_t *comm, int root);

#endif
