/* SPDX-License-Identifier: BSD-3-Clause */
/* In a build without libfabric: a job of several hosts cannot run, and says so. */
#include "ofi/ofi.h"

#include "core/world.h"
#include "base/fail.h"
#include "mpi.h"

static int open_transport(weft_world_t *world, weft_sink_fn_t sink)
{
    (void)sink;
    if (world->local_size == world->size)
        return MPI_ERR_UNSUPPORTED_OPERATION;
    return weft_fail(MPI_ERR_OTHER,
                     "the job spans several hosts, and this Weft was built without libfabric "
                     "(configure found none)");
}

const weft_transport_ops_t weft_ofi_transport = {.name = "ofi", .open = open_transport};
