// SPDX-License-Identifier: BSD-3-Clause
#include "tensor_lists.h"

#include <ATen/ATen.h>

namespace weft_torch
{

at::Tensor &only(Tensors &tensors, const char *operation)
{
    TORCH_CHECK_VALUE(tensors.size() == 1, "weft: ", operation,
                      ": requires a single-element tensor list, not one of ", tensors.size());
    return tensors[0];
}

Tensors &only_list(TensorLists &lists, int size, const char *operation, const char *what)
{
    TORCH_CHECK_VALUE(lists.size() == 1, "weft: ", operation, ": requires a single-element ", what,
                      " list containing a list with ", size, " tensors");
    TORCH_CHECK_VALUE(lists[0].size() == static_cast<size_t>(size), "weft: ", operation,
                      ": Incorrect ", what, " list size ", lists[0].size(), "; it should be ", size,
                      ", same as size of the process group");
    return lists[0];
}

void check_same_type(const at::Tensor &tensor, const at::Tensor &like, const char *operation,
                     const char *what)
{
    TORCH_CHECK_TYPE(tensor.scalar_type() == like.scalar_type(), "weft: ", operation, ": ", what,
                     " has dtype ", tensor.scalar_type(), ", but ", like.scalar_type(),
                     " is expected");
    TORCH_CHECK(tensor.device() == like.device(), "weft: ", operation, ": ", what, " is on ",
                tensor.device(), ", but ", like.device(), " is expected");
}

bool all_alike(const Tensors &tensors, const at::Tensor &like, const char *operation)
{
    bool are_alike = true;
    for (const at::Tensor &tensor : tensors) {
        check_same_type(tensor, like, operation, "a tensor of the list");
        are_alike = are_alike && tensor.numel() == like.numel();
    }
    return are_alike;
}

void check_alike(const Tensors &tensors, const at::Tensor &like, const char *operation)
{
    TORCH_CHECK_VALUE(all_alike(tensors, like, operation), "weft: ", operation,
                      ": all tensors must have the same size: invalid tensor size in the list, "
                      "expected ",
                      like.numel(), " elements");
}

static std::pair<const char *, const char *> span_of(const at::Tensor &tensor)
{
    const char *begin = static_cast<const char *>(tensor.const_data_ptr());
    return {begin, begin + tensor.nbytes()};
}

bool overlap(const at::Tensor &a, const at::Tensor &b)
{
    auto [a_begin, a_end] = span_of(a);
    auto [b_begin, b_end] = span_of(b);
    return a_begin < b_end && b_begin < a_end;
}

bool is_block(const at::Tensor &whole, const at::Tensor &block, int rank)
{
    return span_of(block).first ==
           span_of(whole).first + block.nbytes() * static_cast<size_t>(rank);
}

static bool lie_in_a_row(const Tensors &tensors)
{
    const char *next = span_of(tensors[0]).first;
    for (const at::Tensor &tensor : tensors) {
        if (!is_plain(tensor) || span_of(tensor).first != next)
            return false;
        if (!tensor.storage().is_alias_of(tensors[0].storage()))
            return false;
        next = span_of(tensor).second;
    }
    return true;
}

// A flat view of tensors that lie in a row.
static at::Tensor view_of_row(const Tensors &tensors)
{
    int64_t count = 0;
    for (const at::Tensor &tensor : tensors)
        count += tensor.numel();
    return tensors[0].as_strided({count}, {1});
}

at::Tensor joined_input(Call &call, const Tensors &tensors)
{
    at::Tensor whole;
    if (lie_in_a_row(tensors)) {
        whole = view_of_row(tensors);
    } else {
        Tensors flat;
        for (const at::Tensor &tensor : tensors)
            flat.push_back(tensor.reshape({-1}));
        whole = to_plain(at::cat(flat));
    }
    call.keep(whole);
    return whole;
}

static void copy_blocks(const at::Tensor &whole, const Tensors &tensors)
{
    int64_t offset = 0;
    for (at::Tensor tensor : tensors) {
        tensor.copy_(whole.narrow(0, offset, tensor.numel()).view(tensor.sizes()));
        offset += tensor.numel();
    }
}

at::Tensor joined_output(Call &call, const Tensors &tensors)
{
    at::Tensor whole;
    if (lie_in_a_row(tensors)) {
        whole = view_of_row(tensors);
    } else {
        int64_t count = 0;
        for (const at::Tensor &tensor : tensors)
            count += tensor.numel();
        whole = at::empty({count}, tensors[0].options());
        call.finally([whole, tensors] { copy_blocks(whole, tensors); });
    }
    call.keep(whole);
    return whole;
}

} // namespace weft_torch
