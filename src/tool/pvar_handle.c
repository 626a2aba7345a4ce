/* SPDX-License-Identifier: BSD-3-Clause */
/* Sessions and handles of performance variables, and what a handle makes of a total or a level. */
#include "tool/pvar.h"
#include "tool/pvar_handle.h"

#include "tool/tool.h"
#include "base/memory.h"
#include "base/pool.h"

#include <string.h>

struct weft_pvar_session {
    bool is_live; /* first: see weft_pool_each */
    weft_list_t handles;
};

struct weft_pvar_handle {
    bool is_live; /* first */
    weft_pvar_session_t *session;
    weft_link_t of_session;
    weft_link_t of_high_water; /* in the owner's list while it is started */
    const weft_pvar_t *pvar;
    const void *object; /* NULL: none, or it has gone */
    bool is_started;
    int elements;
    /* [elements] of each; `base`, of a sum: the total when the handle was started or reset. The
     * value of a sum is `kept` and what the total has grown by since, of a high-water mark it is
     * `kept`. `now` is room for a reading. */
    weft_value_t *kept, *base, *now;
};

static weft_pool_t sessions = WEFT_POOL(weft_pvar_session_t);
static weft_pool_t handles = WEFT_POOL(weft_pvar_handle_t);

/* ---- objects ---- */

int weft_pvar_session_create(weft_pvar_session_t **out)
{
    weft_pvar_session_t *session = weft_pool_take(&sessions);
    if (session == NULL)
        return MPI_T_ERR_OUT_OF_SESSIONS;
    session->is_live = true;
    weft_list_init(&session->handles);
    *out = session;
    return MPI_SUCCESS;
}

void weft_pvar_session_free(weft_pvar_session_t *session)
{
    while (!weft_list_is_empty(&session->handles))
        weft_pvar_handle_free(WEFT_ELEMENT(session->handles.next, weft_pvar_handle_t, of_session));
    session->is_live = false;
    weft_pool_give(&sessions, session);
}

weft_pvar_session_t *weft_pvar_session_of(MPI_T_pvar_session session)
{
    weft_pvar_session_t *found = (weft_pvar_session_t *)session;
    return weft_pool_owns(&sessions, found) && found->is_live ? found : NULL;
}

weft_pvar_handle_t *weft_pvar_handle_of(const weft_pvar_session_t *session,
                                        MPI_T_pvar_handle handle)
{
    weft_pvar_handle_t *found = (weft_pvar_handle_t *)handle;
    bool is_own = weft_pool_owns(&handles, found) && found->is_live && found->session == session;
    return is_own ? found : NULL;
}

int weft_pvar_elements(const weft_pvar_handle_t *handle)
{
    return handle->elements;
}

static bool is_bound(const weft_pvar_handle_t *handle)
{
    return !handle->pvar->is_of_comm || handle->object != NULL;
}

static void read_now(const weft_pvar_handle_t *handle, weft_value_t *out)
{
    handle->pvar->read(handle->pvar, handle->object, out);
}

int weft_pvar_handle_create(weft_pvar_session_t *session, const weft_pvar_t *pvar,
                            const void *object, weft_pvar_handle_t **out)
{
    size_t elements = pvar->elements == NULL ? 1 : (size_t)pvar->elements(object);
    weft_value_t *values = weft_alloc_zeroed(3 * elements, sizeof(*values));
    weft_pvar_handle_t *handle = values == NULL ? NULL : weft_pool_take(&handles);
    if (handle == NULL) {
        weft_free(values);
        return MPI_T_ERR_OUT_OF_HANDLES;
    }
    *handle = (weft_pvar_handle_t){.is_live = true,
                                   .session = session,
                                   .pvar = pvar,
                                   .object = object,
                                   .is_started = weft_pvar_is_continuous(pvar),
                                   .elements = (int)elements,
                                   .kept = values,
                                   .base = values + elements,
                                   .now = values + 2 * elements};
    weft_list_append(&session->handles, &handle->of_session);
    if (pvar->high_water != NULL)
        read_now(handle, handle->kept);
    *out = handle;
    return MPI_SUCCESS;
}

void weft_pvar_handle_free(weft_pvar_handle_t *handle)
{
    if (!weft_pvar_is_continuous(handle->pvar))
        weft_pvar_stop(handle);
    weft_list_remove(&handle->of_session);
    weft_free(handle->kept);
    handle->is_live = false;
    weft_pool_give(&handles, handle);
}

static void unbind_handle(void *object, void *gone)
{
    weft_pvar_handle_t *handle = object;
    if (!handle->is_live || handle->object != gone)
        return;
    if (!weft_pvar_is_continuous(handle->pvar))
        weft_pvar_stop(handle); /* the last reading stays */
    handle->object = NULL;
}

void weft_pvars_unbind(const void *object)
{
    weft_tool_lock();
    weft_pool_each(&handles, unbind_handle, (void *)object);
    weft_tool_unlock();
}

static void free_session(void *object, void *unused)
{
    (void)unused;
    weft_pvar_session_t *session = object;
    if (session->is_live)
        weft_pvar_session_free(session);
}

void wefti_pvar_handles_close(void)
{
    weft_pool_each(&sessions, free_session, NULL);
    weft_pool_close(&handles);
    weft_pool_close(&sessions);
}

/* ---- sums ---- */

/* kept += now - base, base = now */
static void take_growth(weft_pvar_handle_t *handle)
{
    read_now(handle, handle->now);
    bool is_real = handle->pvar->type == MPI_DOUBLE;
    for (int i = 0; i < handle->elements; i++) {
        if (is_real)
            handle->kept[i].real += handle->now[i].real - handle->base[i].real;
        else
            handle->kept[i].count += handle->now[i].count - handle->base[i].count;
        handle->base[i] = handle->now[i];
    }
}

static void forget_sum(weft_pvar_handle_t *handle)
{
    memset(handle->kept, 0, (size_t)handle->elements * sizeof(*handle->kept));
    if (handle->is_started)
        read_now(handle, handle->base);
}

/* ---- high-water marks ---- */

void weft_high_water_tell(weft_high_water_t *high_water, uint64_t level)
{
    weft_tool_lock();
    weft_list_t *list = &high_water->handles;
    for (weft_link_t *at = list->next; at != NULL && at != list; at = at->next) {
        weft_pvar_handle_t *handle = WEFT_ELEMENT(at, weft_pvar_handle_t, of_high_water);
        if (level > handle->kept->count)
            handle->kept->count = level;
    }
    weft_tool_unlock();
}

static void join_high_water(weft_pvar_handle_t *handle)
{
    weft_high_water_t *high_water = handle->pvar->high_water;
    read_now(handle, handle->now);
    if (handle->now->count > handle->kept->count)
        *handle->kept = *handle->now;
    if (high_water->handles.next == NULL)
        weft_list_init(&high_water->handles);
    weft_list_append(&high_water->handles, &handle->of_high_water);
    high_water->watched++;
}

static void leave_high_water(weft_pvar_handle_t *handle)
{
    weft_list_remove(&handle->of_high_water);
    handle->pvar->high_water->watched--;
}

/* ---- what a tool does ---- */

static int check_startable(const weft_pvar_handle_t *handle)
{
    if (weft_pvar_is_continuous(handle->pvar))
        return weft_tool_fail(MPI_T_ERR_PVAR_NO_STARTSTOP, "%s is continuous", handle->pvar->name);
    if (!is_bound(handle))
        return weft_tool_fail(MPI_T_ERR_INVALID_HANDLE, "%s: its communicator is gone",
                              handle->pvar->name);
    return MPI_SUCCESS;
}

int weft_pvar_start(weft_pvar_handle_t *handle)
{
    int err = check_startable(handle);
    if (err != MPI_SUCCESS || handle->is_started)
        return err;
    if (handle->pvar->watched != NULL)
        ++*handle->pvar->watched;
    handle->is_started = true;
    if (handle->pvar->high_water != NULL)
        join_high_water(handle);
    else
        read_now(handle, handle->base);
    return MPI_SUCCESS;
}

int weft_pvar_stop(weft_pvar_handle_t *handle)
{
    int err = check_startable(handle);
    if (err != MPI_SUCCESS || !handle->is_started)
        return err;
    if (handle->pvar->high_water != NULL)
        leave_high_water(handle);
    else
        take_growth(handle);
    handle->is_started = false;
    if (handle->pvar->watched != NULL)
        --*handle->pvar->watched;
    return MPI_SUCCESS;
}

static int check_writable(const weft_pvar_handle_t *handle)
{
    if (!is_bound(handle))
        return weft_tool_fail(MPI_T_ERR_INVALID_HANDLE, "%s: its communicator is gone",
                              handle->pvar->name);
    if (weft_pvar_is_continuous(handle->pvar))
        return weft_tool_fail(MPI_T_ERR_PVAR_NO_WRITE, "%s can only be read", handle->pvar->name);
    return MPI_SUCCESS;
}

int weft_pvar_reset(weft_pvar_handle_t *handle)
{
    int err = check_writable(handle);
    if (err != MPI_SUCCESS)
        return err;
    if (handle->pvar->high_water != NULL)
        read_now(handle, handle->kept);
    else
        forget_sum(handle);
    return MPI_SUCCESS;
}

int weft_pvar_all(weft_pvar_session_t *session, weft_pvar_action_t action)
{
    int result = MPI_SUCCESS;
    for (weft_link_t *at = session->handles.next; at != &session->handles; at = at->next) {
        weft_pvar_handle_t *handle = WEFT_ELEMENT(at, weft_pvar_handle_t, of_session);
        if (weft_pvar_is_continuous(handle->pvar))
            continue;
        int err = action(handle);
        result = result == MPI_SUCCESS ? err : result;
    }
    return result;
}

static size_t bytes_of(MPI_Datatype type)
{
    return type == MPI_INT ? sizeof(int) : sizeof(weft_value_t);
}

int weft_pvar_read(weft_pvar_handle_t *handle, void *out)
{
    const weft_pvar_t *pvar = handle->pvar;
    if (!is_bound(handle))
        return weft_tool_fail(MPI_T_ERR_INVALID_HANDLE, "%s: its communicator is gone", pvar->name);
    if (weft_pvar_is_continuous(pvar))
        read_now(handle, handle->kept);
    else if (handle->is_started && pvar->high_water == NULL)
        take_growth(handle);
    size_t bytes = bytes_of(pvar->type);
    for (int i = 0; i < handle->elements; i++)
        memcpy((char *)out + (size_t)i * bytes, &handle->kept[i], bytes);
    return MPI_SUCCESS;
}

int weft_pvar_write(weft_pvar_handle_t *handle, const void *value)
{
    int err = check_writable(handle);
    if (err != MPI_SUCCESS)
        return err;
    size_t bytes = bytes_of(handle->pvar->type);
    for (int i = 0; i < handle->elements; i++)
        memcpy(&handle->kept[i], (const char *)value + (size_t)i * bytes, bytes);
    if (weft_pvar_is_sum(handle->pvar) && handle->is_started)
        read_now(handle, handle->base);
    return MPI_SUCCESS;
}

int weft_pvar_readreset(weft_pvar_handle_t *handle, void *out)
{
    if (weft_pvar_is_continuous(handle->pvar))
        return weft_tool_fail(MPI_T_ERR_PVAR_NO_ATOMIC, "%s can only be read, not reset",
                              handle->pvar->name);
    int err = weft_pvar_read(handle, out);
    if (err != MPI_SUCCESS)
        return err;
    /* The reading has brought `base` up to date: what is counted after it belongs to the next. */
    if (handle->pvar->high_water != NULL)
        return weft_pvar_reset(handle);
    memset(handle->kept, 0, (size_t)handle->elements * sizeof(*handle->kept));
    return MPI_SUCCESS;
}
