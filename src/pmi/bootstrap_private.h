/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bootstraps: ways in which the ranks of a job learn of each other. pmi.c tries them in their
 * order, and passes the calls of pmi.h on to the one that has opened.
 */
#ifndef WEFT_PMI_BOOTSTRAP_PRIVATE_H
#define WEFT_PMI_BOOTSTRAP_PRIVATE_H

#include "pmi/pmi.h"
#include "base/rank_note.h"
#include "mpix.h"

/** Called between open and close only; the contract is that of weft_pmi_<function> in pmi.h. */
typedef struct weft_bootstrap_calls {
    int (*put)(const char *key, const void *data, size_t bytes);
    int (*publish)(const char *key, const void *data, size_t bytes);
    int (*fence)(void);
    int (*fence_ranks)(const int *ranks, int count);
    int (*get)(int rank, const char *key, void **out, size_t *bytes_out);
    int (*await)(int rank, const char *key, int limit_s, void **out, size_t *bytes_out);
    int (*find_nodes)(int *node_of);
    int (*find_psets)(weft_pmi_pset_t sets[]);
    void (*started)(void);
    void (*rest)(void);
    void (*wake)(void);
    /** Tell the others; the process ends afterwards. */
    void (*abort)(int code, const char *message, bool is_bereft);
    int (*close)(void);
} weft_bootstrap_calls_t;

typedef struct weft_bootstrap {
    const char *name; /* as WEFT_BOOTSTRAP has it */
    /** MPI_ERR_UNSUPPORTED_OPERATION: this process was not started in this way. */
    int (*open)(weft_pmi_job_t *out);
    const weft_bootstrap_calls_t *calls;
} weft_bootstrap_t;

/** A copy of a value, to be given to weft_free(). MPI_ERR_NO_MEM with a text. */
int weft_pmi_copy_value(const void *data, size_t bytes, void **out);

/** Find the pipe to Weft's mpirun that this process has inherited; programs that it starts do not
 *  inherit it.
 *  job  whose ranks have it; NULL: any */
void weft_pmi_notes_open(const char *job, int rank);

/** Tell mpirun. From any thread, at any time. text: NULL: none. false: there is no such pipe. */
bool weft_pmi_note(weft_note_kind_t kind, int code, const char *text);

extern const weft_bootstrap_t weft_program_bootstrap; /* what MPIX_Bootstrap_set has been given */
extern const weft_bootstrap_t weft_pmix_bootstrap;
extern const weft_bootstrap_t weft_file_bootstrap;
extern const weft_bootstrap_t weft_environment_bootstrap;
extern const weft_bootstrap_t weft_singleton_bootstrap;

/** Where WEFT_SIMULATE_HOSTS is set: put simulated hosts in the place of this one. MPI_ERR_OTHER;
 *  MPI_ERR_NO_MEM. */
int weft_pmi_simulate_hosts(weft_pmi_job_t *job);
bool weft_pmi_simulates(void);
/** As weft_pmi_find_nodes. */
int weft_pmi_simulated_nodes(int size, int *node_of);
void weft_pmi_end_simulation(void);

/** What the environment says of ranks without a launcher. */
typedef struct weft_environment_ranks {
    int rank, size;
    const char *address, *port; /* MASTER_ADDR and MASTER_PORT; NULL: not set */
} weft_environment_ranks_t;

/** RANK and WORLD_SIZE. *is_there: false: there are none, or the process is alone. MPI_ERR_OTHER
 *  when one is missing or is no number, or this process was started by a rank that has joined. */
int weft_pmi_read_ranks(weft_environment_ranks_t *out, bool *is_there);

/** Does the environment name a PMIx server? Fails when it shows that the launcher started several
 *  processes and has no server, or that another process has joined as this rank. */
int weft_pmi_find_server(bool *out);

/** Tell programs that this process runs that it has joined as its rank; take that back. Both change
 *  the environment. */
void weft_pmi_mark_process(const char *job, int rank);
void weft_pmi_unmark_process(void);

/** Fails when another process has joined as `rank` of `job`. variable: what to remove from the
 *  environment of a program that is a job of its own */
int weft_pmi_refuse_second_process(const char *job, const char *rank, const char *variable);

#endif
