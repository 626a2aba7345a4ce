/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions for those entries of the tables that a transport has no use for. */
#include "runtime/transport.h"

#include "base/copy.h"

#include "mpi.h"

void weft_no_flush(weft_endpoint_t *endpoint)
{
    (void)endpoint;
}

bool weft_no_peek(weft_endpoint_t *endpoint, weft_header_t *header, const void **payload)
{
    (void)endpoint;
    (void)header;
    (void)payload;
    return false;
}

void weft_no_take(weft_endpoint_t *endpoint, size_t bytes)
{
    (void)endpoint;
    (void)bytes;
}

void weft_no_throttle(weft_endpoint_t *endpoint, bool is_on)
{
    (void)endpoint, (void)is_on;
}

void weft_plain_store(weft_endpoint_t *endpoint, void *room, const void *from, size_t bytes)
{
    (void)endpoint;
    weft_copy(room, from, bytes);
}

/* ---- memory of a peer ---- */

bool weft_no_read(weft_endpoint_t *endpoint, uint64_t address, void *to, size_t bytes)
{
    (void)address;
    (void)to;
    (void)bytes;
    endpoint->can_read = false;
    return false;
}

bool weft_no_preference(weft_endpoint_t *endpoint, uint64_t address, const void *to, size_t bytes)
{
    (void)endpoint;
    (void)address;
    (void)to;
    (void)bytes;
    return false;
}

void weft_no_stream_over(weft_endpoint_t *endpoint, size_t bytes)
{
    (void)endpoint;
    (void)bytes;
}

bool weft_no_asking(weft_endpoint_t *endpoint, size_t bytes, bool is_blocking)
{
    (void)endpoint;
    (void)bytes;
    (void)is_blocking;
    return false;
}

void weft_no_note_wait(weft_endpoint_t *endpoint, int64_t ns)
{
    (void)endpoint;
    (void)ns;
}

void weft_no_note_short(weft_endpoint_t *endpoint, size_t bytes, int64_t sent_ns, bool was_asked)
{
    (void)endpoint;
    (void)bytes;
    (void)sent_ns;
    (void)was_asked;
}

bool weft_no_registration(weft_endpoint_t *endpoint, const void *data, size_t bytes,
                          const struct weft_memory *memory, weft_registration_t *out)
{
    (void)endpoint;
    (void)data;
    (void)bytes;
    (void)memory;
    (void)out;
    return false;
}

void weft_no_deregistration(weft_endpoint_t *endpoint, weft_registration_t *registration)
{
    (void)endpoint;
    (void)registration;
}

void weft_no_get(weft_get_t *get)
{
    get->done(get, false);
}

bool weft_no_device(const struct weft_memory *memory)
{
    (void)memory;
    return false;
}

const weft_remote_ops_t weft_no_remote = {
    .read = weft_no_read,
    .prefers_stream = weft_no_preference,
    .stream_over = weft_no_stream_over,
    .prefers_asking = weft_no_asking,
    .note_wait = weft_no_note_wait,
    .note_short = weft_no_note_short,
    .register_memory = weft_no_registration,
    .deregister_memory = weft_no_deregistration,
    .get = weft_no_get,
    .takes_device = weft_no_device,
};

/* ---- the life of a transport ---- */

int weft_no_reach(int process, weft_endpoint_t **out)
{
    (void)process;
    (void)out;
    return MPI_ERR_UNSUPPORTED_OPERATION;
}

void weft_no_description(weft_rank_report_t *report)
{
    (void)report;
}

void weft_no_quiesce(bool is_last)
{
    (void)is_last;
}

void weft_no_resume(void)
{
}
