/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/start.h"

#include "mpi/last_output.h"
#include "mpi/leaks.h"
#include "mpi/tool_parts.h"
#include "report/report.h"
#include "comm/comm_make.h"
#include "ft/consensus.h"
#include "ft/detector.h"
#include "stream/stream.h"
#include "devcoll/devcoll.h"
#include "coll/coll.h"
#include "pt2pt/bsend.h"
#include "pt2pt/vci_dense.h"
#include "pt2pt/pt2pt.h"
#include "cuda/cuda.h"
#include "ofi/ofi.h"
#include "pmi/pmi.h"
#include "tcp/tcp.h"
#include "shm/shm.h"
#include "datatype/op.h"
#include "datatype/pack_permute.h"
#include "datatype/type.h"
#include "object/attribute.h"
#include "object/comm.h"
#include "object/errhandler.h"
#include "object/grequest.h"
#include "object/group.h"
#include "object/handle_numbers.h"
#include "object/info.h"
#include "runtime/failures.h"
#include "runtime/fd_watch.h"
#include "runtime/hardware.h"
#include "runtime/lock.h"
#include "runtime/nodes.h"
#include "runtime/progress.h"
#include "runtime/progress_thread.h"
#include "runtime/vci.h"
#include "runtime/world.h"
#include "base/config.h"
#include "base/copy.h"
#include "base/cpu.h"
#include "base/fail.h"
#include "base/futex.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/out_of_memory.h"
#include "mpi.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* In the order in which they are opened; of the last two at most one opens. */
static const weft_transport_ops_t *const transports[] = {&weft_self_transport, &weft_shm_transport,
                                                         &weft_ofi_transport, &weft_tcp_transport};
enum { TRANSPORTS = sizeof(transports) / sizeof(transports[0]) };

static bool is_open[TRANSPORTS];
static weft_pmi_job_t job;

static int start_fence_host(void)
{
    if (job.local_size == job.size)
        return weft_pmi_fence();
    return weft_pmi_fence_ranks(job.local_ranks, job.local_size);
}

static const weft_wireup_t wireup = {
    .put = weft_pmi_publish,
    .fence = start_fence_host,
    .get = weft_pmi_get,
    .publish = weft_pmi_publish,
    .await = weft_pmi_await,
    .find_nodes = weft_pmi_find_nodes,
};

void weft_abort_job(int code, const char *why)
{
    weft_flush_last_output();
    if (code == 0)
        code = 1;
    weft_pmi_abort(code, why, weft_world.has_lost && !weft_world.lacks_files);
}

static void forget_vcis(void)
{
    weft_world.vcis = 1;
    atomic_store_explicit(&weft_vcis_used, false, memory_order_relaxed);
}

static int start_join_job(int thread_level)
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
    weft_world.machine = job.machine;
    weft_world.is_oversubscribed = job.is_crowded;
    if (job.is_crowded)
        weft_config.CROWDED = true;
    weft_world.job_id = job.id;
    weft_world.appnum = job.app_number;
    weft_world.universe_size = job.universe_size;
    weft_world.thread_level = thread_level;
    forget_vcis();
    weft_world.wireup = &wireup;
    weft_log_open(job.size > 1 ? job.rank : -1);
    return weft_processes_open(job.size, job.rank);
}

static weft_endpoint_t *start_reach(int process)
{
    for (int i = 0; i < TRANSPORTS; i++) {
        weft_endpoint_t *endpoint;
        if (!is_open[i])
            continue;
        int err = transports[i]->reach(process, &endpoint);
        if (err == MPI_ERR_UNSUPPORTED_OPERATION)
            continue;
        if (err != MPI_SUCCESS) {
            weft_world.has_lost = true;
            return NULL;
        }
        weft_processes.at[process].endpoint = endpoint;
        weft_tool_tell_transport(process);
        return endpoint;
    }
    weft_fail(MPI_ERR_OTHER, "rank %d is on another host, and no network is open",
              weft_process_rank(process));
    return NULL;
}

static int open_transports(void)
{
    for (int i = 0; i < TRANSPORTS; i++) {
        int err = transports[i]->open(&weft_world, weft_packet_arrived);
        if (err == MPI_ERR_UNSUPPORTED_OPERATION)
            continue;
        if (err != MPI_SUCCESS)
            return err;
        is_open[i] = true;
    }
    return MPI_SUCCESS;
}

static void quiesce_transports(bool is_last)
{
    for (int i = 0; i < TRANSPORTS; i++) {
        if (is_open[i])
            transports[i]->quiesce(is_last);
    }
}

static bool is_unsure(void)
{
    bool any = false;
    for (int i = 0; i < TRANSPORTS; i++)
        any = any || (is_open[i] && transports[i]->is_unsure);
    return any;
}

static void meet_all(void)
{
    weft_coll_args_t args = {.comm = &weft_comm_world};
    if (weft_coll_run(WEFT_BARRIER, &args) != MPI_SUCCESS)
        WEFT_LOG(WEFT_WARN, "start", "the ranks could not end together: %s", weft_fail_text());
}

/* A process that closes a connection while bytes for it are on their way resets it, and its own
 * last bytes may be lost. So no rank closes before all have come here. (A fence of PMIx is not
 * enough: under Slurm 22.05 a fence without data waits only for the ranks of the same host.) */
static void part_from_hosts(void)
{
    weft_world.waited_long = NULL; /* ranks that end late do not lose what is sent to them here */
    quiesce_transports(false);
    /* To leave this barrier a rank needs what was sent to it before; no rank may close until all
     * have left it. */
    if (is_unsure())
        meet_all();
    meet_all();
    quiesce_transports(true);
}

static void resume_transports(void)
{
    weft_world.waited_long = weft_pt2pt_waited_long;
    for (int i = 0; i < TRANSPORTS; i++) {
        if (is_open[i])
            transports[i]->resume();
    }
}

static void note_parted(const weft_decision_t *decision, void *is_over)
{
    (void)decision;
    *(bool *)is_over = true;
}

/* With WEFT_RECOVERY, by an agreement, since some may be dead, or die meanwhile. A connection that
 * ends later is no failure. */
static void part_from_survivors(void)
{
    bool is_over = false;
    weft_world.waited_long = NULL;
    if (weft_consensus_begin(&weft_comm_job, 0, note_parted, &is_over) == MPI_SUCCESS)
        weft_progress_until(&is_over);
    quiesce_transports(true);
}

/* With WEFT_REJOIN all part together, too, unless a process fails: then some leave to meet the new
 * one, while others may still wait for them, or for this one. */
static void leave_survivors(void)
{
    static bool may_go; /* an agreement that is left alone may still write here */
    may_go = false;
    weft_world.waited_long = NULL;
    weft_detector_watch(&may_go);
    if (!may_go && weft_consensus_begin(&weft_comm_job, 0, note_parted, &may_go) == MPI_SUCCESS)
        weft_progress_until(&may_go);
    weft_detector_watch(NULL);
    if (weft_failures.count > 0)
        weft_detector_leave();
    quiesce_transports(true);
}

void weft_part_in_order(bool is_end)
{
    if (weft_world.local_size == weft_world.size && !weft_config.REJOIN)
        return;
    weft_lock();
    if (weft_config.REJOIN)
        leave_survivors();
    else if (weft_config.RECOVERY)
        part_from_survivors();
    else
        part_from_hosts();
    if (!is_end) {
        weft_pt2pt_expect_ends();
        resume_transports();
    }
    weft_unlock();
}

static void close_transports(void)
{
    weft_fd_watch_close();
    for (int i = TRANSPORTS - 1; i >= 0; i--) {
        if (!is_open[i])
            continue;
        transports[i]->close();
        is_open[i] = false;
    }
    weft_processes_close();
}

void weft_describe_rank(weft_rank_report_t *out)
{
    weft_report_begin(out);
    for (int i = 0; i < TRANSPORTS; i++) {
        if (is_open[i])
            transports[i]->describe(out);
    }
}

static int report_paths(void)
{
    weft_rank_report_t report;
    if (!weft_config.REPORT)
        return MPI_SUCCESS;
    weft_describe_rank(&report);
    return weft_report(&report);
}

/* What the layers above communicators need before there are any. */
static int open_layers(void)
{
    int err = weft_pt2pt_open();
    if (err == MPI_SUCCESS)
        err = weft_coll_open();
    if (err == MPI_SUCCESS)
        err = weft_devcoll_open();
    return err == MPI_SUCCESS ? weft_streams_open() : err;
}

int weft_start(int thread_level)
{
    weft_asymmetric_fence_open(); /* before PMIx has threads, as this takes milliseconds then */
    weft_config_read();
    if (weft_config.REJOIN)
        weft_config.RECOVERY = true;
    weft_log_open(-1);
    weft_world.abort = weft_abort_job;
    weft_out_of_memory_end = weft_abort_job;
    weft_world.reach = start_reach;
    weft_world.peer_lost = weft_pt2pt_peer_lost;
    weft_world.land = weft_packet_land;
    weft_world.awaits = weft_packet_is_awaited;
    weft_world.network_lost = weft_pt2pt_network_lost;
    weft_world.waited_long = weft_pt2pt_waited_long;
    weft_world_leave(WEFT_STAYS); /* it may have ended once before */
    weft_world.has_lost = weft_world.lacks_files = false;
    int err = start_join_job(thread_level);
    if (err != MPI_SUCCESS)
        return err;
    weft_simd_t simd = weft_simd_choose();
    weft_copy_select(simd);
    weft_op_select(simd);
    weft_permute_select(simd);
    err = open_layers();
    if (err == MPI_SUCCESS)
        err = weft_comm_open(); /* before others can send to us */
    weft_notes_open();
    if (err == MPI_SUCCESS)
        err = open_transports();
    if (err != MPI_SUCCESS)
        return err;
    if (weft_world.local_size == 1 && weft_world_wants_vcis())
        weft_world.vcis = WEFT_VCIS; /* for messages of this rank to itself */
    weft_vcis_open();
    weft_tool_tell_transports();
    weft_lock_open();
    /* After the transports, since it watches for libraries that are loaded after it; before
     * progress, since a message that comes early asks whether its sender's memory can be mapped. */
    weft_cuda_open();
    weft_progress_open(weft_world.doorbell);
    err = weft_detector_open();
    if (err != MPI_SUCCESS)
        return err;
    weft_world_set_threaded(thread_level == MPI_THREAD_MULTIPLE);
    if (weft_config.PROGRESS_THREAD)
        weft_progress_thread_open();
    WEFT_LOG(WEFT_INFO, "start", "%zu bytes of heap", weft_memory_in_use());
    weft_lock();
    err = report_paths();
    weft_unlock();
    if (weft_config.REJOIN)
        weft_pmi_started();
    return err;
}

/* Infos and error handlers work after MPI_Finalize (MPI 5.0, 11.4.1): if the program has some left,
 * they and the numbers of all handles stay. */
static void close_objects(void)
{
    weft_groups_close();
    weft_grequests_close();
    weft_keyvals_close();
    bool has_infos = !weft_infos_close(), has_handlers = !weft_errhandlers_close();
    if (!has_infos && !has_handlers)
        weft_handle_numbers_close();
}

void weft_report_world_end(void)
{
    weft_lock();
    if (weft_config.REPORT && weft_report_end() != MPI_SUCCESS)
        WEFT_LOG(WEFT_WARN, "start", "no report at the end: %s", weft_fail_text());
    weft_unlock();
}

int weft_stop_sending(bool is_end)
{
    weft_lock(); /* released at times while waiting */
    if (is_end)
        weft_streams_end();
    int err = weft_pt2pt_await_idle(is_end);
    if (is_end)
        weft_coll_end_checks();
    weft_unlock();
    return err;
}

void weft_rest(void)
{
    weft_lock();
    weft_bsend_release(weft_bsend_of_process());
    quiesce_transports(false); /* peers may end from now on, also while they are told */
    weft_pt2pt_tell_rest(true);
    quiesce_transports(true);
    weft_unlock();
    weft_pmi_rest();
}

void weft_resume(void)
{
    weft_pmi_wake();
    weft_lock();
    resume_transports();
    weft_pt2pt_tell_rest(false);
    weft_unlock();
}

void weft_end_rest(void)
{
    weft_world_leave(WEFT_GONE);
    weft_pmi_close();
}

void (*weft_on_stop)(void);

int weft_stop(void)
{
    weft_progress_thread_close();
    weft_lock();
    weft_bsend_close();
    weft_unlock();
    weft_world_set_threaded(false);
    weft_leaks_close();
    weft_detector_close();
    if (weft_on_stop != NULL)
        weft_on_stop();
    weft_comm_close();
    weft_consensus_close();
    weft_comm_idups_close();
    weft_comm_shrinks_close();
    weft_streams_close();
    weft_devcoll_close();
    weft_coll_close();
    weft_pt2pt_close();
    weft_cuda_close();
    forget_vcis();
    close_transports();
    weft_failures_close();
    weft_nodes_close();
    weft_hardware_close();
    weft_ops_close();
    weft_types_close();
    close_objects();
    return weft_pmi_close();
}
