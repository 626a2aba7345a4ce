/* SPDX-License-Identifier: BSD-3-Clause */
#include "cuda/cuda_pack.h"

#include "cuda/cuda_copy.h"
#include "cuda/cuda_kernels.h"
#include "cuda/cuda_memory.h"
#include "cuda/cuda_stream.h"
#include "cuda/kernels/move_shape.h"
#include "datatype/pack.h"
#include "base/list.h"
#include "base/memory.h"
#include "mpi.h"

/* The image of a shape in the memory of a device. */
typedef struct image {
    weft_device_t *device;
    void *address;
    struct image *next;
} pack_image_t;

/* What weft_type_t.device_shape points to. */
typedef struct shape {
    weft_link_t all; /* in the list `shapes` */
    weft_type_t *type;
    weft_move_shape_t moves;
    pack_image_t *images;
} pack_shape_t;

static weft_list_t shapes = {&shapes, &shapes};

/* ---- shapes ---- */

static void pack_release_layout(void *released)
{
    pack_shape_t *shape = released;
    weft_list_remove(&shape->all);
    shape->type->device_shape = NULL;
    for (pack_image_t *image = shape->images, *next; image != NULL; image = next) {
        next = image->next;
        wefti_scratch_give(image->device, image->address);
        weft_free(image);
    }
    weft_move_shape_clear(&shape->moves);
    weft_free(shape);
}

/* Returns NULL if there is no memory. */
static pack_shape_t *shape_of(weft_type_t *type)
{
    if (type->device_shape != NULL)
        return type->device_shape;
    pack_shape_t *shape = weft_alloc_zeroed(1, sizeof(*shape));
    if (shape == NULL || weft_move_shape_create(type, &shape->moves) != MPI_SUCCESS) {
        weft_free(shape);
        return NULL;
    }
    shape->type = type;
    weft_list_append(&shapes, &shape->all);
    type->device_shape = shape;
    return shape;
}

/* Copy the image to the device, and wait, as queues other than this one may read it next. This
 * happens once for a type and a device. */
static pack_image_t *add_image(pack_shape_t *shape, weft_queue_t *queue)
{
    weft_device_t *device = queue->device;
    pack_image_t *image = weft_alloc_zeroed(1, sizeof(*image));
    void *address = image == NULL ? NULL : wefti_scratch_take(device, shape->moves.image_bytes);
    if (address == NULL ||
        wefti_copy(queue, address, shape->moves.image, shape->moves.image_bytes) != MPI_SUCCESS) {
        if (address != NULL)
            wefti_scratch_give(device, address);
        weft_free(image);
        return NULL;
    }
    wefti_queue_empty(queue, MPI_SUCCESS);
    *image = (pack_image_t){device, address, shape->images};
    shape->images = image;
    return image;
}

/* Returns false if there is no memory for the image. *out is NULL where the shape needs none. */
static bool image_for(pack_shape_t *shape, weft_queue_t *queue, const void **out)
{
    *out = NULL;
    if (shape->moves.image == NULL)
        return true;
    pack_image_t *image = shape->images;
    while (image != NULL && image->device != queue->device)
        image = image->next;
    if (image == NULL)
        image = add_image(shape, queue);
    if (image != NULL)
        *out = image->address;
    return image != NULL;
}

void wefti_shapes_open(void)
{
    weft_type_release_shape = pack_release_layout;
}

void wefti_shapes_close(void)
{
    while (!weft_list_is_empty(&shapes))
        pack_release_layout(WEFT_ELEMENT(shapes.next, pack_shape_t, all));
    weft_type_release_shape = NULL;
}

/* ---- packing ---- */

static int move_run(weft_queue_t *queue, const weft_packing_t *packing, ptrdiff_t offset,
                    bool is_packing)
{
    char *typed = (char *)((uintptr_t)packing->elements->buf + (uintptr_t)offset) + packing->offset;
    return is_packing ? wefti_copy(queue, packing->packed, typed, packing->bytes)
                      : wefti_copy(queue, typed, packing->packed, packing->bytes);
}

static void call_move(weft_device_t *device, const weft_packing_t *packing, weft_packer_t packer,
                      bool is_packing, weft_kernel_call_t *call)
{
    const weft_elements_t *elements = packing->elements;
    weft_kernel_end_t typed = {packer.shape, packer.image, elements->buf, elements->count};
    weft_kernel_end_t packed = {.buf = packing->packed};
    weft_kernel_move_t move = {.to = is_packing ? packed : typed,
                               .from = is_packing ? typed : packed,
                               .begin = packing->offset,
                               .end = packing->offset + packing->bytes};
    weft_call_move(&move, wefti_processors(device), call);
}

static int move(weft_queue_t *queue, const weft_packing_t *packing, bool is_packing)
{
    weft_type_t *type = (weft_type_t *)packing->elements->type; /* the shape is noted in the type */
    ptrdiff_t offset;
    size_t span;
    const void *image;
    weft_kernel_call_t call;
    if (packing->bytes == 0)
        return MPI_SUCCESS;
    if (weft_type_span(type, packing->elements->count, &offset, &span))
        return move_run(queue, packing, offset, is_packing);
    if (wefti_is_pageable_slot(queue->device, packing->packed) || !wefti_has_kernels(queue->device))
        return wefti_copy_blocks(queue, packing, is_packing);
    pack_shape_t *shape = shape_of(type);
    if (shape == NULL || !image_for(shape, queue, &image))
        return wefti_copy_blocks(queue, packing, is_packing);
    call_move(queue->device, packing, (weft_packer_t){&shape->moves, image}, is_packing, &call);
    return wefti_launch(queue, &call, is_packing ? "packing" : "unpacking");
}

int wefti_pack(weft_queue_t *queue, const weft_packing_t *packing)
{
    return move(queue, packing, true);
}

int wefti_unpack(weft_queue_t *queue, const weft_packing_t *packing)
{
    return move(queue, packing, false);
}

/* ---- in a stream of the program ---- */

weft_packer_t wefti_stream_find_packer(const weft_user_stream_t *stream, weft_type_t *type)
{
    weft_device_t *device = wefti_stream_device(stream);
    weft_queue_t *queue = wefti_queue_of(device, WEFT_STREAM_QUICK);
    pack_shape_t *shape = queue == NULL || !wefti_has_kernels(device) ? NULL : shape_of(type);
    const void *image;
    if (shape == NULL || !image_for(shape, queue, &image))
        return (weft_packer_t){NULL, NULL};
    return (weft_packer_t){&shape->moves, image};
}

int wefti_stream_put_packing(weft_user_stream_t *stream, const weft_packing_t *packing,
                             weft_packer_t packer, bool is_packing)
{
    weft_device_t *device = wefti_stream_device(stream);
    weft_kernel_call_t call;
    if (packing->bytes == 0)
        return MPI_SUCCESS;
    if (packer.shape == NULL)
        return wefti_copy_blocks_in(device, wefti_stream_handle(stream), packing, is_packing);
    call_move(device, packing, packer, is_packing, &call);
    return wefti_launch_in(device, wefti_stream_handle(stream), &call);
}
