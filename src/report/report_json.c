/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/report_json.h"

#include "config.h"

#include "runtime/world.h"

#include <string.h>

static void add_string(weft_report_text_t *text, const char *value)
{
    weft_report_add(text, "\"");
    for (; *value != '\0'; value++) {
        unsigned char letter = (unsigned char)*value;
        if (letter == '"' || letter == '\\')
            weft_report_add(text, "\\%c", letter);
        else if (letter < ' ')
            weft_report_add(text, "\\u%04x", letter);
        else
            weft_report_add(text, "%c", letter);
    }
    weft_report_add(text, "\"");
}

static void add_member(weft_report_text_t *text, const char *name, const char *value)
{
    weft_report_add(text, ", \"%s\": ", name);
    add_string(text, value);
}

static void add_ranks(weft_report_text_t *text, const weft_job_facts_t *job, int rank,
                      weft_job_relation_t *are_related)
{
    bool is_first = true;
    weft_report_add(text, "\"ranks\": [");
    for (int i = 0; i < job->ranks; i++) {
        if (!are_related(job, i, rank))
            continue;
        weft_report_add(text, "%s%d", is_first ? "" : ", ", i);
        is_first = false;
    }
    weft_report_add(text, "]");
}

static void add_gpus(weft_report_text_t *text, const weft_job_facts_t *job, int host_rank)
{
    bool is_first = true;
    weft_report_add(text, ", \"gpus\": [");
    for (int rank = host_rank; rank < job->ranks; rank++) {
        if (!weft_job_same_host(job, rank, host_rank) ||
            !weft_job_is_first_with_gpu(job, rank, weft_job_share_gpu))
            continue;
        weft_report_add(text, "%s{", is_first ? "" : ", ");
        add_ranks(text, job, rank, weft_job_share_gpu);
        add_member(text, "pci", job->of[rank].gpu.pci);
        add_member(text, "kernels", job->of[rank].gpu.kernels);
        weft_report_add(text, ", \"mps\": %s}",
                        weft_job_shares_by_mps(job, rank) ? "true" : "false");
        is_first = false;
    }
    weft_report_add(text, "]");
}

static void add_host(weft_report_text_t *text, const weft_job_facts_t *job, int rank)
{
    const weft_rank_report_t *report = &job->of[rank];
    weft_report_add(text, "{\"host\": ");
    add_string(text, report->host);
    weft_report_add(text, ", ");
    add_ranks(text, job, rank, weft_job_same_host);
    weft_report_add(text, ", \"cores\": %d, \"oversubscribed\": %s", weft_job_host_cores(job, rank),
                    report->is_oversubscribed ? "true" : "false");
    add_member(text, "same_host", report->same_host);
    add_member(text, "other_hosts", report->other_hosts);
    add_member(text, "interface", report->interface);
    if (report->speed_mbit > 0)
        weft_report_add(text, ", \"gbit_per_s\": %g", report->speed_mbit / 1000.0);
    else
        weft_report_add(text, ", \"gbit_per_s\": null");
    add_gpus(text, job, rank);
    weft_report_add(text, "}");
}

static void add_hosts(weft_report_text_t *text, const weft_job_facts_t *job)
{
    weft_report_add(text, ", \"hosts\": [");
    for (int rank = 0; rank < job->ranks; rank++) {
        if (!weft_job_speaks_for_host(job, rank))
            continue;
        weft_report_add(text, "%s", rank == 0 ? "" : ", ");
        add_host(text, job, rank);
    }
    weft_report_add(text, "]");
}

static void add_warning(weft_report_text_t *text, const weft_job_facts_t *job, const char *warning)
{
    bool is_first = true;
    weft_report_add(text, "{\"hosts\": [");
    for (int rank = 0; rank < job->ranks; rank++) {
        if (!weft_job_speaks_for_host(job, rank) || !weft_job_host_is_warned(job, rank, warning))
            continue;
        weft_report_add(text, "%s", is_first ? "" : ", ");
        add_string(text, job->of[rank].host);
        is_first = false;
    }
    weft_report_add(text, "]");
    add_member(text, "text", warning);
    weft_report_add(text, "}");
}

void weft_report_json(weft_report_text_t *text, const weft_job_facts_t *job)
{
    weft_report_add(text,
                    "{\"version\": \"%s\", \"ranks\": %d, \"simulated_on\": ", PACKAGE_VERSION,
                    job->ranks);
    if (weft_world.machine[0] != '\0')
        add_string(text, weft_world.machine);
    else
        weft_report_add(text, "null");
    add_hosts(text, job);
    weft_report_add(text, ", \"warnings\": [");
    weft_job_warning_t at = {0};
    bool is_first = true;
    for (const char *warning; (warning = weft_job_next_warning(job, &at)) != NULL;) {
        weft_report_add(text, "%s", is_first ? "" : ", ");
        add_warning(text, job, warning);
        is_first = false;
    }
    weft_report_add(text, "]}\n");
}
