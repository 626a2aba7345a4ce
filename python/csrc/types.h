// SPDX-License-Identifier: BSD-3-Clause
// How tensors and torch's reductions look to MPI.
#pragma once

#include <torch/csrc/distributed/c10d/Types.hpp>

#include <mpi.h>

namespace weft_torch
{

/** A reduction of tensors of one type. Scales are applied by the caller: `premultiply` to what is
 * sent, `divide_by` to the result. */
struct Reduction {
    MPI_Datatype datatype;
    int64_t per_element; // datatypes in an element: 2 for complex numbers that are taken as pairs
    MPI_Op op;
    const char *name;
    at::Tensor premultiply; // undefined: none
    int64_t divide_by = 1;  // of an average
};

/** Throws, naming `operation`, if MPI has no such reduction or it makes no sense. */
Reduction reduction_of(const c10d::ReduceOp &op, c10::ScalarType dtype, int size,
                       const char *operation);
/** What is sent for `tensor`: itself, or the tensor scaled. */
at::Tensor premultiplied(const Reduction &reduction, const at::Tensor &tensor);
/** Divides the sum, if the reduction is an average. */
void finish_reduction(const Reduction &reduction, const at::Tensor &result);

/** A strided tensor whose elements lie one after the other, as they are to be sent. */
bool is_plain(const at::Tensor &tensor);
/** The same elements in a plain tensor: itself, or a copy. */
at::Tensor to_plain(const at::Tensor &tensor);

inline MPI_Count byte_count(const at::Tensor &tensor)
{
    return static_cast<MPI_Count>(tensor.nbytes());
}

} // namespace weft_torch
