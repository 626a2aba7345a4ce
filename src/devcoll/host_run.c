/* SPDX-License-Identifier: BSD-3-Clause */
#include "devcoll/host_run.h"

#include "devcoll/staging_buffer.h"
#include "pt2pt/device_copy.h"

/* Copy between the program's memory and what stands for it on the host. */
static int copy_side(weft_coll_t coll, const weft_coll_args_t *args, weft_side_t side,
                     const weft_staging_buffers_t *buffers)
{
    weft_regions_t regions = wefti_regions_of(coll, args, side);
    const weft_staging_buffer_t *buffer = wefti_staging_buffers_of(buffers, &regions);
    int err = MPI_SUCCESS;
    for (int i = 0; buffer != NULL && i < regions.count && err == MPI_SUCCESS; i++) {
        weft_coll_region_t region = wefti_regions_at(&regions, i);
        if (region.count == 0)
            continue;
        /* on integers, since the buffer may be MPI_BOTTOM */
        void *at = (void *)((uintptr_t)regions.buf + (uintptr_t)region.offset);
        weft_elements_t user = {at, region.count, region.type};
        weft_elements_t host = {wefti_staging_buffer_at(buffer, region.offset), region.count,
                                region.type};
        err = side == WEFT_GIVES ? weft_copy_anywhere(&user, &host)
                                 : weft_copy_anywhere(&host, &user);
    }
    return err;
}

int wefti_run_on_host(weft_coll_t coll, const weft_coll_args_t *args, const weft_host_run_t *run)
{
    weft_staging_buffers_t buffers;
    int err = wefti_staging_buffers_open(coll, args, &buffers);
    if (err != MPI_SUCCESS)
        return run->refuse(run, err);
    err = copy_side(coll, args, WEFT_GIVES, &buffers);
    if (err == MPI_SUCCESS) {
        weft_coll_args_t host = wefti_staging_buffers_args(&buffers, args);
        err = run->run(run, &host);
    } else {
        err = run->refuse(run, err);
    }
    if (err == MPI_SUCCESS)
        err = copy_side(coll, args, WEFT_GETS, &buffers);
    wefti_staging_buffers_close(&buffers);
    return err;
}
