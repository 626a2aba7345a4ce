/* SPDX-License-Identifier: BSD-3-Clause */
#include "pt2pt/device_private.h"

#include "runtime/world.h"
#include "base/fail.h"

#include <inttypes.h>

int wefti_check_share(const weft_share_t *share, int source, const weft_endpoint_t *endpoint,
                      size_t bytes)
{
    int rank = weft_process_rank(source);
    if (source == weft_processes.self)
        return MPI_SUCCESS;
    if (!endpoint->is_on_host)
        return weft_fail(MPI_ERR_OTHER, "rank %d offers its device memory, but is on another host",
                         rank);
    if (share->owner != (uint32_t)rank || !weft_share_covers(share, bytes))
        return weft_fail(MPI_ERR_OTHER,
                         "rank %d describes its device memory wrongly: %zu bytes at 0x%" PRIx64
                         ", in an allocation of rank %" PRIu32 " of %" PRIu64
                         " bytes at 0x%" PRIx64,
                         rank, bytes, share->address, share->owner, share->bytes, share->base);
    return MPI_SUCCESS;
}
