/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tells which rank this process is and where the others are, and lets ranks exchange small values
 * at start-up through a key-value space. A client of PMIx: it works under Weft's mpirun,
 * `srun --mpi=pmix` and any other launcher with a PMIx server.
 *
 *   weft_pmi_open -> weft_pmi_put ... -> weft_pmi_fence -> weft_pmi_get ... -> weft_pmi_close
 *
 * For start-up and the end only: calls may take milliseconds. One thread at a time, except
 * weft_pmi_abort().
 */
#ifndef WEFT_PMI_PMI_H
#define WEFT_PMI_PMI_H

#include <stdbool.h>
#include <stddef.h>

typedef struct weft_pmi_job {
    int rank, size;         /* in MPI_COMM_WORLD */
    int local_rank;         /* index of this rank in local_ranks */
    int local_size;         /* == size: all ranks are on this host */
    const int *local_ranks; /* [local_size] world ranks on this host, ascending; until close */
    int app_number;         /* MPI_APPNUM */
    int universe_size;      /* MPI_UNIVERSE_SIZE; never below size */
    bool is_singleton;      /* started without a launcher */
    char hostname[256];
    char machine[256]; /* of simulated hosts: the host on which all of them are; else "" */
    bool is_crowded;   /* of simulated hosts: the machine has fewer cores than ranks */
    /* Names the job on this host; letters, digits and "-._" only. Weft's mpirun removes every file
     * of /dev/shm whose name begins with the id and a dot when the job ends, however it ends. */
    char id[256];
} weft_pmi_job_t;

/** Keep what MPIX_Bootstrap_set has been given, for the next weft_pmi_open(); NULL: forget it.
 *  MPI_ERR_NO_MEM. */
struct MPIX_Bootstrap;
int weft_pmi_take_bootstrap(const struct MPIX_Bootstrap *bootstrap);

/**
 * Connect to the launcher; collective over all ranks that were started together. Without a launcher
 * the process becomes a singleton, at no cost.
 * returns  MPI_SUCCESS; MPI_ERR_OTHER when the launcher has no PMIx server for it (so that N ranks
 *          never become N singletons), the server fails, or ranks have not come in time;
 *          MPI_ERR_NO_MEM
 */
int weft_pmi_open(weft_pmi_job_t *out);

/** Put a copy of `bytes` bytes of `data` under `key`, which has at most 500 letters; other ranks
 * see it after the next fence. */
int weft_pmi_put(const char *key, const void *data, size_t bytes);

/** Wait until all ranks have called this; what they put before the call is visible after it. */
int weft_pmi_fence(void);

/** As weft_pmi_put, but visible at once, without a fence: others get it with weft_pmi_await. */
int weft_pmi_publish(const char *key, const void *data, size_t bytes);

/** Wait until the `count` ranks of ranks[] (the caller among them, in the same order on every rank)
 * have called this. Publishes nothing. */
int weft_pmi_fence_ranks(const int *ranks, int count);

/**
 * What world rank `rank` put under `key` before the last fence. Never waits for a missing key. One
 * round trip to the launcher (some 50 us, one rank at a time), so N * N of them are to be avoided.
 * out      to be given to weft_free(), `bytes_out` long
 * returns  MPI_SUCCESS; MPI_ERR_OTHER when there is no such key; MPI_ERR_NO_MEM
 */
int weft_pmi_get(int rank, const char *key, void **out, size_t *bytes_out);

/**
 * What world rank `rank` publishes under `key`; works across hosts and needs no fence. Waits at
 * most `limit_s` seconds for it.
 * out      to be given to weft_free(), `bytes_out` long
 * returns  MPI_SUCCESS; MPI_ERR_OTHER when it did not come; MPI_ERR_NO_MEM
 */
int weft_pmi_await(int rank, const char *key, int limit_s, void **out, size_t *bytes_out);

/**
 * On which host each rank is.
 * node_of  [size] set: a number below the size for each host, in no particular order
 * returns  MPI_SUCCESS; MPI_ERR_OTHER when the launcher does not tell; MPI_ERR_NO_MEM
 */
int weft_pmi_find_nodes(int *node_of);

/** A process set of the launcher, of which this process is a member. */
typedef struct weft_pmi_pset {
    char *name; /* both from weft_alloc */
    int *ranks; /* [size] world ranks, ascending */
    int size;
} weft_pmi_pset_t;

enum { WEFT_PMI_PSETS = 32 };

/** The launcher's process sets, as far as they consist of ranks of this job. Fills in as many of
 * sets[WEFT_PMI_PSETS] as it returns. */
int weft_pmi_find_psets(weft_pmi_pset_t sets[]);

/** With WEFT_REJOIN: the library has started here, and learns of lost ranks by itself. */
void weft_pmi_started(void);

/** This process does not use the job for now, and may end in any way; what is known of the job
 * stays valid. Launchers other than Weft's want weft_pmi_close() before the end even so. */
void weft_pmi_rest(void);
/** It uses the job again. */
void weft_pmi_wake(void);

/** End all ranks of the job (MPI 5.0 section 9.7, MPI_Abort). This process or the launcher prints
 * `message` ("": neither does), and the launcher returns `code`. From any thread, at any time. */
void weft_pmi_abort(int code, const char *message, bool is_bereft) __attribute__((noreturn));

/** Leave the job: the launcher takes an exit without this call for a failure. Waits for no other
 *  rank. Frees local_ranks. */
int weft_pmi_close(void);

#endif
