/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/wall/fold.h"

#include "base/copy.h"

#include <string.h>

enum { BLOCK_BYTES = 8192 }; /* of the result, which stays in the nearest cache */

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

void weft_fold(const weft_fold_t *its, void *out)
{
    weft_reduce3_fn_t kernel = weft_op_kernel3(its->op, its->type);
    size_t block = BLOCK_BYTES / its->type->size;
    if (its->operands == 1) {
        memmove(out, its->at[0], its->count * its->type->size);
        return;
    }
    if (its->operands == 2)
        block = its->count;
    for (size_t first = 0; first < its->count; first += block) {
        size_t rest = its->count - first;
        fold_block(its, kernel, first, rest < block ? rest : block, out);
    }
}

bool weft_fold_read(weft_wall_t *wall, weft_fold_t *its, size_t bytes, size_t offset)
{
    bool is_whole = its->operands == wall->size;
    if (is_whole && !weft_wall_await_all(wall))
        return false;
    for (int i = 0; i < its->operands; i++) {
        if (i == wall->rank && its->own != NULL) {
            its->at[i] = its->own;
            continue;
        }
        const char *data =
            is_whole ? weft_wall_data(wall, i, bytes) : weft_wall_read(wall, i, bytes);
        if (data == NULL)
            return false;
        its->at[i] = data + offset;
    }
    return true;
}
