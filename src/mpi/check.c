/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/check.h"

#include "object/info_env.h"
#include "base/fail.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *weft_comm_label(const weft_comm_t *comm)
{
    return comm->name[0] == '\0' ? "the communicator" : comm->name;
}

/* Tell what is wrong with a handle that names no live object. */
static int bad_handle(int error_class, const void *handle, const void *null, const char *name,
                      const char *kind)
{
    if (handle == null)
        return weft_fail(error_class, "%s is MPI_%s_NULL", name, kind);
    if (weft_is_predefined(handle))
        return weft_fail(error_class, "%s is 0x%" PRIxPTR ", which is no MPI_%s handle", name,
                         (uintptr_t)handle, kind);
    return weft_fail(error_class, "%s is a handle that was freed, or no MPI_%s handle at all", name,
                     kind);
}

int weft_bad_comm(MPI_Comm handle, const char *name)
{
    if (handle == MPI_COMM_WORLD || handle == MPI_COMM_SELF) /* a session is open */
        return weft_fail(MPI_ERR_COMM, "%s is %s, which exists from MPI_Init to MPI_Finalize", name,
                         handle == MPI_COMM_WORLD ? "MPI_COMM_WORLD" : "MPI_COMM_SELF");
    return bad_handle(MPI_ERR_COMM, handle, MPI_COMM_NULL, name, "COMM");
}

int weft_bad_type(MPI_Datatype handle, const char *name)
{
    return bad_handle(MPI_ERR_TYPE, handle, MPI_DATATYPE_NULL, name, "DATATYPE");
}

int weft_bad_message(MPI_Message handle)
{
    if (handle == MPI_MESSAGE_NULL || weft_is_predefined(handle))
        return bad_handle(MPI_ERR_REQUEST, handle, MPI_MESSAGE_NULL, "message", "MESSAGE");
    return weft_fail(MPI_ERR_REQUEST, "message was received already, or is no MPI_Message at all");
}

int weft_unusable_type(const weft_type_t *type, MPI_Count count, const char *name)
{
    if (type->is_committed && count == 0)
        return MPI_SUCCESS;
    if (type->is_committed)
        return weft_fail(MPI_ERR_TYPE, "%s has overlapping entries, so it cannot be received with",
                         name);
    return weft_fail(MPI_ERR_TYPE, "%s has not been committed (MPI_Type_commit)", name);
}

int weft_bad_count(MPI_Count count, const char *name)
{
    return weft_fail(MPI_ERR_COUNT, "%s is %lld, but must be at least 0", name, (long long)count);
}

int weft_bad_rank(const weft_comm_t *comm, int rank, const char *name)
{
    return weft_fail(MPI_ERR_RANK, "%s is %d, but %s has ranks 0 to %d", name, rank,
                     weft_comm_label(comm), comm->size - 1);
}

int weft_check_intra(const weft_comm_t *comm)
{
    if (!weft_comm_is_inter(comm))
        return MPI_SUCCESS;
    return weft_fail(MPI_ERR_COMM,
                     "%s is an intercommunicator, but must be an intracommunicator here",
                     weft_comm_label(comm));
}

int weft_bad_tag(int tag, const char *name)
{
    return weft_fail(MPI_ERR_TAG, "%s is %d, but must be at least 0", name, tag);
}

int weft_bad_in_place(const char *name)
{
    return weft_fail(MPI_ERR_BUFFER, "%s is MPI_IN_PLACE, which is not allowed here", name);
}

int weft_bad_buffer(const void *buf, const char *name)
{
    if (buf == MPI_IN_PLACE)
        return weft_bad_in_place(name);
    return weft_fail(MPI_ERR_BUFFER, "%s is NULL, but data are to be found there", name);
}

int weft_check_odd_buffer(const void *buf, const weft_type_t *type, const char *name)
{
    return buf == MPI_BOTTOM && !type->is_predefined ? MPI_SUCCESS : weft_bad_buffer(buf, name);
}

int weft_bad_output(const char *name)
{
    return weft_fail(MPI_ERR_ARG, "%s is NULL, but a result is to be stored there", name);
}

int weft_bad_size(MPI_Count count, const weft_type_t *type)
{
    return weft_fail(MPI_ERR_COUNT, "%lld elements of %lld bytes are more than memory can hold",
                     (long long)count, (long long)type->size);
}

int weft_check_input(const void *pointer, const char *name)
{
    if (pointer != NULL)
        return MPI_SUCCESS;
    return weft_fail(MPI_ERR_ARG, "%s is NULL, but is to be read", name);
}

int weft_check_text(const char *text, size_t most, int error_class, const char *name)
{
    if (text == NULL)
        return weft_fail(error_class, "%s is NULL", name);
    size_t length = strlen(text);
    if (length <= most)
        return MPI_SUCCESS;
    return weft_fail(error_class, "%s has %zu letters, but at most %zu are allowed", name, length,
                     most);
}

int weft_check_group(MPI_Group handle, const char *name, weft_group_t **out)
{
    weft_group_t *group = weft_group_of(handle);
    if (group == NULL)
        return bad_handle(MPI_ERR_GROUP, handle, MPI_GROUP_NULL, name, "GROUP");
    *out = group;
    return MPI_SUCCESS;
}

int weft_bad_session(MPI_Session handle)
{
    return bad_handle(MPI_ERR_SESSION, handle, MPI_SESSION_NULL, "session", "SESSION");
}

int weft_check_info(MPI_Info handle, weft_info_t **out)
{
    weft_info_t *info = handle == MPI_INFO_NULL ? NULL : weft_info_of(handle);
    if (info == NULL && handle != MPI_INFO_NULL)
        return bad_handle(MPI_ERR_INFO, handle, MPI_INFO_NULL, "info", "INFO");
    *out = info;
    return MPI_SUCCESS;
}

int weft_check_own_info(MPI_Info handle, weft_info_t **out)
{
    int err = weft_check_info(handle, out);
    if (err == MPI_SUCCESS && *out == NULL)
        err = weft_fail(MPI_ERR_INFO, "info is MPI_INFO_NULL");
    if (err == MPI_SUCCESS && *out == &weft_info_env)
        err = weft_fail(MPI_ERR_INFO, "info is MPI_INFO_ENV, which can only be read");
    return err;
}

int weft_check_errhandler(MPI_Errhandler handle, weft_errhandler_t **out)
{
    weft_errhandler_t *handler = weft_errhandler_of(handle);
    if (handler == NULL)
        return bad_handle(MPI_ERR_ERRHANDLER, handle, MPI_ERRHANDLER_NULL, "errhandler",
                          "ERRHANDLER");
    *out = handler;
    return MPI_SUCCESS;
}

int weft_check_errhandler_of(MPI_Errhandler handle, weft_kind_t kind, weft_errhandler_t **out)
{
    int err = weft_check_errhandler(handle, out);
    if (err == MPI_SUCCESS && !weft_errhandler_suits(*out, kind))
        err = weft_fail(MPI_ERR_ERRHANDLER, "errhandler was not made for %s (%s)",
                        kind == WEFT_KIND_SESSION ? "sessions" : "communicators",
                        kind == WEFT_KIND_SESSION ? "MPI_Session_create_errhandler"
                                                  : "MPI_Comm_create_errhandler");
    return err;
}

int weft_check_op(MPI_Op handle, weft_op_t **out)
{
    weft_op_t *op = weft_op_of(handle);
    if (op == NULL)
        return bad_handle(MPI_ERR_OP, handle, MPI_OP_NULL, "op", "OP");
    *out = op;
    return MPI_SUCCESS;
}

static int bad_request(MPI_Request handle, const char *name)
{
    return bad_handle(MPI_ERR_REQUEST, handle, MPI_REQUEST_NULL, name, "REQUEST");
}

int weft_check_request(MPI_Request handle, weft_request_t **out)
{
    weft_request_t *request = weft_request_of(handle);
    if (request == NULL)
        return bad_request(handle, "request");
    *out = request;
    return MPI_SUCCESS;
}

weft_entry_name_t weft_entry_name(const char *array, int index)
{
    weft_entry_name_t name;
    snprintf(name.text, sizeof(name.text), "%s[%d]", array, index);
    return name;
}

int weft_check_request_at(const MPI_Request handles[], int index, const char *name,
                          weft_request_t **out)
{
    weft_request_t *request = weft_request_of(handles[index]);
    if (request == NULL)
        return bad_request(handles[index], weft_entry_name(name, index).text);
    *out = request;
    return MPI_SUCCESS;
}

int weft_check_root(const weft_comm_t *comm, int root)
{
    if (root >= 0 && root < comm->size)
        return MPI_SUCCESS;
    return weft_fail(MPI_ERR_ROOT, "root is %d, but %s has ranks 0 to %d", root,
                     weft_comm_label(comm), comm->size - 1);
}
