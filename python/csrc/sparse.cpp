// SPDX-License-Identifier: BSD-3-Clause
// The sum of sparse tensors, such as the gradients of embeddings: the elements of all ranks are
// gathered, padded to the most that a rank has, and each rank adds them up.
#include "tensor_lists.h"

#include <ATen/ATen.h>

namespace weft_torch
{

namespace
{

at::Tensor padded(const at::Tensor &tensor, int64_t dim, int64_t length)
{
    std::vector<int64_t> sizes = tensor.sizes().vec();
    sizes[static_cast<size_t>(dim)] = length;
    at::Tensor wide = at::zeros(sizes, tensor.options());
    wide.narrow(dim, 0, tensor.size(dim)).copy_(tensor);
    return wide;
}

} // namespace

at::Tensor ProcessGroupWeft::gathered(at::Tensor tensor, Milliseconds timeout)
{
    std::vector<int64_t> sizes = tensor.sizes().vec();
    sizes.insert(sizes.begin(), getSize());
    at::Tensor all = at::empty(sizes, tensor.options());
    c10d::AllgatherOptions options;
    options.timeout = timeout;
    options.asyncOp = false;
    _allgather_base(all, tensor, options);
    return all;
}

c10dWorkPtr ProcessGroupWeft::allreduce_sparse(Tensors &tensors,
                                               const c10d::AllreduceOptions &options)
{
    at::Tensor &tensor = only(tensors, "all_reduce");
    TORCH_CHECK(tensor.layout() == at::kSparse && tensor.device().is_cpu(),
                "weft: all_reduce of sparse tensors is for COO tensors on the host, not for ",
                tensor.layout(), " on ", tensor.device());
    TORCH_CHECK(options.reduceOp == c10d::ReduceOp::SUM,
                "weft: all_reduce of sparse tensors only has the sum");
    Call call(*this, c10d::OpType::_ALLREDUCE_SPARSE, "all_reduce_sparse", options.timeout);
    at::Tensor own = tensor.coalesce();
    at::Tensor counts =
        gathered(at::scalar_tensor(own._nnz(), at::dtype(at::kLong)).reshape({1}), options.timeout);
    int64_t most = counts.max().item<int64_t>();
    at::Tensor indices = gathered(padded(own.indices(), 1, most), options.timeout);
    at::Tensor values = gathered(padded(own.values(), 0, most), options.timeout);
    at::Tensor sum = at::zeros_like(own);
    for (int rank = 0; rank < getSize(); rank++) {
        int64_t count = counts[rank].item<int64_t>();
        sum = sum + at::sparse_coo_tensor(indices[rank].narrow(1, 0, count),
                                          values[rank].narrow(0, 0, count), own.sizes(),
                                          own.options());
    }
    tensor.copy_(sum.coalesce());
    call.result(tensor);
    return call.run(options.asyncOp, [](Path &, Operation &) {});
}

} // namespace weft_torch
