/* SPDX-License-Identifier: BSD-3-Clause */
#include "object/info.h"

#include "object/info_env.h"
#include "runtime/world.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/pool.h"

#include <string.h>

weft_info_t weft_info_env = {.object = {.kind = WEFT_KIND_INFO, .references = 1}};

static weft_pool_t infos = WEFT_POOL(weft_info_t);

enum { FIRST_ROOM = 8 };

/* Some keys are known only once MPI runs, so the info is filled again then. Without memory some
 * keys are missing, which is legal. */
static void fill_env(void)
{
    static bool is_complete;
    if (is_complete)
        return;
    is_complete = weft_world.world_model != WEFT_BEFORE_INIT;
    weft_info_describe_process(&weft_info_env, 0, NULL);
    if (weft_world.world_model == WEFT_RUNNING)
        weft_info_describe_job(&weft_info_env);
}

weft_info_t *weft_info_of(MPI_Info handle)
{
    if (handle == MPI_INFO_ENV) {
        fill_env();
        return &weft_info_env;
    }
    weft_info_t *info = (weft_info_t *)handle;
    return weft_is_predefined(handle) || info->object.kind != WEFT_KIND_INFO ? NULL : info;
}

MPI_Info weft_info_handle(weft_info_t *info)
{
    return info == &weft_info_env ? MPI_INFO_ENV : (MPI_Info)info;
}

int weft_info_create(weft_info_t **out)
{
    weft_info_t *info = weft_pool_take(&infos);
    if (info == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for an info object");
    memset(info, 0, sizeof(*info));
    weft_object_init(&info->object, WEFT_KIND_INFO);
    *out = info;
    return MPI_SUCCESS;
}

int weft_info_dup(const weft_info_t *info, weft_info_t **out)
{
    weft_info_t *copy;
    int err = weft_info_create(&copy);
    if (err != MPI_SUCCESS)
        return err;
    for (int i = 0; info != NULL && err == MPI_SUCCESS && i < info->count; i++)
        err = weft_info_set(copy, info->entries[i].key, info->entries[i].value);
    if (err != MPI_SUCCESS) {
        weft_info_release(copy);
        return err;
    }
    *out = copy;
    return MPI_SUCCESS;
}

void weft_info_release(weft_info_t *info)
{
    if (info == NULL || info == &weft_info_env || !weft_object_drop(&info->object))
        return;
    info->object.kind = WEFT_FREED;
    for (int i = 0; i < info->count; i++) {
        weft_free(info->entries[i].key);
        weft_free(info->entries[i].value);
    }
    weft_free(info->entries);
    weft_pool_give(&infos, info);
}

bool weft_infos_close(void)
{
    return weft_pool_close_unused(&infos);
}

static weft_info_entry_t *find_info_entry(const weft_info_t *info, const char *key)
{
    for (int i = 0; i < info->count; i++) {
        if (strcmp(info->entries[i].key, key) == 0)
            return &info->entries[i];
    }
    return NULL;
}

const char *weft_info_get(const weft_info_t *info, const char *key)
{
    const weft_info_entry_t *entry = find_info_entry(info, key);
    return entry == NULL ? NULL : entry->value;
}

static bool reserve_entry(weft_info_t *info)
{
    if (info->count < info->room)
        return true;
    int room = info->room == 0 ? FIRST_ROOM : 2 * info->room;
    weft_info_entry_t *entries = weft_realloc(info->entries, (size_t)room * sizeof(*entries));
    if (entries == NULL)
        return false;
    info->entries = entries;
    info->room = room;
    return true;
}

static bool append_entry(weft_info_t *info, const char *key, char *value)
{
    char *own_key = weft_strdup(key);
    if (own_key == NULL || !reserve_entry(info)) {
        weft_free(own_key);
        return false;
    }
    info->entries[info->count++] = (weft_info_entry_t){own_key, value};
    return true;
}

int weft_info_set(weft_info_t *info, const char *key, const char *value)
{
    char *own_value = weft_strdup(value);
    if (own_value == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for the value of key \"%s\"", key);
    weft_info_entry_t *entry = find_info_entry(info, key);
    if (entry != NULL) {
        weft_free(entry->value);
        entry->value = own_value;
        return MPI_SUCCESS;
    }
    if (append_entry(info, key, own_value))
        return MPI_SUCCESS;
    weft_free(own_value);
    return weft_fail(MPI_ERR_NO_MEM, "no memory for key \"%s\"", key);
}

int weft_info_delete(weft_info_t *info, const char *key)
{
    weft_info_entry_t *entry = find_info_entry(info, key);
    if (entry == NULL)
        return weft_fail(MPI_ERR_INFO_NOKEY, "info has no key \"%s\"", key);
    weft_free(entry->key);
    weft_free(entry->value);
    weft_info_entry_t *end = info->entries + info->count--;
    memmove(entry, entry + 1, (size_t)(end - entry - 1) * sizeof(*entry));
    return MPI_SUCCESS;
}
