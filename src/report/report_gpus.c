/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/report_gpus.h"

#include "base/config.h"

#include <stdio.h>
#include <string.h>

enum { LIST_BYTES = 96, PAIRS_MOST = 8 };

typedef enum reach { REACHED, NOT_REACHED, NOT_SEEN } reach_t;

static const weft_gpu_report_t *gpu_of(const weft_job_facts_t *job, int rank)
{
    return &job->of[rank].gpu;
}

static bool are_neighbours(const weft_job_facts_t *job, int a, int b)
{
    return weft_job_knows_gpu(job, a) && weft_job_knows_gpu(job, b) &&
           weft_job_same_host(job, a, b);
}

static int count_related(const weft_job_facts_t *job, int rank, weft_job_relation_t *are_related)
{
    int count = 0;
    for (int i = 0; i < job->ranks; i++)
        count += are_related(job, i, rank);
    return count;
}

int weft_gpus_known(const weft_job_facts_t *job)
{
    int count = 0;
    for (int i = 0; i < job->ranks; i++)
        count += weft_job_knows_gpu(job, i);
    return count;
}

/* ---- lists of ranks ---- */

static bool is_unknown_like(const weft_job_facts_t *job, int a, int b)
{
    return !weft_job_knows_gpu(job, a) && !weft_job_knows_gpu(job, b);
}

/* "0-3, 7": the ranks related to `rank`; cut off where it becomes too long. */
static void list_ranks(const weft_job_facts_t *job, int rank, weft_job_relation_t *are_related,
                       char out[LIST_BYTES])
{
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < job->ranks; i++) {
        int last = i;
        if (!are_related(job, i, rank))
            continue;
        while (last + 1 < job->ranks && are_related(job, last + 1, rank))
            last++;
        if (used + 32 > LIST_BYTES) {
            snprintf(out + used, LIST_BYTES - used, ", ...");
            return;
        }
        used += (size_t)snprintf(out + used, LIST_BYTES - used, "%s%d", used == 0 ? "" : ", ", i);
        if (last > i)
            used += (size_t)snprintf(out + used, LIST_BYTES - used, "-%d", last);
        i = last;
    }
}

/* ---- GPUs ---- */

/* How the ranks of a GPU get along on it. */
static const char *sharing_of(const weft_job_facts_t *job, int rank)
{
    if (count_related(job, rank, weft_job_share_gpu) == 1)
        return "";
    return weft_job_shares_by_mps(job, rank)
               ? "; run side by side, by MPS"
               : "; take turns (mpirun --mps lets them run side by side)";
}

static void add_gpu(weft_report_text_t *text, const weft_job_facts_t *job, int rank)
{
    char ranks[LIST_BYTES];
    int count = count_related(job, rank, weft_job_share_gpu);
    list_ranks(job, rank, weft_job_share_gpu, ranks);
    weft_report_add(text, "  %-16s GPU %-12s  %d rank%s: %s; kernels: %s%s\n", job->of[rank].host,
                    gpu_of(job, rank)->pci, count, count == 1 ? "" : "s", ranks,
                    gpu_of(job, rank)->kernels, sharing_of(job, rank));
}

static void add_unknown(weft_report_text_t *text, const weft_job_facts_t *job)
{
    char ranks[LIST_BYTES];
    for (int i = 0; i < job->ranks; i++) {
        if (weft_job_knows_gpu(job, i))
            continue;
        list_ranks(job, i, is_unknown_like, ranks);
        weft_report_add(text, "  no CUDA context yet: rank%s %s\n",
                        strpbrk(ranks, "-,") == NULL ? "" : "s", ranks);
        return;
    }
}

/* ---- pairs of GPUs ---- */

static reach_t reach_from(const weft_gpu_report_t *own, const weft_gpu_report_t *other)
{
    for (int i = 0; i < own->seen_count; i++) {
        if (memcmp(own->seen[i], other->uuid, sizeof(other->uuid)) == 0)
            return (own->reached >> i & 1) != 0 ? REACHED : NOT_REACHED;
    }
    return NOT_SEEN;
}

/* Messages go in both directions, so the worse one counts. */
static reach_t reach_between(const weft_job_facts_t *job, int a, int b)
{
    reach_t there = reach_from(gpu_of(job, a), gpu_of(job, b)),
            back = reach_from(gpu_of(job, b), gpu_of(job, a));
    return there > back ? there : back;
}

typedef struct pairs {
    int count[NOT_SEEN + 1]; /* by reach_t */
    int told;
} pairs_t;

static void count_pair(weft_report_text_t *text, const weft_job_facts_t *job, int a, int b,
                       pairs_t *pairs)
{
    static const char *const ways[] = {
        [NOT_REACHED] = "through pinned memory, they have no peer access",
        [NOT_SEEN] = "perhaps through pinned memory, the ranks of one do not see the other"};
    reach_t reach = reach_between(job, a, b);
    pairs->count[reach]++;
    if (reach == REACHED || pairs->told++ >= PAIRS_MOST)
        return;
    weft_report_add(text, "  %-16s GPUs %s and %s: %s\n", job->of[a].host, gpu_of(job, a)->pci,
                    gpu_of(job, b)->pci, ways[reach]);
}

static pairs_t count_pairs(weft_report_text_t *text, const weft_job_facts_t *job, int rank)
{
    pairs_t pairs = {.told = 0};
    for (int a = rank; a < job->ranks; a++) {
        if (!are_neighbours(job, a, rank) ||
            !weft_job_is_first_with_gpu(job, a, weft_job_share_gpu))
            continue;
        for (int b = a + 1; b < job->ranks; b++) {
            if (are_neighbours(job, a, b) && weft_job_is_first_with_gpu(job, b, weft_job_share_gpu))
                count_pair(text, job, a, b, &pairs);
        }
    }
    if (pairs.told > PAIRS_MOST)
        weft_report_add(text, "  %-16s and %d more pairs of GPUs\n", job->of[rank].host,
                        pairs.told - PAIRS_MOST);
    return pairs;
}

static void warn_of_pairs(weft_report_text_t *text, const char *host, const pairs_t *pairs)
{
    if (pairs->count[NOT_REACHED] > 0)
        weft_report_add(
            text,
            "  warning: %s: GPUs cannot reach each other's memory: what goes between them "
            "takes the "
            "bus twice; nvidia-smi topo -p2p r says why\n",
            host);
    if (pairs->count[NOT_SEEN] > 0)
        weft_report_add(
            text,
            "  warning: %s: ranks do not see each other's GPUs and may not be able to map "
            "their memory: let "
            "each rank see all (--gpu-bind=none, CUDA_VISIBLE_DEVICES)\n",
            host);
}

static void warn_of_crowd(weft_report_text_t *text, const weft_job_facts_t *job, int rank)
{
    int ranks = count_related(job, rank, weft_job_share_gpu), seen = gpu_of(job, rank)->seen_count;
    if (ranks > 1 && seen > 1 && ranks == count_related(job, rank, are_neighbours))
        weft_report_add(
            text,
            "  warning: %s: all %d ranks work on GPU %s, but see %d: choose one by the rank "
            "within the host, "
            "say cudaSetDevice(local rank %% %d)\n",
            job->of[rank].host, ranks, gpu_of(job, rank)->pci, seen, seen);
}

/* How memory goes between the ranks of a host, whose first rank is `rank`. */
static void add_ways(weft_report_text_t *text, const weft_job_facts_t *job, int rank)
{
    if (count_related(job, rank, are_neighbours) == 1)
        return;
    const char *host = job->of[rank].host;
    if (strcmp(weft_config.DEVICE_IPC, "no") == 0) {
        weft_report_add(text, "  %-16s between ranks: through pinned memory\n", host);
    } else {
        pairs_t pairs = count_pairs(text, job, rank);
        bool are_some_bad = pairs.count[NOT_REACHED] + pairs.count[NOT_SEEN] > 0;
        weft_report_add(text, "  %-16s between%s ranks: CUDA IPC%s\n", host,
                        are_some_bad ? " other" : "",
                        pairs.count[REACHED] > 0 ? " and peer access" : "");
        warn_of_pairs(text, host, &pairs);
    }
    warn_of_crowd(text, job, rank);
}

void weft_report_gpus(weft_report_text_t *text, const weft_job_facts_t *job)
{
    bool is_in_use = false;
    for (int i = 0; i < job->ranks; i++)
        is_in_use = is_in_use || gpu_of(job, i)->state != WEFT_GPU_NONE;
    if (!is_in_use)
        return;
    for (int i = 0; i < job->ranks; i++) {
        if (weft_job_is_first_with_gpu(job, i, weft_job_share_gpu))
            add_gpu(text, job, i);
    }
    add_unknown(text, job);
    for (int i = 0; i < job->ranks; i++) {
        if (weft_job_is_first_with_gpu(job, i, are_neighbours))
            add_ways(text, job, i);
    }
}
