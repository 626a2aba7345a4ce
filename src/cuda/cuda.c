/* SPDX-License-Identifier: BSD-3-Clause */
#include "cuda/cuda.h"

#include "cuda/allocation.h"
#include "cuda/cuda_copy.h"
#include "cuda/cuda_kernels.h"
#include "cuda/cuda_mapping.h"
#include "cuda/cuda_memory.h"
#include "cuda/cuda_share.h"
#include "cuda/host_place.h"
#include "base/config.h"
#include "base/fail.h"
#include "mpi.h"

#include <string.h>

static int pack(weft_queue_t *queue, const weft_packing_t *packing)
{
    return wefti_copy_blocks(queue, packing, true);
}

static int unpack(weft_queue_t *queue, const weft_packing_t *packing)
{
    return wefti_copy_blocks(queue, packing, false);
}

static bool can_reduce(const weft_device_t *device, const struct weft_op *op,
                       const struct weft_type *type)
{
    (void)device;
    (void)op;
    (void)type;
    return false;
}

static int reduce(weft_queue_t *queue, const weft_reduction_t *reduction)
{
    (void)queue;
    (void)reduction;
    return weft_fail(MPI_ERR_OTHER, "this device has no kernel for the reduction");
}

static const weft_device_ops_t ops = {
    .name = "cuda",
    .is_device = wefti_is_device,
    .look = wefti_memory_look,
    .queue = wefti_queue_of,
    .copy = wefti_copy,
    .copy_many = wefti_copy_pieces,
    .pack = pack,
    .unpack = unpack,
    .can_reduce = can_reduce,
    .reduce = reduce,
    .mark = wefti_queue_mark,
    .take_pinned = wefti_pinned_take,
    .give_pinned = wefti_pinned_give,
    .take_scratch = wefti_scratch_take,
    .give_scratch = wefti_scratch_give,
    .share = wefti_share,
    .map = wefti_map,
    .unmap = wefti_unmap,
};

void weft_cuda_open(void)
{
    if (strcmp(weft_config.DEVICE, "no") == 0)
        return;
    wefti_host_places_open();
    weft_device_open(&ops, wefti_driver_open());
}

void weft_cuda_close(void)
{
    weft_device_close();
    wefti_mappings_close();
    wefti_shares_close();
    wefti_allocations_close();
    wefti_devices_close();
    wefti_driver_close();
}
