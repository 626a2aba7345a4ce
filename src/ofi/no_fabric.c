/* SPDX-License-Identifier: BSD-3-Clause */
/* The transport in a build without libfabric. */
#include "ofi/ofi.h"

#include "mpi.h"

/* The job uses src/tcp instead. */
static int ofi_open(weft_world_t *world, weft_sink_fn_t sink)
{
    (void)world, (void)sink;
    return MPI_ERR_UNSUPPORTED_OPERATION;
}

static void ofi_close(void)
{
}

const weft_transport_ops_t weft_ofi_transport = {
    .name = "ofi",
    .open = ofi_open,
    .reach = weft_no_reach,
    .describe = weft_no_description,
    .quiesce = weft_no_quiesce,
    .resume = weft_no_resume,
    .close = ofi_close,
};

const weft_pvar_table_t weft_ofi_pvars = {NULL, 0};
