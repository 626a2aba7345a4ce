/* SPDX-License-Identifier: BSD-3-Clause */
#include "devcoll/host_run.h"

#include "devcoll/staging_buffer.h"
#include "pt2pt/device_copy.h"

static int copy_now(void *unused, const weft_elements_t *from, const weft_elements_t *to)
{
    (void)unused;
    return weft_copy_anywhere(from, to);
}

static int copy_side(weft_coll_t coll, const weft_coll_args_t *args, weft_side_t side,
                     const weft_staging_buffers_t *buffers)
{
    weft_regions_t regions = wefti_regions_of(coll, args, side);
    return wefti_staging_buffers_copy(buffers, &regions, copy_now, NULL);
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
