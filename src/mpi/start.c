/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/start.h"

#include "mpi/comm_make.h"
#include "coll/coll.h"
#include "pt2pt/bsend.h"
#include "pt2pt/pt2pt.h"
#include "pmi/pmi.h"
#include "shm/shm.h"
#include "datatype/op.h"
#include "datatype/type.h"
#include "core/attribute.h"
#include "core/comm.h"
#include "core/errhandler.h"
#include "core/group.h"
#include "core/handle_numbers.h"
#include "core/info.h"
#include "core/lock.h"
#include "core/nodes.h"
#include "core/progress.h"
#include "core/world.h"
#include "base/config.h"
#include "base/cpu.h"
#include "base/fail.h"
#include "base/log.h"
#include "base/memory.h"
#include "mpi.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Best first. */
static const weft_transport_ops_t *const transports[] = {&weft_self_transport, &weft_shm_transport};
enum { TRANSPORTS = sizeof(transports) / sizeof(transports[0]) };

static bool is_open[TRANSPORTS];
static weft_pmi_job_t job;

static int fence_host(void)
{
    if (job.local_size == job.size)
        return weft_pmi_fence();
    return weft_pmi_fence_ranks(job.local_ranks, job.local_size);
}

static const weft_wireup_t wireup = {
    .put = weft_pmi_publish,
    .fence = fence_host,
    .get = weft_pmi_get,
    .publish = weft_pmi_publish,
    .await = weft_pmi_await,
    .find_nodes = weft_pmi_find_nodes,
};

void weft_abort_job(int code, const char *why)
{
    fflush(NULL);
    if (code == 0)
        code = 1;
    weft_pmi_abort(code, why);
}

static int join_job(int thread_level)
{
    int err = weft_pmi_open(&job);
    if (err != MPI_SUCCESS)
        return err;
    weft_world.rank = job.rank;
    weft_world.size = job.size;
    weft_world.local_rank = job.local_rank;
    weft_world.local_size = job.local_size;
    weft_world.local_ranks = job.local_ranks;
    weft_world.host = job.hostname;
    weft_world.job_id = job.id;
    weft_world.appnum = job.app_number;
    weft_world.universe_size = job.universe_size;
    weft_world.thread_level = thread_level;
    weft_world.wireup = &wireup;
    weft_log_open(job.size > 1 ? job.rank : -1);
    return MPI_SUCCESS;
}

/* Every rank must be reached by some transport. */
static int check_endpoints(void)
{
    for (int rank = 0; rank < weft_world.size; rank++) {
        if (weft_world.endpoints[rank] == NULL)
            return weft_fail(
                MPI_ERR_OTHER,
                "rank %d is on another host than rank %d (%s), and this version of Weft "
                "has no network transport",
                rank, weft_world.rank, weft_world.host);
    }
    return MPI_SUCCESS;
}

static int open_transports(void)
{
    weft_world.endpoints =
        weft_alloc_zeroed((size_t)weft_world.size, sizeof(*weft_world.endpoints));
    if (weft_world.endpoints == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for %d peers", weft_world.size);
    for (int i = 0; i < TRANSPORTS; i++) {
        int err = transports[i]->open(&weft_world, weft_packet_arrived);
        if (err == MPI_ERR_UNSUPPORTED_OPERATION)
            continue;
        if (err != MPI_SUCCESS)
            return err;
        is_open[i] = true;
        weft_progress_add(transports[i]->progress);
    }
    return check_endpoints();
}

static void close_transports(void)
{
    for (int i = TRANSPORTS - 1; i >= 0; i--) {
        if (!is_open[i])
            continue;
        weft_progress_remove(transports[i]->progress);
        transports[i]->close();
        is_open[i] = false;
    }
    weft_free(weft_world.endpoints);
    weft_world.endpoints = NULL;
}

int weft_start(int thread_level)
{
    weft_config_read();
    weft_log_open(-1);
    weft_world.abort = weft_abort_job;
    int err = join_job(thread_level);
    if (err != MPI_SUCCESS)
        return err;
    weft_op_select();
    weft_pt2pt_open();
    err = open_transports();
    if (err != MPI_SUCCESS)
        return err;
    weft_progress_open(weft_world.bell);
    err = weft_comm_open();
    if (err != MPI_SUCCESS)
        return err;
    weft_world.is_threaded = thread_level == MPI_THREAD_MULTIPLE;
    weft_world.stage = WEFT_RUNNING;
    return MPI_SUCCESS;
}

/* Infos and error handlers work after MPI_Finalize (MPI 5.0, 11.4.1): with some left, they and the
 * numbers of their handles stay. */
static void close_objects(void)
{
    weft_groups_close();
    weft_keyvals_close();
    bool has_infos = !weft_infos_close(), has_handlers = !weft_errhandlers_close();
    if (!has_infos && !has_handlers)
        weft_handle_numbers_close();
}

int weft_stop(void)
{
    weft_lock(); /* waiting gives it up now and then */
    weft_pt2pt_await_idle();
    weft_bsend_close();
    weft_unlock();
    weft_world.stage = WEFT_AFTER_FINALIZE;
    weft_world.is_threaded = false;
    weft_comm_close();
    weft_comm_idups_close();
    weft_coll_close();
    weft_pt2pt_close();
    close_transports();
    weft_nodes_close();
    weft_ops_close();
    weft_types_close();
    close_objects();
    return weft_pmi_close();
}
