/* SPDX-License-Identifier: BSD-3-Clause */
/* Registrations for events and their callbacks (MPI 5.0 section 15.3.8). */
#include "mpi/api.h"

#include "mpi/tool_call.h"
#include "object/info.h"

static int check_registration(MPI_T_event_registration handle, weft_registration_handle_t **out)
{
    *out = weft_registration_of(handle);
    if (*out != NULL)
        return MPI_SUCCESS;
    return weft_tool_fail(MPI_T_ERR_INVALID_HANDLE, "event_registration is none");
}

static int check_hints(MPI_Info info)
{
    if (info == MPI_INFO_NULL || weft_info_of(info) != NULL)
        return MPI_SUCCESS;
    return weft_tool_fail(MPI_T_ERR_INVALID, "info is no info");
}

static int check_safety(MPI_T_cb_safety safety, int *level_out)
{
    *level_out = weft_safety_level(safety);
    if (*level_out >= 0)
        return MPI_SUCCESS;
    return weft_tool_fail(MPI_T_ERR_INVALID, "cb_safety is %d, which is no level of safety",
                          (int)safety);
}

static int give_hints(MPI_Info *out)
{
    weft_info_t *info;
    int err = weft_tool_check_pointer(out, "info_used");
    if (err != MPI_SUCCESS)
        return err;
    if (weft_info_create(&info) != MPI_SUCCESS)
        return weft_tool_fail(MPI_T_ERR_MEMORY, "no memory for an info");
    *out = weft_info_handle(info);
    return MPI_SUCCESS;
}

/* ---- registrations ---- */

/** Get a registration for a type of event (section 15.3.8). No callback is called before
 *  MPI_T_event_register_callback.
 *  @param[in] obj_handle  the address of an MPI_Comm, if the type is bound to communicators; else
 *          ignored
 *  @param[in] info  MPI_INFO_NULL, or hints; Weft knows none
 *  @error MPI_T_ERR_INVALID_INDEX  there is no type of event of this index
 *  @error MPI_T_ERR_INVALID  event_registration is NULL, obj_handle points to no communicator, or
 *          info is none
 *  @error MPI_T_ERR_OUT_OF_HANDLES  there is no memory for more
 *  @see MPI_T_event_handle_free */
WEFT_API(MPI_T_event_handle_alloc);
int PMPI_T_event_handle_alloc(int event_index, void *obj_handle, MPI_Info info,
                              MPI_T_event_registration *event_registration)
{
    weft_registration_handle_t *made;
    const void *object;
    int err = weft_tool_begin("MPI_T_event_handle_alloc");
    if (err == MPI_SUCCESS)
        err = weft_tool_check_index(event_index, weft_event_count(), "event_index");
    if (err == MPI_SUCCESS)
        err = weft_tool_check_pointer(event_registration, "event_registration");
    if (err == MPI_SUCCESS)
        err = check_hints(info);
    if (err == MPI_SUCCESS)
        err = weft_tool_check_object(obj_handle, weft_event_type(event_index)->is_of_comm, &object);
    if (err == MPI_SUCCESS)
        err = weft_registration_create(event_index, object, &made);
    if (err == MPI_SUCCESS)
        *event_registration = (MPI_T_event_registration)made;
    return weft_tool_end(err);
}

/** Give hints to a registration (section 15.3.8). Weft knows none.
 *  @error MPI_T_ERR_INVALID_HANDLE  event_registration is none
 *  @error MPI_T_ERR_INVALID  info is none */
WEFT_API(MPI_T_event_handle_set_info);
int PMPI_T_event_handle_set_info(MPI_T_event_registration event_registration, MPI_Info info)
{
    weft_registration_handle_t *registration;
    int err = weft_tool_begin("MPI_T_event_handle_set_info");
    if (err == MPI_SUCCESS)
        err = check_registration(event_registration, &registration);
    if (err == MPI_SUCCESS)
        err = check_hints(info);
    return weft_tool_end(err);
}

/** The hints that a registration uses (section 15.3.8).
 *  @param[out] info_used  a new info, which the tool frees; it is empty
 *  @error MPI_T_ERR_INVALID_HANDLE  event_registration is none
 *  @error MPI_T_ERR_INVALID  info_used is NULL */
WEFT_API(MPI_T_event_handle_get_info);
int PMPI_T_event_handle_get_info(MPI_T_event_registration event_registration, MPI_Info *info_used)
{
    weft_registration_handle_t *registration;
    int err = weft_tool_begin("MPI_T_event_handle_get_info");
    if (err == MPI_SUCCESS)
        err = check_registration(event_registration, &registration);
    if (err == MPI_SUCCESS)
        err = give_hints(info_used);
    return weft_tool_end(err);
}

/** Give a registration back (section 15.3.8): its callbacks are called no more. Events that were
 *  kept for it are given to it before.
 *  @param[in] user_data  for free_cb_function
 *  @param[in] free_cb_function  called when no callback of the registration runs any more; may be
 *          NULL
 *  @error MPI_T_ERR_INVALID_HANDLE  event_registration is none
 *  @see MPI_T_event_handle_alloc */
WEFT_API(MPI_T_event_handle_free);
int PMPI_T_event_handle_free(MPI_T_event_registration event_registration, void *user_data,
                             MPI_T_event_free_cb_function free_cb_function)
{
    weft_registration_handle_t *registration;
    int err = weft_tool_begin("MPI_T_event_handle_free");
    if (err == MPI_SUCCESS)
        err = check_registration(event_registration, &registration);
    if (err != MPI_SUCCESS)
        return weft_tool_end(err);
    weft_registration_free(registration, user_data, free_cb_function);
    weft_tool_end(MPI_SUCCESS);
    weft_registration_settle(registration); /* without the locks, since it calls the tool */
    return MPI_SUCCESS;
}

/* ---- callbacks ---- */

/** Have a function called for each event of a registration (section 15.3.8). A registration has
 *  one function for each level of safety; for an event the one that promises least is called, of
 *  those that promise enough.
 *  @param[in] cb_safety  what the function promises. Weft calls within MPI, and from any thread,
 *          functions that promise MPI_T_CB_REQUIRE_MPI_RESTRICTED or more
 *  @param[in] info  MPI_INFO_NULL, or hints; Weft knows none
 *  @param[in] user_data  for the function
 *  @param[in] event_cb_function  NULL: none of this level from now on
 *  @error MPI_T_ERR_INVALID_HANDLE  event_registration is none
 *  @error MPI_T_ERR_INVALID  cb_safety is no level, or info is none
 *  @note Events for a function of MPI_T_CB_REQUIRE_NONE alone, which may call all of MPI, are
 *          kept and given to it when the process calls a function of MPI_T the next time. Of
 *          those that wait for a registration at most 256 are kept, the others are dropped
 *          (MPI_T_event_set_dropped_handler).
 *  @note A function that is called within MPI must not call functions of MPI other than those of
 *          MPI_T, and should not wait. */
WEFT_API(MPI_T_event_register_callback);
int PMPI_T_event_register_callback(MPI_T_event_registration event_registration,
                                   MPI_T_cb_safety cb_safety, MPI_Info info, void *user_data,
                                   MPI_T_event_cb_function event_cb_function)
{
    weft_registration_handle_t *registration;
    int level, err = weft_tool_begin("MPI_T_event_register_callback");
    if (err == MPI_SUCCESS)
        err = check_registration(event_registration, &registration);
    if (err == MPI_SUCCESS)
        err = check_safety(cb_safety, &level);
    if (err == MPI_SUCCESS)
        err = check_hints(info);
    if (err == MPI_SUCCESS)
        weft_registration_set_callback(registration, level, event_cb_function, user_data);
    return weft_tool_end(err);
}

static int check_callback(MPI_T_event_registration handle, MPI_T_cb_safety safety)
{
    weft_registration_handle_t *registration;
    int level, err = check_registration(handle, &registration);
    if (err == MPI_SUCCESS)
        err = check_safety(safety, &level);
    if (err == MPI_SUCCESS && !weft_registration_has_callback(registration, level))
        err = weft_tool_fail(MPI_T_ERR_INVALID, "no callback is registered for cb_safety %d",
                             (int)safety);
    return err;
}

/** Give hints to a callback (section 15.3.8). Weft knows none.
 *  @param[in] cb_safety  that it was registered for
 *  @error MPI_T_ERR_INVALID_HANDLE  event_registration is none
 *  @error MPI_T_ERR_INVALID  there is no callback of this level, or info is none */
WEFT_API(MPI_T_event_callback_set_info);
int PMPI_T_event_callback_set_info(MPI_T_event_registration event_registration,
                                   MPI_T_cb_safety cb_safety, MPI_Info info)
{
    int err = weft_tool_begin("MPI_T_event_callback_set_info");
    if (err == MPI_SUCCESS)
        err = check_callback(event_registration, cb_safety);
    if (err == MPI_SUCCESS)
        err = check_hints(info);
    return weft_tool_end(err);
}

/** The hints that a callback uses (section 15.3.8).
 *  @param[in] cb_safety  that it was registered for
 *  @param[out] info_used  a new info, which the tool frees; it is empty
 *  @error MPI_T_ERR_INVALID_HANDLE  event_registration is none
 *  @error MPI_T_ERR_INVALID  there is no callback of this level, or info_used is NULL */
WEFT_API(MPI_T_event_callback_get_info);
int PMPI_T_event_callback_get_info(MPI_T_event_registration event_registration,
                                   MPI_T_cb_safety cb_safety, MPI_Info *info_used)
{
    int err = weft_tool_begin("MPI_T_event_callback_get_info");
    if (err == MPI_SUCCESS)
        err = check_callback(event_registration, cb_safety);
    if (err == MPI_SUCCESS)
        err = give_hints(info_used);
    return weft_tool_end(err);
}

/** Have a function called when events of a registration were dropped (section 15.3.8), before the
 *  next event, and with how many they were.
 *  @param[in] dropped_cb_function  NULL: none from now on
 *  @error MPI_T_ERR_INVALID_HANDLE  event_registration is none
 *  @note Its user_data is that of the callback which gets the next event. */
WEFT_API(MPI_T_event_set_dropped_handler);
int PMPI_T_event_set_dropped_handler(MPI_T_event_registration event_registration,
                                     MPI_T_event_dropped_cb_function dropped_cb_function)
{
    weft_registration_handle_t *registration;
    int err = weft_tool_begin("MPI_T_event_set_dropped_handler");
    if (err == MPI_SUCCESS)
        err = check_registration(event_registration, &registration);
    if (err == MPI_SUCCESS)
        weft_registration_set_dropped(registration, dropped_cb_function);
    return weft_tool_end(err);
}
