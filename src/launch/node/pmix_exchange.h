/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the PMIx server of a host wants of other hosts: fences that cross hosts, and data of ranks
 * elsewhere. Upcalls come on PMIx's thread and are handed to the daemon's loop as requests, through
 * a pipe; answers may be given from the loop at any time.
 *
 *   PMIx thread: fence_nb, direct_modex --pipe--> loop: wl_exchange_next ... wl_exchange_answer
 *   loop: wl_exchange_look_up -> PMIx thread --pipe--> loop: a request of kind WL_REQUEST_LOOKED_UP
 */
#ifndef WEFT_LAUNCH_NODE_PMIX_EXCHANGE_H
#define WEFT_LAUNCH_NODE_PMIX_EXCHANGE_H

#include "base/list.h"

#include <pmix_server.h>
#include <stddef.h>
#include <stdint.h>

typedef enum wl_pmix_request_kind {
    WL_REQUEST_FENCE,     /* all ranks of this host that take part have come */
    WL_REQUEST_GET,       /* data of a rank of another host are wanted here */
    WL_REQUEST_LOOKED_UP, /* the answer to wl_exchange_look_up(); to be released */
} wl_pmix_request_kind_t;

/** What a fence is for; fences of the same ranks for different purposes are different fences. */
typedef enum wl_fence_purpose {
    WL_FOR_FENCE,
    WL_FOR_CONNECT,
    WL_FOR_DISCONNECT
} wl_fence_purpose_t;

typedef struct wl_pmix_request {
    weft_link_t link; /* used by the loop, to keep the request in a list */
    wl_pmix_request_kind_t kind;
    wl_fence_purpose_t purpose; /* of a fence */
    int *ranks;                 /* [count] of a fence, ascending; count 0: all ranks of the job */
    int count;
    int rank;   /* whose data */
    char *key;  /* the key that is wanted; NULL: unknown */
    char *data; /* [bytes] what the fence brings, or what was looked up */
    size_t bytes;
    int status;           /* of WL_REQUEST_LOOKED_UP: a status of PMIx */
    int64_t timeout_s;    /* the client's limit; 0: none */
    int64_t answer_by_ms; /* used by the loop, to keep the limit */
    int64_t try_at_ms;    /* used by the loop, to look up again */
    int tries;
    int asker;                  /* of WL_REQUEST_LOOKED_UP: as given */
    uint64_t number;            /* the same */
    pmix_modex_cbfunc_t answer; /* PMIx wants this one called, or: */
    pmix_op_cbfunc_t done;
    void *cookie;
} wl_pmix_request_t;

/**
 * job       the namespace of the job
 * pipe_out  readable when there is a request
 * returns   MPI_SUCCESS; MPI_ERR_SERVICE
 */
int wl_exchange_open(const char *job, int *pipe_out);

/** Fill in the entries of the server's table that this module serves. */
void wl_exchange_add_upcalls(pmix_server_module_t *upcalls);

/** The next request, which the caller owns; NULL when there is none. Never blocks. */
wl_pmix_request_t *wl_exchange_next(void);

/** Answer a fence or a get with a copy of `data` and a status of PMIx; the request is released. */
void wl_exchange_answer(wl_pmix_request_t *request, int status, const char *data, size_t bytes);

/**
 * Ask our server for what request->rank, a rank of this host, has committed; the server waits for
 * the first commit. The request (kind WL_REQUEST_LOOKED_UP; rank, asker, number and key set) comes
 * back with data or with a status; PMIX_ERR_NOT_FOUND: there are data, but not the key.
 */
void wl_exchange_look_up(wl_pmix_request_t *request);

void wl_exchange_release(wl_pmix_request_t *request);

#endif
