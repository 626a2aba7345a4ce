// SPDX-License-Identifier: BSD-3-Clause
// Lists of tensors that stand for the blocks of one buffer, a block for each rank.
#pragma once

#include "group.h"

namespace weft_torch
{

/** The one tensor of a list that torch makes of a single one. */
at::Tensor &only(Tensors &tensors, const char *operation);
/** The one list of a list of lists, with a tensor for each rank. */
Tensors &only_list(TensorLists &lists, int size, const char *operation, const char *what);
void check_same_type(const at::Tensor &tensor, const at::Tensor &like, const char *operation,
                     const char *what);
/** Whether the tensors have the type and the number of elements of `like`; throws if a type differs. */
bool all_alike(const Tensors &tensors, const at::Tensor &like, const char *operation);
void check_alike(const Tensors &tensors, const at::Tensor &like, const char *operation);

/** Whether two tensors share memory; then MPI cannot have both as they are. */
bool overlap(const at::Tensor &a, const at::Tensor &b);
/** Whether `block` is the rank's own block within `whole`. */
bool is_block(const at::Tensor &whole, const at::Tensor &block, int rank);

/** The elements of the tensors in one buffer: the memory of the tensors, if they lie one behind the
 * other, or a copy. Kept by the call. */
at::Tensor joined_input(Call &call, const Tensors &tensors);
/** A buffer whose blocks go to the tensors at the end: their own memory, or one that is copied. */
at::Tensor joined_output(Call &call, const Tensors &tensors);

} // namespace weft_torch
