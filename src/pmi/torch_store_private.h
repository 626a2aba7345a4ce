/* SPDX-License-Identifier: BSD-3-Clause */
/* A client of torch's TCPStore: the callbacks of MPIX_Bootstrap over one. */
#ifndef WEFT_PMI_TORCH_STORE_PRIVATE_H
#define WEFT_PMI_TORCH_STORE_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>

/** The state of the callbacks; the texts are the caller's. */
typedef struct weft_torch_store {
    const char *address, *port;
    char prefix[300]; /* of the keys */
} weft_torch_store_t;

/** Room for a value. */
typedef struct weft_torch_value {
    void *data; /* [room] */
    size_t room, bytes;
} weft_torch_value_t;

/** Does a TCPStore answer there? */
bool weft_torch_store_is_there(const weft_torch_store_t *store);

int weft_torch_store_put(void *state, const char *key, const void *data, size_t bytes);
int weft_torch_store_get(void *state, const char *key, int limit_ms, void *out, size_t room,
                         size_t *bytes_out);

#endif
