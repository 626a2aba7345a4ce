/* SPDX-License-Identifier: BSD-3-Clause */
/* A process that nobody has started together with others. It has no server, so that it keeps the
 * values that it puts itself. */
#include "pmi/bootstrap_private.h"

#include "base/fail.h"
#include "base/list.h"
#include "base/log.h"
#include "base/memory.h"
#include "mpi.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct entry {
    weft_link_t link;
    char *key;
    void *data;
    size_t bytes;
} pmi_entry_t;

static weft_list_t entries;

static int singleton_open(weft_pmi_job_t *out)
{
    static const int only_rank;
    *out = (weft_pmi_job_t){.size = 1,
                            .local_size = 1,
                            .local_ranks = &only_rank,
                            .universe_size = 1,
                            .is_singleton = true};
    gethostname(out->hostname, sizeof(out->hostname) - 1);
    snprintf(out->id, sizeof(out->id), "weft-%d", (int)getpid());
    weft_list_init(&entries);
    return MPI_SUCCESS;
}

static pmi_entry_t *pmi_find_entry(const char *key)
{
    for (weft_link_t *link = entries.next; link != &entries; link = link->next) {
        pmi_entry_t *entry = WEFT_ELEMENT(link, pmi_entry_t, link);
        if (strcmp(entry->key, key) == 0)
            return entry;
    }
    return NULL;
}

static void release_entry(pmi_entry_t *entry)
{
    weft_list_remove(&entry->link);
    weft_free(entry->key);
    weft_free(entry->data);
    weft_free(entry);
}

static int singleton_put(const char *key, const void *data, size_t bytes)
{
    pmi_entry_t *entry = weft_alloc_zeroed(1, sizeof(*entry));
    if (entry == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "a start-up message of %zu bytes", bytes);
    pmi_entry_t *old = pmi_find_entry(key);
    if (old != NULL)
        release_entry(old);
    weft_list_append(&entries, &entry->link);
    entry->bytes = bytes;
    entry->key = weft_strdup(key);
    int err = entry->key == NULL ? weft_fail(MPI_ERR_NO_MEM, "a copy of the key %s", key)
                                 : weft_pmi_copy_value(data, bytes, &entry->data);
    if (err != MPI_SUCCESS)
        release_entry(entry);
    return err;
}

static int singleton_fence(void)
{
    return MPI_SUCCESS;
}

static int singleton_fence_ranks(const int *ranks, int count)
{
    (void)ranks, (void)count;
    return MPI_SUCCESS;
}

static int singleton_get(int rank, const char *key, void **out, size_t *bytes_out)
{
    const pmi_entry_t *entry = pmi_find_entry(key);
    (void)rank;
    if (entry == NULL)
        return weft_fail(MPI_ERR_OTHER, "there is no start-up data %s", key);
    int err = weft_pmi_copy_value(entry->data, entry->bytes, out);
    if (err == MPI_SUCCESS)
        *bytes_out = entry->bytes;
    return err;
}

static int singleton_await(int rank, const char *key, int limit_s, void **out, size_t *bytes_out)
{
    (void)limit_s;
    return singleton_get(rank, key, out, bytes_out);
}

static int singleton_find_nodes(int *node_of)
{
    node_of[0] = 0;
    return MPI_SUCCESS;
}

static int singleton_find_psets(weft_pmi_pset_t sets[])
{
    (void)sets;
    return 0;
}

static void singleton_pause(void)
{
}

static void singleton_abort(int code, const char *message, bool is_bereft)
{
    (void)code, (void)is_bereft;
    if (message[0] != '\0')
        weft_log_write(WEFT_ERROR, "pmi", "%s", message);
}

static int singleton_close(void)
{
    while (!weft_list_is_empty(&entries))
        release_entry(WEFT_ELEMENT(entries.next, pmi_entry_t, link));
    return MPI_SUCCESS;
}

static const weft_bootstrap_calls_t singleton_calls = {
    .put = singleton_put,
    .publish = singleton_put,
    .fence = singleton_fence,
    .fence_ranks = singleton_fence_ranks,
    .get = singleton_get,
    .await = singleton_await,
    .find_nodes = singleton_find_nodes,
    .find_psets = singleton_find_psets,
    .started = singleton_pause,
    .rest = singleton_pause,
    .wake = singleton_pause,
    .abort = singleton_abort,
    .close = singleton_close,
};

const weft_bootstrap_t weft_singleton_bootstrap = {"singleton", singleton_open, &singleton_calls};
