/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/report.h"

#include "config.h"

#include "report/report_gpus.h"
#include "coll/coll.h"
#include "datatype/type.h"
#include "object/comm.h"
#include "runtime/device.h"
#include "runtime/nodes.h"
#include "runtime/world.h"
#include "base/config.h"
#include "base/cpu.h"
#include "base/fail.h"
#include "base/memory.h"
#include "mpi.h"

#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

enum { SHM_BYTES_GOOD = 256 << 20, TEXT_BYTES = 160 };

static int gpus_reported; /* ranks whose GPU was known at the start; set on rank 0 only */

/* Weft's segments need no /dev/shm as a rule, but other libraries in the same program do. */
static void look_at_shm(weft_rank_report_t *report)
{
    struct statvfs shm;
    if (statvfs("/dev/shm", &shm) != 0) {
        weft_rank_report_warn(report,
                              "there is no /dev/shm: Weft does without, others (WEFT_SHM=file, "
                              "NCCL) do not; mount a tmpfs there");
        return;
    }
    uint64_t bytes = (uint64_t)shm.f_blocks * shm.f_frsize;
    if (bytes < SHM_BYTES_GOOD)
        weft_rank_report_warn(report,
                              "/dev/shm has only %llu MB: Weft does without, others (WEFT_SHM="
                              "file, NCCL) fail or slow down; mount -o remount,size=2G /dev/shm",
                              (unsigned long long)(bytes >> 20));
}

static void begin_facts(weft_rank_report_t *out)
{
    memset(out, 0, sizeof(*out)); /* padding too, since it is sent */
    snprintf(out->host, sizeof(out->host), "%.63s", weft_world.host);
}

void weft_report_begin(weft_rank_report_t *out)
{
    begin_facts(out);
    out->rank = weft_world.rank;
    out->local_size = weft_world.local_size;
    out->cpus = weft_cpus_allowed();
    out->is_oversubscribed = weft_world.is_oversubscribed;
    if (weft_world.is_oversubscribed)
        weft_rank_report_warn(
            out, "more ranks than cores: ranks take turns; they yield at once and sleep "
                 "early (fewer ranks, or more cores, are faster)");
    look_at_shm(out);
    if (strcmp(weft_config.DEVICE, "no") == 0)
        weft_rank_report_warn(out, "WEFT_DEVICE=no: device memory cannot be given to MPI");
    if (weft_device != NULL)
        weft_device->describe(out);
}

/* ---- printing ---- */

static int compare_hosts(const weft_rank_report_t *a, const weft_rank_report_t *b)
{
    return strcmp(a->host, b->host);
}

/* The first rank of each host speaks for it. */
static bool speaks_for_host(const weft_rank_report_t *all, int rank)
{
    for (int i = 0; i < rank; i++) {
        if (compare_hosts(&all[i], &all[rank]) == 0)
            return false;
    }
    return true;
}

/* Processors that the ranks of a host have together. */
static int count_cores(const weft_rank_report_t *all, const weft_rank_report_t *host)
{
    weft_cpus_t cpus = {{0}};
    for (int rank = 0; rank < weft_world.size; rank++) {
        if (compare_hosts(&all[rank], host) == 0)
            weft_cpus_add(&cpus, &all[rank].cpus);
    }
    return weft_cpus_count(&cpus);
}

static void print_host(const weft_rank_report_t *all, const weft_rank_report_t *report)
{
    char speed[32] = "";
    if (report->speed_mbit > 0)
        snprintf(speed, sizeof(speed), ", %g Gbit/s", report->speed_mbit / 1000.0);
    fprintf(stderr, "  %-16s %5d  %5d%-6s  %-28s  %s%s%s%s\n", report->host, report->local_size,
            count_cores(all, report), report->is_oversubscribed ? " short" : "", report->same_host,
            report->other_hosts, report->interface[0] == '\0' ? "" : " at ", report->interface,
            speed);
}

/* List the hosts that have `warning`, and clear it there, so that it is printed once. */
static void gather_hosts(weft_rank_report_t *all, const char *warning, char *hosts)
{
    size_t used = 0;
    for (int rank = 0; rank < weft_world.size; rank++) {
        for (int i = 0; i < all[rank].warning_count; i++) {
            if (strcmp(all[rank].warnings[i], warning) != 0)
                continue;
            if (used < TEXT_BYTES && speaks_for_host(all, rank))
                used += (size_t)snprintf(hosts + used, TEXT_BYTES - used, "%s%s",
                                         used == 0 ? "" : ", ", all[rank].host);
            all[rank].warnings[i][0] = '\0';
        }
    }
}

static void print_warnings(weft_rank_report_t *all)
{
    for (int rank = 0; rank < weft_world.size; rank++) {
        for (int i = 0; i < all[rank].warning_count; i++) {
            char warning[WEFT_WARNING_BYTES], hosts[TEXT_BYTES] = "";
            memcpy(warning, all[rank].warnings[i], sizeof(warning));
            if (warning[0] == '\0')
                continue;
            snprintf(hosts, sizeof(hosts), "%s", all[rank].host);
            gather_hosts(all, warning, hosts);
            fprintf(stderr, "  warning: %s: %s\n", hosts, warning);
        }
    }
}

/* Programs may choose their devices only after MPI_Init: ranks that had none then are named at the
 * end. */
static void print_end(weft_rank_report_t *all)
{
    weft_job_facts_t job = {all, weft_world.size};
    int known = weft_gpus_known(&job);
    if (known <= gpus_reported)
        return;
    fprintf(stderr, "weft: %d rank%s worked on GPUs\n", known, known == 1 ? "" : "s");
    weft_report_gpus(&job);
    print_warnings(all);
    fflush(stderr);
}

static void print_simulation(void)
{
    const char *link = weft_config.SIMULATE_LINK;
    fprintf(stderr, "  all hosts are simulated on %s: %s%s\n", weft_world.machine,
            link[0] == '\0' ? "the network between them is its memory" : "the network has ", link);
}

static void print(weft_rank_report_t *all)
{
    int hosts = 0;
    for (int rank = 0; rank < weft_world.size; rank++)
        hosts += speaks_for_host(all, rank);
    bool is_simulated = weft_world.machine[0] != '\0';
    fprintf(stderr, "weft: %d rank%s on %d %shost%s, libmpi_abi %s\n", weft_world.size,
            weft_world.size == 1 ? "" : "s", hosts, is_simulated ? "simulated " : "",
            hosts == 1 ? "" : "s", PACKAGE_VERSION);
    if (is_simulated)
        print_simulation();
    fprintf(stderr, "  %-16s %5s  %-11s  %-28s  %s\n", "host", "ranks", "cores", "same host",
            "other hosts");
    for (int rank = 0; rank < weft_world.size; rank++) {
        if (speaks_for_host(all, rank))
            print_host(all, &all[rank]);
    }
    weft_job_facts_t job = {all, weft_world.size};
    weft_report_gpus(&job);
    gpus_reported = weft_gpus_known(&job);
    print_warnings(all);
    fflush(stderr);
}

/* Gather all ranks' facts at rank 0, where the caller frees them; NULL elsewhere. */
static int gather_facts(const weft_rank_report_t *own, weft_rank_report_t **all_out)
{
    weft_rank_report_t *all = NULL;
    if (weft_world.rank == 0)
        all = weft_alloc_array((size_t)weft_world.size, sizeof(*all));
    if (weft_world.rank == 0 && all == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a report of %d ranks", weft_world.size);
    weft_coll_args_t args = {.comm = &weft_comm_world,
                             .send_buf = own,
                             .send_count = sizeof(*own),
                             .send_type = weft_type_of(MPI_BYTE),
                             .recv_buf = all,
                             .recv_count = sizeof(*own),
                             .recv_type = weft_type_of(MPI_BYTE)};
    int err = weft_coll_run(WEFT_GATHER, &args);
    if (err != MPI_SUCCESS) {
        weft_free(all);
        return err;
    }
    *all_out = all;
    return MPI_SUCCESS;
}

int weft_report(const weft_rank_report_t *own)
{
    weft_rank_report_t *all = NULL;
    int err = gather_facts(own, &all);
    if (all != NULL)
        print(all);
    weft_free(all);
    return err;
}

int weft_report_end(void)
{
    weft_rank_report_t own, *all = NULL;
    begin_facts(&own);
    if (weft_device != NULL)
        weft_device->describe(&own);
    int err = gather_facts(&own, &all);
    if (all != NULL)
        print_end(all);
    weft_free(all);
    return err;
}
