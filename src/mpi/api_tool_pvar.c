/* SPDX-License-Identifier: BSD-3-Clause */
/* Performance variables (MPI 5.0 section 15.3.7). */
#include "mpi/api.h"

#include "mpi/tool_call.h"
#include "tool/pvar.h"

#include <string.h>

/** How many performance variables there are (section 15.3.7). */
WEFT_API(MPI_T_pvar_get_num);
int PMPI_T_pvar_get_num(int *num_pvar)
{
    int err = weft_tool_begin("MPI_T_pvar_get_num");
    if (err == MPI_SUCCESS)
        err = weft_tool_check_pointer(num_pvar, "num_pvar");
    if (err == MPI_SUCCESS)
        *num_pvar = weft_pvar_count();
    return weft_tool_end(err);
}

static int check_pvar(int index, weft_tool_text_t name, weft_tool_text_t help)
{
    int err = weft_tool_check_index(index, weft_pvar_count(), "pvar_index");
    if (err == MPI_SUCCESS)
        err = weft_tool_check_text(name, "name_len");
    return err == MPI_SUCCESS ? weft_tool_check_text(help, "desc_len") : err;
}

/** What a performance variable is (section 15.3.7). Any output may be NULL.
 *  @param[out] var_class  MPI_T_PVAR_CLASS_COUNTER and so on
 *  @param[out] datatype  MPI_UNSIGNED_LONG_LONG, MPI_DOUBLE, or MPI_INT for a state
 *  @param[out] enumtype  the names of the states; MPI_T_ENUM_NULL if it has none
 *  @param[out] bind  MPI_T_BIND_NO_OBJECT, or MPI_T_BIND_MPI_COMM
 *  @param[out] readonly  1: it cannot be written or reset
 *  @param[out] continuous  1: it always runs, and is neither started nor stopped
 *  @param[out] atomic  1: MPI_T_pvar_readreset works
 *  @error MPI_T_ERR_INVALID_INDEX  there is no variable of this index */
WEFT_API(MPI_T_pvar_get_info);
int PMPI_T_pvar_get_info(int pvar_index, char *name, int *name_len, int *verbosity, int *var_class,
                         MPI_Datatype *datatype, MPI_T_enum *enumtype, char *desc, int *desc_len,
                         int *bind, int *readonly, int *continuous, int *atomic)
{
    weft_tool_text_t name_text = {name, name_len}, help_text = {desc, desc_len};
    int err = weft_tool_begin("MPI_T_pvar_get_info");
    if (err == MPI_SUCCESS)
        err = check_pvar(pvar_index, name_text, help_text);
    if (err != MPI_SUCCESS)
        return weft_tool_end(err);
    const weft_pvar_t *pvar = weft_pvar(pvar_index);
    weft_tool_give_text(name_text, pvar->name);
    weft_tool_give_text(help_text, pvar->help);
    weft_tool_give_int(verbosity, pvar->verbosity);
    weft_tool_give_int(var_class, pvar->pvar_class);
    weft_tool_give_int(bind, pvar->is_of_comm ? MPI_T_BIND_MPI_COMM : MPI_T_BIND_NO_OBJECT);
    weft_tool_give_int(readonly, weft_pvar_is_continuous(pvar));
    weft_tool_give_int(continuous, weft_pvar_is_continuous(pvar));
    weft_tool_give_int(atomic, !weft_pvar_is_continuous(pvar));
    if (datatype != NULL)
        *datatype = pvar->type;
    if (enumtype != NULL)
        *enumtype = weft_enum_handle(pvar->items);
    return weft_tool_end(MPI_SUCCESS);
}

/** The index of the performance variable of a name and a class (section 15.3.7).
 *  @param[in] var_class  MPI_T_PVAR_CLASS_COUNTER and so on
 *  @error MPI_T_ERR_INVALID_NAME  there is none
 *  @error MPI_T_ERR_INVALID  name or pvar_index is NULL */
WEFT_API(MPI_T_pvar_get_index);
int PMPI_T_pvar_get_index(const char *name, int var_class, int *pvar_index)
{
    int found = 0, err = weft_tool_begin("MPI_T_pvar_get_index");
    if (err == MPI_SUCCESS)
        err = weft_tool_check_pointer(name, "name");
    if (err == MPI_SUCCESS)
        err = weft_tool_check_pointer(pvar_index, "pvar_index");
    while (err == MPI_SUCCESS && found < weft_pvar_count() &&
           (weft_pvar(found)->pvar_class != var_class || strcmp(weft_pvar(found)->name, name) != 0))
        found++;
    if (err == MPI_SUCCESS && found == weft_pvar_count())
        err = weft_tool_fail(MPI_T_ERR_INVALID_NAME,
                             "there is no performance variable %s of class %d", name, var_class);
    if (err == MPI_SUCCESS)
        *pvar_index = found;
    return weft_tool_end(err);
}

/* ---- sessions ---- */

static int check_session(MPI_T_pvar_session handle, weft_pvar_session_t **out)
{
    *out = weft_pvar_session_of(handle);
    if (*out != NULL)
        return MPI_SUCCESS;
    return weft_tool_fail(MPI_T_ERR_INVALID_SESSION, "session is none");
}

/** Begin a session: handles of performance variables belong to one, so that several tools do not
 *  disturb each other (section 15.3.7).
 *  @error MPI_T_ERR_INVALID  session is NULL
 *  @error MPI_T_ERR_OUT_OF_SESSIONS  there is no memory for more
 *  @see MPI_T_pvar_session_free */
WEFT_API(MPI_T_pvar_session_create);
int PMPI_T_pvar_session_create(MPI_T_pvar_session *session)
{
    weft_pvar_session_t *made;
    int err = weft_tool_begin("MPI_T_pvar_session_create");
    if (err == MPI_SUCCESS)
        err = weft_tool_check_pointer(session, "session");
    if (err == MPI_SUCCESS)
        err = weft_pvar_session_create(&made);
    if (err == MPI_SUCCESS)
        *session = (MPI_T_pvar_session)made;
    return weft_tool_end(err);
}

/** End a session, and give back all its handles (section 15.3.7).
 *  @param[in,out] session  becomes MPI_T_PVAR_SESSION_NULL
 *  @error MPI_T_ERR_INVALID_SESSION  it is none
 *  @error MPI_T_ERR_INVALID  session is NULL */
WEFT_API(MPI_T_pvar_session_free);
int PMPI_T_pvar_session_free(MPI_T_pvar_session *session)
{
    weft_pvar_session_t *found;
    int err = weft_tool_begin("MPI_T_pvar_session_free");
    if (err == MPI_SUCCESS)
        err = weft_tool_check_pointer(session, "session");
    if (err == MPI_SUCCESS)
        err = check_session(*session, &found);
    if (err == MPI_SUCCESS) {
        weft_pvar_session_free(found);
        *session = MPI_T_PVAR_SESSION_NULL;
    }
    return weft_tool_end(err);
}

/* ---- handles ---- */

static int check_new_handle(int index, const void *object, const void *handle, const int *count,
                            const void **object_out)
{
    int err = weft_tool_check_index(index, weft_pvar_count(), "pvar_index");
    if (err == MPI_SUCCESS)
        err = weft_tool_check_pointer(handle, "handle");
    if (err == MPI_SUCCESS)
        err = weft_tool_check_pointer(count, "count");
    if (err == MPI_SUCCESS)
        err = weft_tool_check_object(object, weft_pvar(index)->is_of_comm, object_out);
    return err;
}

/** Get a handle of a performance variable in a session (section 15.3.7). A counter, aggregate or
 *  timer begins at 0 and a high-water mark at the level; unless it is continuous, it stands still
 *  until MPI_T_pvar_start.
 *  @param[in] obj_handle  the address of an MPI_Comm, if the variable is bound to communicators;
 *          else ignored
 *  @param[out] count  how many elements a value has: 1, or one for each rank of the communicator
 *  @error MPI_T_ERR_INVALID_SESSION  session is none
 *  @error MPI_T_ERR_INVALID_INDEX  there is no variable of this index
 *  @error MPI_T_ERR_INVALID  handle or count is NULL, or obj_handle points to no communicator
 *  @error MPI_T_ERR_OUT_OF_HANDLES  there is no memory for more
 *  @note The handle does not keep the communicator: when that is freed, reading gives
 *          MPI_T_ERR_INVALID_HANDLE.
 *  @see MPI_T_pvar_handle_free */
WEFT_API(MPI_T_pvar_handle_alloc);
int PMPI_T_pvar_handle_alloc(MPI_T_pvar_session session, int pvar_index, void *obj_handle,
                             MPI_T_pvar_handle *handle, int *count)
{
    weft_pvar_session_t *of;
    weft_pvar_handle_t *made;
    const void *object;
    int err = weft_tool_begin("MPI_T_pvar_handle_alloc");
    if (err == MPI_SUCCESS)
        err = check_session(session, &of);
    if (err == MPI_SUCCESS)
        err = check_new_handle(pvar_index, obj_handle, handle, count, &object);
    if (err == MPI_SUCCESS)
        err = weft_pvar_handle_create(of, weft_pvar(pvar_index), object, &made);
    if (err == MPI_SUCCESS) {
        *handle = (MPI_T_pvar_handle)made;
        *count = weft_pvar_elements(made);
    }
    return weft_tool_end(err);
}

static int check_session_handle(MPI_T_pvar_session session, MPI_T_pvar_handle handle,
                                weft_pvar_handle_t **out)
{
    weft_pvar_session_t *of;
    int err = check_session(session, &of);
    if (err != MPI_SUCCESS)
        return err;
    *out = weft_pvar_handle_of(of, handle);
    if (*out != NULL)
        return MPI_SUCCESS;
    return weft_tool_fail(MPI_T_ERR_INVALID_HANDLE,
                          handle == MPI_T_PVAR_ALL_HANDLES
                              ? "handle is MPI_T_PVAR_ALL_HANDLES, which is not allowed here"
                              : "handle is none of this session");
}

/** Give a handle of a performance variable back (section 15.3.7).
 *  @param[in,out] handle  becomes MPI_T_PVAR_HANDLE_NULL
 *  @error MPI_T_ERR_INVALID_SESSION  session is none
 *  @error MPI_T_ERR_INVALID_HANDLE  it is none of this session, or MPI_T_PVAR_ALL_HANDLES
 *  @error MPI_T_ERR_INVALID  handle is NULL */
WEFT_API(MPI_T_pvar_handle_free);
int PMPI_T_pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle *handle)
{
    weft_pvar_handle_t *found;
    int err = weft_tool_begin("MPI_T_pvar_handle_free");
    if (err == MPI_SUCCESS)
        err = weft_tool_check_pointer(handle, "handle");
    if (err == MPI_SUCCESS)
        err = check_session_handle(session, *handle, &found);
    if (err == MPI_SUCCESS) {
        weft_pvar_handle_free(found);
        *handle = MPI_T_PVAR_HANDLE_NULL;
    }
    return weft_tool_end(err);
}

/* ---- what is done to a handle, or to all of a session ---- */

static int act_on_handles(const char *name, MPI_T_pvar_session session, MPI_T_pvar_handle handle,
                          weft_pvar_action_t action)
{
    weft_pvar_session_t *of;
    weft_pvar_handle_t *found;
    int err = weft_tool_begin(name);
    if (err == MPI_SUCCESS)
        err = check_session(session, &of);
    if (err == MPI_SUCCESS && handle == MPI_T_PVAR_ALL_HANDLES)
        return weft_tool_end(weft_pvar_all(of, action));
    if (err == MPI_SUCCESS)
        err = check_session_handle(session, handle, &found);
    if (err == MPI_SUCCESS)
        err = action(found);
    return weft_tool_end(err);
}

/** Start a performance variable: from now on the handle counts (section 15.3.7). A started one
 *  goes on.
 *  @param[in] handle  MPI_T_PVAR_ALL_HANDLES: all of the session that are not continuous
 *  @error MPI_T_ERR_INVALID_SESSION  session is none
 *  @error MPI_T_ERR_INVALID_HANDLE  handle is none of this session, or its communicator is gone
 *  @error MPI_T_ERR_PVAR_NO_STARTSTOP  the variable is continuous
 *  @see MPI_T_pvar_stop */
WEFT_API(MPI_T_pvar_start);
int PMPI_T_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    return act_on_handles("MPI_T_pvar_start", session, handle, weft_pvar_start);
}

/** Stop a performance variable: the handle keeps its value (section 15.3.7).
 *  @copydoc MPI_T_pvar_start
 *  @see MPI_T_pvar_start */
WEFT_API(MPI_T_pvar_stop);
int PMPI_T_pvar_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    return act_on_handles("MPI_T_pvar_stop", session, handle, weft_pvar_stop);
}

/** Set a performance variable back to where it began: 0, or, of a high-water mark, the level
 *  (section 15.3.7). Only this handle changes.
 *  @param[in] handle  MPI_T_PVAR_ALL_HANDLES: all of the session that are not readonly
 *  @error MPI_T_ERR_INVALID_SESSION  session is none
 *  @error MPI_T_ERR_INVALID_HANDLE  handle is none of this session, or its communicator is gone
 *  @error MPI_T_ERR_PVAR_NO_WRITE  the variable is readonly
 *  @see MPI_T_pvar_readreset */
WEFT_API(MPI_T_pvar_reset);
int PMPI_T_pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    return act_on_handles("MPI_T_pvar_reset", session, handle, weft_pvar_reset);
}

/* ---- values ---- */

static int check_value(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void *buf,
                       weft_pvar_handle_t **out)
{
    int err = check_session_handle(session, handle, out);
    return err == MPI_SUCCESS ? weft_tool_check_pointer(buf, "buf") : err;
}

/** Read a performance variable (section 15.3.7).
 *  @param[in] handle  not MPI_T_PVAR_ALL_HANDLES
 *  @param[out] buf  room for as many elements as MPI_T_pvar_handle_alloc has said
 *  @error MPI_T_ERR_INVALID_SESSION  session is none
 *  @error MPI_T_ERR_INVALID_HANDLE  handle is none of this session, or its communicator is gone
 *  @error MPI_T_ERR_INVALID  buf is NULL */
WEFT_API(MPI_T_pvar_read);
int PMPI_T_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf)
{
    weft_pvar_handle_t *found;
    int err = weft_tool_begin("MPI_T_pvar_read");
    if (err == MPI_SUCCESS)
        err = check_value(session, handle, buf, &found);
    if (err == MPI_SUCCESS)
        err = weft_pvar_read(found, buf);
    return weft_tool_end(err);
}

/** Give a performance variable a value, from which this handle goes on (section 15.3.7).
 *  @param[in] handle  not MPI_T_PVAR_ALL_HANDLES
 *  @param[in] buf  as many elements as MPI_T_pvar_handle_alloc has said
 *  @error MPI_T_ERR_INVALID_SESSION  session is none
 *  @error MPI_T_ERR_INVALID_HANDLE  handle is none of this session, or its communicator is gone
 *  @error MPI_T_ERR_INVALID  buf is NULL
 *  @error MPI_T_ERR_PVAR_NO_WRITE  the variable is readonly */
WEFT_API(MPI_T_pvar_write);
int PMPI_T_pvar_write(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void *buf)
{
    weft_pvar_handle_t *found;
    int err = weft_tool_begin("MPI_T_pvar_write");
    if (err == MPI_SUCCESS)
        err = check_value(session, handle, buf, &found);
    if (err == MPI_SUCCESS)
        err = weft_pvar_write(found, buf);
    return weft_tool_end(err);
}

/** Read a performance variable and reset it, with nothing lost in between (section 15.3.7).
 *  @copydoc MPI_T_pvar_read
 *  @error MPI_T_ERR_PVAR_NO_ATOMIC  the variable is readonly
 *  @see MPI_T_pvar_reset */
WEFT_API(MPI_T_pvar_readreset);
int PMPI_T_pvar_readreset(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf)
{
    weft_pvar_handle_t *found;
    int err = weft_tool_begin("MPI_T_pvar_readreset");
    if (err == MPI_SUCCESS)
        err = check_value(session, handle, buf, &found);
    if (err == MPI_SUCCESS)
        err = weft_pvar_readreset(found, buf);
    return weft_tool_end(err);
}
