/* SPDX-License-Identifier: BSD-3-Clause */
/* What the PMIx server of a host wants of other hosts: fences that cross hosts, and data of ranks
 * elsewhere. */
#ifndef WEFT_LAUNCH_NODE_PMIX_REQUEST_H
#define WEFT_LAUNCH_NODE_PMIX_REQUEST_H

#include "base/list.h"

#include <stddef.h>
#include <stdint.h>

typedef enum wl_pmix_request_kind {
    WL_REQUEST_FENCE,     /* all ranks of this host that take part have come */
    WL_REQUEST_GET,       /* data of a rank of another host are wanted here */
    WL_REQUEST_LOOKED_UP, /* the answer to wl_pmix_look_up(); to be released */
} wl_pmix_request_kind_t;

/** What a fence is for; fences of the same ranks for different purposes are different fences. */
typedef enum wl_fence_purpose {
    WL_FOR_FENCE,
    WL_FOR_CONNECT,
    WL_FOR_DISCONNECT
} wl_fence_purpose_t;

struct wl_pmix_server;

typedef struct wl_pmix_request {
    weft_link_t link; /* used by the loop, to keep the request in a list */
    struct wl_pmix_server *server;
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
    int asker;       /* of WL_REQUEST_LOOKED_UP: as given */
    uint64_t number; /* the same */
    uint64_t call;   /* the server's name for it */
} wl_pmix_request_t;

/** When the client's limit ends, from now on; INT64_MAX: never. */
int64_t wl_pmix_request_end_ms(const wl_pmix_request_t *request);

void wl_pmix_request_release(wl_pmix_request_t *request);

#endif
