/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/wall/fold.h"

#include "base/copy.h"

#include <string.h>

/* Of the result, which stays in the nearest cache. Where it is copied from there, fewer and longer
 * copies are better: blocks of 16 KiB take 0.95 of the time of 8. */
enum { BLOCK_BYTES = 8192, COPIED_BYTES = 16384 };

static void fold_block(const weft_fold_t *its, weft_reduce3_fn_t kernel, size_t first, size_t count,
                       char *out)
{
    size_t offset = first * its->type->size;
    const char *left = its->at[0] + offset;
    for (int i = 1; i < its->operands; i++) {
        kernel(left, its->at[i] + offset, out + offset, count);
        left = out + offset;
    }
}

/* Block by block; copy: NULL, or where a second copy of the result goes. */
static void fold_blocks(const weft_fold_t *its, size_t block, char *out, char *copy,
                        weft_store_t way)
{
    weft_reduce3_fn_t kernel = weft_op_kernel3_between_cores(its->op, its->type);
    size_t size = its->type->size;
    for (size_t first = 0; first < its->count; first += block) {
        size_t count = weft_least(its->count - first, block);
        fold_block(its, kernel, first, count, out);
        if (copy != NULL)
            weft_store_copy(way, copy + first * size, out + first * size, count * size);
    }
}

void weft_fold(const weft_fold_t *its, void *out)
{
    if (its->operands == 2)
        weft_op_kernel3_between_cores(its->op, its->type)(its->at[0], its->at[1], out, its->count);
    else if (its->operands == 1)
        memmove(out, its->at[0], its->count * its->type->size);
    else
        fold_blocks(its, BLOCK_BYTES / its->type->size, out, NULL, WEFT_STORE_CACHED);
}

void weft_fold_twice(const weft_fold_t *its, void *out, void *copy, weft_store_t way)
{
    fold_blocks(its, COPIED_BYTES / its->type->size, out, copy, way);
}

bool weft_fold_read(weft_wall_t *wall, weft_fold_t *its, size_t bytes, size_t offset)
{
    for (int i = 0; i < its->operands; i++) {
        if (i == wall->rank && its->own != NULL) {
            its->at[i] = its->own;
            continue;
        }
        const char *data = weft_wall_data(wall, i, bytes);
        if (data == NULL)
            return false;
        its->at[i] = data + offset;
        if (weft_wall_is_left_dirty(wall, i, bytes))
            its->dirty = i;
    }
    return true;
}

void weft_fold_have_read(const weft_wall_t *wall, const weft_fold_t *its)
{
    if (its->dirty >= 0)
        weft_wall_leave_dirty(wall, its->dirty, its->at[its->dirty], its->count * its->type->size);
}
