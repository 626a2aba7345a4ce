/* SPDX-License-Identifier: BSD-3-Clause */
#include "pmi/pmi.h"

#include "base/config.h"
#include "base/fail.h"
#include "base/log.h"
#include "base/memory.h"
#include "mpi.h"
#include "pmi/bootstrap_private.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

/* In the order in which they are tried; the last one always opens. */
static const weft_bootstrap_t *const bootstraps[] = {
    &weft_program_bootstrap,     &weft_pmix_bootstrap,      &weft_file_bootstrap,
    &weft_environment_bootstrap, &weft_singleton_bootstrap,
};
enum { BOOTSTRAPS = sizeof(bootstraps) / sizeof(bootstraps[0]) };

static _Atomic(const weft_bootstrap_t *) opened; /* weft_pmi_abort() reads it in any thread */
static int size;                                 /* of the job */

/* WEFT_BOOTSTRAP names one, and may go on with a ':' and what that one reads. */
static bool is_wanted(const weft_bootstrap_t *bootstrap)
{
    const char *wanted = weft_config.BOOTSTRAP;
    size_t length = strcspn(wanted, ":");
    return length == 0 ||
           (strlen(bootstrap->name) == length && strncmp(bootstrap->name, wanted, length) == 0);
}

static int check_wanted(void)
{
    for (int i = 0; i < BOOTSTRAPS; i++) {
        if (is_wanted(bootstraps[i]))
            return MPI_SUCCESS;
    }
    return weft_fail(MPI_ERR_OTHER,
                     "WEFT_BOOTSTRAP is %s; expected is program, pmix, file:PATH, environment or "
                     "singleton",
                     weft_config.BOOTSTRAP);
}

static int use_bootstrap(const weft_bootstrap_t *bootstrap, weft_pmi_job_t *job)
{
    opened = bootstrap;
    size = job->size;
    return weft_pmi_simulate_hosts(job);
}

int weft_pmi_open(weft_pmi_job_t *out)
{
    weft_config_read();
    int err = check_wanted();
    for (int i = 0; i < BOOTSTRAPS && err == MPI_SUCCESS; i++) {
        if (!is_wanted(bootstraps[i]))
            continue;
        err = bootstraps[i]->open(out);
        if (err == MPI_SUCCESS)
            return use_bootstrap(bootstraps[i], out);
        if (err != MPI_ERR_UNSUPPORTED_OPERATION)
            return err;
        err = MPI_SUCCESS;
    }
    if (err == MPI_SUCCESS)
        err = weft_fail(MPI_ERR_OTHER,
                        "WEFT_BOOTSTRAP is %s, but this process was not started in that way",
                        weft_config.BOOTSTRAP);
    return err;
}

int weft_pmi_copy_value(const void *data, size_t bytes, void **out)
{
    void *result = weft_alloc(bytes);
    if (result == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "a start-up message of %zu bytes", bytes);
    if (bytes > 0)
        memcpy(result, data, bytes);
    *out = result;
    return MPI_SUCCESS;
}

int weft_pmi_put(const char *key, const void *data, size_t bytes)
{
    return opened->calls->put(key, data, bytes);
}

int weft_pmi_publish(const char *key, const void *data, size_t bytes)
{
    return opened->calls->publish(key, data, bytes);
}

int weft_pmi_fence(void)
{
    return opened->calls->fence();
}

int weft_pmi_fence_ranks(const int *ranks, int count)
{
    return opened->calls->fence_ranks(ranks, count);
}

int weft_pmi_get(int rank, const char *key, void **out, size_t *bytes_out)
{
    return opened->calls->get(rank, key, out, bytes_out);
}

int weft_pmi_await(int rank, const char *key, int limit_s, void **out, size_t *bytes_out)
{
    return opened->calls->await(rank, key, limit_s, out, bytes_out);
}

int weft_pmi_find_nodes(int *node_of)
{
    if (weft_pmi_simulates())
        return weft_pmi_simulated_nodes(size, node_of);
    return opened->calls->find_nodes(node_of);
}

int weft_pmi_find_psets(weft_pmi_pset_t sets[])
{
    return opened == NULL ? 0 : opened->calls->find_psets(sets);
}

void weft_pmi_started(void)
{
    opened->calls->started();
}

void weft_pmi_rest(void)
{
    opened->calls->rest();
}

void weft_pmi_wake(void)
{
    opened->calls->wake();
}

void weft_pmi_abort(int code, const char *message, bool is_bereft)
{
    const weft_bootstrap_t *bootstrap = opened;
    if (bootstrap != NULL)
        bootstrap->calls->abort(code, message, is_bereft);
    else if (message[0] != '\0')
        weft_log_write(WEFT_ERROR, "pmi", "%s", message);
    /* A code like 256 must not turn into success. */
    _exit(code != 0 && (code & 0xff) == 0 ? 1 : code & 0xff);
}

int weft_pmi_close(void)
{
    const weft_bootstrap_t *bootstrap = opened;
    opened = NULL;
    weft_pmi_end_simulation();
    return bootstrap->calls->close();
}
