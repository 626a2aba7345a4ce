/* SPDX-License-Identifier: BSD-3-Clause */
/* Control variables (MPI 5.0 section 15.3.6). */
#include "mpi/api.h"

#include "mpi/tool_call.h"
#include "tool/cvar.h"
#include "runtime/world.h"

#include <string.h>

static int check_cvar(int index)
{
    return weft_tool_check_index(index, weft_cvar_count(), "cvar_index");
}

/** How many control variables there are (section 15.3.6).
 *  @note They are Weft's variables WEFT_..., as weft_info lists them. */
WEFT_API(MPI_T_cvar_get_num);
int PMPI_T_cvar_get_num(int *num_cvar)
{
    int err = weft_tool_begin("MPI_T_cvar_get_num");
    if (err == MPI_SUCCESS)
        err = weft_tool_check_pointer(num_cvar, "num_cvar");
    if (err == MPI_SUCCESS)
        *num_cvar = weft_cvar_count();
    return weft_tool_end(err);
}

/** What a control variable is (section 15.3.6). Any output may be NULL.
 *  @param[out] datatype  MPI_INT, MPI_UNSIGNED_LONG, or MPI_CHAR for a text
 *  @param[out] enumtype  the names of its values; MPI_T_ENUM_NULL if these are numbers or any text
 *  @param[out] bind  always MPI_T_BIND_NO_OBJECT
 *  @param[out] scope  MPI_T_SCOPE_CONSTANT: it cannot be written; MPI_T_SCOPE_LOCAL: by each rank
 *          as it likes; MPI_T_SCOPE_ALL_EQ: all ranks must write the same value
 *  @error MPI_T_ERR_INVALID_INDEX  there is no variable of this index */
WEFT_API(MPI_T_cvar_get_info);
int PMPI_T_cvar_get_info(int cvar_index, char *name, int *name_len, int *verbosity,
                         MPI_Datatype *datatype, MPI_T_enum *enumtype, char *desc, int *desc_len,
                         int *bind, int *scope)
{
    weft_tool_text_t name_text = {name, name_len}, help_text = {desc, desc_len};
    int err = weft_tool_begin("MPI_T_cvar_get_info");
    if (err == MPI_SUCCESS)
        err = check_cvar(cvar_index);
    if (err == MPI_SUCCESS)
        err = weft_tool_check_text(name_text, "name_len");
    if (err == MPI_SUCCESS)
        err = weft_tool_check_text(help_text, "desc_len");
    if (err != MPI_SUCCESS)
        return weft_tool_end(err);
    const weft_cvar_t *cvar = weft_cvar(cvar_index);
    weft_tool_give_text(name_text, cvar->name);
    weft_tool_give_text(help_text, cvar->help);
    weft_tool_give_int(verbosity, cvar->verbosity);
    weft_tool_give_int(bind, MPI_T_BIND_NO_OBJECT);
    weft_tool_give_int(scope, cvar->scope);
    if (datatype != NULL)
        *datatype = cvar->type;
    if (enumtype != NULL)
        *enumtype = weft_enum_handle(cvar->items);
    return weft_tool_end(MPI_SUCCESS);
}

/** The index of the control variable of a name (section 15.3.6).
 *  @param[in] name  with WEFT_ in front, as in the environment
 *  @error MPI_T_ERR_INVALID_NAME  there is none
 *  @error MPI_T_ERR_INVALID  name or cvar_index is NULL */
WEFT_API(MPI_T_cvar_get_index);
int PMPI_T_cvar_get_index(const char *name, int *cvar_index)
{
    int found = 0, err = weft_tool_begin("MPI_T_cvar_get_index");
    if (err == MPI_SUCCESS)
        err = weft_tool_check_pointer(name, "name");
    if (err == MPI_SUCCESS)
        err = weft_tool_check_pointer(cvar_index, "cvar_index");
    while (err == MPI_SUCCESS && found < weft_cvar_count() &&
           strcmp(weft_cvar(found)->name, name) != 0)
        found++;
    if (err == MPI_SUCCESS && found == weft_cvar_count())
        err = weft_tool_fail(MPI_T_ERR_INVALID_NAME, "there is no control variable %s", name);
    if (err == MPI_SUCCESS)
        *cvar_index = found;
    return weft_tool_end(err);
}

/* ---- handles ---- */

static int check_handle(MPI_T_cvar_handle handle, weft_cvar_handle_t **out)
{
    *out = weft_cvar_handle_of(handle);
    if (*out != NULL)
        return MPI_SUCCESS;
    return weft_tool_fail(MPI_T_ERR_INVALID_HANDLE, "handle is none of a control variable");
}

/** Get a handle to read and write a control variable by (section 15.3.6).
 *  @param[in] obj_handle  ignored: no variable is bound to an object
 *  @param[out] count  how many elements a value has: of a text the room that it needs, else 1
 *  @error MPI_T_ERR_INVALID_INDEX  there is no variable of this index
 *  @error MPI_T_ERR_INVALID  handle or count is NULL
 *  @error MPI_T_ERR_OUT_OF_HANDLES  there is no memory for more
 *  @see MPI_T_cvar_handle_free */
WEFT_API(MPI_T_cvar_handle_alloc);
int PMPI_T_cvar_handle_alloc(int cvar_index, void *obj_handle, MPI_T_cvar_handle *handle,
                             int *count)
{
    weft_cvar_handle_t *made;
    (void)obj_handle;
    int err = weft_tool_begin("MPI_T_cvar_handle_alloc");
    if (err == MPI_SUCCESS)
        err = check_cvar(cvar_index);
    if (err == MPI_SUCCESS)
        err = weft_tool_check_pointer(handle, "handle");
    if (err == MPI_SUCCESS)
        err = weft_tool_check_pointer(count, "count");
    if (err == MPI_SUCCESS)
        err = weft_cvar_handle_create(weft_cvar(cvar_index), &made);
    if (err == MPI_SUCCESS) {
        *handle = (MPI_T_cvar_handle)made;
        *count = weft_cvar_elements(made);
    }
    return weft_tool_end(err);
}

/** Give a handle of a control variable back (section 15.3.6).
 *  @param[in,out] handle  becomes MPI_T_CVAR_HANDLE_NULL
 *  @error MPI_T_ERR_INVALID_HANDLE  it is none
 *  @error MPI_T_ERR_INVALID  handle is NULL */
WEFT_API(MPI_T_cvar_handle_free);
int PMPI_T_cvar_handle_free(MPI_T_cvar_handle *handle)
{
    weft_cvar_handle_t *found;
    int err = weft_tool_begin("MPI_T_cvar_handle_free");
    if (err == MPI_SUCCESS)
        err = weft_tool_check_pointer(handle, "handle");
    if (err == MPI_SUCCESS)
        err = check_handle(*handle, &found);
    if (err == MPI_SUCCESS) {
        weft_cvar_handle_free(found);
        *handle = MPI_T_CVAR_HANDLE_NULL;
    }
    return weft_tool_end(err);
}

/** Read a control variable (section 15.3.6).
 *  @param[out] buf  room for as many elements as MPI_T_cvar_handle_alloc has said
 *  @error MPI_T_ERR_INVALID_HANDLE  handle is none
 *  @error MPI_T_ERR_INVALID  buf is NULL
 *  @see MPI_T_cvar_write */
WEFT_API(MPI_T_cvar_read);
int PMPI_T_cvar_read(MPI_T_cvar_handle handle, void *buf)
{
    weft_cvar_handle_t *found;
    int err = weft_tool_begin("MPI_T_cvar_read");
    if (err == MPI_SUCCESS)
        err = check_handle(handle, &found);
    if (err == MPI_SUCCESS)
        err = weft_tool_check_pointer(buf, "buf");
    if (err == MPI_SUCCESS)
        weft_cvar_read(found, buf);
    return weft_tool_end(err);
}

/** Change a control variable (section 15.3.6). Most can be changed until MPI_Init, or the first
 *  session, begins, and are then what the environment would have set; some at any time.
 *  @param[in] buf  the value: as many elements as MPI_T_cvar_handle_alloc has said, of a text up
 *          to the final 0
 *  @error MPI_T_ERR_INVALID_HANDLE  handle is none
 *  @error MPI_T_ERR_INVALID  buf is NULL, or the variable cannot take this value
 *  @error MPI_T_ERR_CVAR_SET_NOT_NOW  the library has started, and has read the variable
 *  @error MPI_T_ERR_CVAR_SET_NEVER  it is one of mpirun's
 *  @see MPI_T_cvar_read */
WEFT_API(MPI_T_cvar_write);
int PMPI_T_cvar_write(MPI_T_cvar_handle handle, const void *buf)
{
    weft_cvar_handle_t *found;
    int err = weft_tool_begin("MPI_T_cvar_write");
    if (err == MPI_SUCCESS)
        err = check_handle(handle, &found);
    if (err == MPI_SUCCESS)
        err = weft_tool_check_pointer(buf, "buf");
    if (err == MPI_SUCCESS)
        err = weft_cvar_write(found, weft_world.stage != WEFT_BEFORE_INIT, buf);
    return weft_tool_end(err);
}
