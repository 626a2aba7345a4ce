/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/report.h"

#include "config.h"

#include "report/report_gpus.h"
#include "report/report_json.h"
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
#include "base/out_of_memory.h"
#include "mpi.h"

#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

enum { SHM_BYTES_GOOD = 256 << 20, HOSTS_BYTES_MOST = 160 };

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

/* ---- text for people ---- */

static void add_host(weft_report_text_t *text, const weft_job_facts_t *job, int rank)
{
    const weft_rank_report_t *report = &job->of[rank];
    char speed[32] = "";
    if (report->speed_mbit > 0)
        snprintf(speed, sizeof(speed), ", %g Gbit/s", report->speed_mbit / 1000.0);
    weft_report_add(text, "  %-16s %5d  %5d%-6s  %-28s  %s%s%s%s\n", report->host,
                    weft_job_host_ranks(job, rank), weft_job_host_cores(job, rank),
                    report->is_oversubscribed ? " short" : "", report->same_host,
                    report->other_hosts, report->interface[0] == '\0' ? "" : " at ",
                    report->interface, speed);
}

static void add_warning(weft_report_text_t *text, const weft_job_facts_t *job, const char *warning)
{
    const size_t begin = text->bytes;
    weft_report_add(text, "  warning: ");
    for (int rank = 0; rank < job->ranks; rank++) {
        if (!weft_job_speaks_for_host(job, rank) || !weft_job_host_is_warned(job, rank, warning))
            continue;
        bool is_first = text->bytes - begin <= strlen("  warning: ");
        if (text->bytes - begin > HOSTS_BYTES_MOST) {
            weft_report_add(text, ", ...");
            break;
        }
        weft_report_add(text, "%s%s", is_first ? "" : ", ", job->of[rank].host);
    }
    weft_report_add(text, ": %s\n", warning);
}

static void add_warnings(weft_report_text_t *text, const weft_job_facts_t *job)
{
    weft_job_warning_t at = {0};
    for (const char *warning; (warning = weft_job_next_warning(job, &at)) != NULL;)
        add_warning(text, job, warning);
}

/* Programs may choose their devices only after MPI_Init: ranks that had none then are named at the
 * end. */
static void add_end(weft_report_text_t *text, const weft_job_facts_t *job)
{
    int known = weft_gpus_known(job);
    if (known <= gpus_reported)
        return;
    weft_report_add(text, "weft: %d rank%s worked on GPUs\n", known, known == 1 ? "" : "s");
    weft_report_gpus(text, job);
    add_warnings(text, job);
}

static void add_simulation(weft_report_text_t *text)
{
    const char *link = weft_config.SIMULATE_LINK;
    weft_report_add(text, "  all hosts are simulated on %s: %s%s\n", weft_world.machine,
                    link[0] == '\0' ? "the network between them is its memory" : "the network has ",
                    link);
}

static void add_all(weft_report_text_t *text, const weft_job_facts_t *job)
{
    int hosts = weft_job_hosts(job);
    bool is_simulated = weft_world.machine[0] != '\0';
    weft_report_add(text, "weft: %d rank%s on %d %shost%s, libmpi_abi %s\n", job->ranks,
                    job->ranks == 1 ? "" : "s", hosts, is_simulated ? "simulated " : "",
                    hosts == 1 ? "" : "s", PACKAGE_VERSION);
    if (is_simulated)
        add_simulation(text);
    weft_report_add(text, "  %-16s %5s  %-11s  %-28s  %s\n", "host", "ranks", "cores", "same host",
                    "other hosts");
    for (int rank = 0; rank < job->ranks; rank++) {
        if (weft_job_speaks_for_host(job, rank))
            add_host(text, job, rank);
    }
    weft_report_gpus(text, job);
    add_warnings(text, job);
}

/* ---- gathering ---- */

/* Gather all ranks' facts at rank 0, where the caller frees job_out->of; NULL elsewhere. */
static int gather_facts(weft_comm_t *comm, const weft_rank_report_t *own, weft_job_facts_t *job_out)
{
    weft_rank_report_t *all = NULL;
    int ranks = comm->size;
    if (comm->rank == 0)
        all = weft_alloc_array((size_t)ranks, sizeof(*all));
    if (comm->rank == 0 && all == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a report of %d ranks", ranks);
    weft_coll_args_t args = weft_coll_args_of_bytes(comm, own, all, sizeof(*own));
    int err = weft_coll_run(WEFT_GATHER, &args);
    if (err != MPI_SUCCESS) {
        weft_free(all);
        return err;
    }
    *job_out = (weft_job_facts_t){all, ranks};
    return MPI_SUCCESS;
}

static int print(const weft_rank_report_t *own,
                 void (*add)(weft_report_text_t *text, const weft_job_facts_t *job))
{
    weft_job_facts_t job = {NULL, 0};
    weft_report_text_t text = {0};
    int err = gather_facts(&weft_comm_world, own, &job);
    if (job.of != NULL) {
        add(&text, &job);
        gpus_reported = weft_gpus_known(&job);
        if (text.at != NULL)
            fprintf(stderr, "%s", text.at);
        fflush(stderr);
    }
    weft_report_text_clear(&text);
    weft_free(job.of);
    return err;
}

int weft_report(const weft_rank_report_t *own)
{
    return print(own, add_all);
}

int weft_report_end(void)
{
    weft_rank_report_t own;
    begin_facts(&own);
    if (weft_device != NULL)
        weft_device->describe(&own);
    return print(&own, add_end);
}

static int give_out(weft_comm_t *comm, void *buf, size_t bytes)
{
    weft_coll_args_t args = {.comm = comm,
                             .send_buf = buf,
                             .send_count = (MPI_Count)bytes,
                             .send_type = weft_type_of(MPI_BYTE)};
    return weft_coll_run(WEFT_BCAST, &args);
}

/* Rank 0 has written the text, or has had no memory for it: then all fail. */
static int give_out_text(weft_comm_t *comm, weft_report_text_t *text)
{
    size_t bytes = text->at == NULL || text->is_short ? 0 : text->bytes + 1;
    int err = give_out(comm, &bytes, sizeof(bytes));
    if (err != MPI_SUCCESS)
        return err;
    if (bytes == 0)
        return weft_fail(MPI_ERR_NO_MEM, "rank 0 has no memory for the text");
    if (text->at == NULL)
        text->at = weft_alloc(bytes);
    if (text->at == NULL)
        weft_out_of_memory("a report", bytes);
    text->bytes = bytes - 1;
    err = give_out(comm, text->at, bytes);
    return err;
}

int weft_report_write(weft_comm_t *comm, const weft_rank_report_t *own, weft_report_form_t form,
                      weft_report_text_t *out)
{
    weft_job_facts_t job = {NULL, 0};
    weft_report_text_t text = {0};
    int err = gather_facts(comm, own, &job);
    if (err != MPI_SUCCESS)
        return err;
    if (job.of != NULL && form == WEFT_REPORT_JSON)
        weft_report_json(&text, &job);
    else if (job.of != NULL)
        add_all(&text, &job);
    weft_free(job.of);
    err = give_out_text(comm, &text);
    if (err != MPI_SUCCESS) {
        weft_report_text_clear(&text);
        return err;
    }
    *out = text;
    return MPI_SUCCESS;
}
