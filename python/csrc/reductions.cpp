// SPDX-License-Identifier: BSD-3-Clause
#include "tensor_lists.h"

#include <ATen/ATen.h>

namespace weft_torch
{

using c10d::OpType;

namespace
{

// Scale the sum in `plain`, before it is copied to where it goes.
void average(Call &call, const Reduction &how, const at::Tensor &plain)
{
    if (how.divide_by != 1)
        call.finally([how, plain] { finish_reduction(how, plain); });
}

// A plain tensor that holds `tensor`, scaled, and whose elements go to `target` at the end.
at::Tensor buffer_in_place(Call &call, const Reduction &how, const at::Tensor &tensor)
{
    if (how.premultiply.defined() || !is_plain(tensor)) {
        at::Tensor own = to_plain(premultiplied(how, tensor));
        if (own.is_same(tensor))
            own = own.clone();
        call.keep(own);
        average(call, how, own);
        call.finally([own, target = tensor]() mutable { target.copy_(own); });
        return own;
    }
    call.keep(tensor);
    average(call, how, tensor);
    return tensor;
}

MPI_Count count_of(const at::Tensor &tensor, const Reduction &how)
{
    return tensor.numel() * how.per_element;
}

} // namespace

c10dWorkPtr ProcessGroupWeft::allreduce(Tensors &tensors, const c10d::AllreduceOptions &options)
{
    at::Tensor &tensor = only(tensors, "all_reduce");
    if (tensor.layout() != at::kStrided)
        return allreduce_sparse(tensors, options);
    Call call(*this, OpType::ALLREDUCE, "all_reduce", options.timeout);
    call.about(tensor);
    Reduction how = reduction_of(options.reduceOp, tensor.scalar_type(), getSize(), "all_reduce");
    call.about_reduction(how);
    at::Tensor buffer = buffer_in_place(call, how, tensor);
    call.result(tensor);
    return call.run(options.asyncOp, [&](Path &path, Operation &op) {
        path.allreduce(op, MPI_IN_PLACE, buffer.mutable_data_ptr(), count_of(buffer, how), how);
    });
}

c10dWorkPtr ProcessGroupWeft::allreduce_coalesced(Tensors &tensors,
                                                  const c10d::AllreduceCoalescedOptions &options)
{
    const char *name = "all_reduce_coalesced";
    TORCH_CHECK_VALUE(!tensors.empty(), "weft: ", name, ": requires non-empty tensor list");
    all_alike(tensors, tensors[0], name);
    Call call(*this, OpType::ALLREDUCE_COALESCED, name, options.timeout);
    call.about(tensors[0]);
    call.note(tensors);
    Reduction how = reduction_of(options.reduceOp, tensors[0].scalar_type(), getSize(), name);
    call.about_reduction(how);
    Tensors buffers;
    for (at::Tensor &tensor : tensors) {
        buffers.push_back(buffer_in_place(call, how, tensor));
        call.result(tensor);
    }
    return call.run(options.asyncOp, [&](Path &path, Operation &op) {
        for (at::Tensor &buffer : buffers)
            path.allreduce(op, MPI_IN_PLACE, buffer.mutable_data_ptr(), count_of(buffer, how), how);
    });
}

c10dWorkPtr ProcessGroupWeft::reduce(Tensors &tensors, const c10d::ReduceOptions &options)
{
    at::Tensor &tensor = only(tensors, "reduce");
    check_rank(options.rootRank, "reduce", "root");
    int root = static_cast<int>(options.rootRank);
    Call call(*this, OpType::REDUCE, "reduce", options.timeout);
    call.about(tensor);
    call.about_peer("root", root);
    Reduction how = reduction_of(options.reduceOp, tensor.scalar_type(), getSize(), "reduce");
    call.about_reduction(how);
    bool is_root = root == getRank();
    at::Tensor buffer =
        is_root ? buffer_in_place(call, how, tensor) : call.input(premultiplied(how, tensor));
    call.result(tensor);
    return call.run(options.asyncOp, [&](Path &path, Operation &op) {
        path.reduce(op, is_root ? MPI_IN_PLACE : buffer.const_data_ptr(),
                    is_root ? buffer.mutable_data_ptr() : nullptr, count_of(buffer, how), how,
                    root);
    });
}

namespace
{

// One block for each rank in `input`, and the sum of this rank's in `output`.
struct ScatterBuffers {
    at::Tensor input, output;

    ScatterBuffers(Call &call, const Reduction &how, const at::Tensor &in, const at::Tensor &out)
        : input(call.input(premultiplied(how, in)))
    {
        if (is_plain(out) && !overlap(out, input)) {
            output = out;
            call.keep(out);
            average(call, how, out);
            return;
        }
        output = at::empty(out.sizes(), out.options(), at::MemoryFormat::Contiguous);
        call.keep(output);
        average(call, how, output);
        call.finally([own = output, target = out]() mutable { target.copy_(own); });
    }

    void begin(Path &path, Operation &op, const Reduction &how)
    {
        path.reduce_scatter(op, input.const_data_ptr(), output.mutable_data_ptr(),
                            count_of(output, how), how);
    }
};

void check_scatter_sizes(const at::Tensor &input, const at::Tensor &output, int size,
                         const char *name)
{
    check_same_type(input, output, name, "the input");
    TORCH_CHECK_VALUE(input.numel() == output.numel() * size, "weft: ", name,
                      ": input tensor must be the same size as output size times world size: it "
                      "has ",
                      input.numel(), " elements, and the output ", output.numel(), " times ", size);
}

} // namespace

c10dWorkPtr ProcessGroupWeft::_reduce_scatter_base(at::Tensor &output, at::Tensor &input,
                                                   const c10d::ReduceScatterOptions &options)
{
    const char *name = "reduce_scatter_tensor";
    check_scatter_sizes(input, output, getSize(), name);
    Call call(*this, OpType::_REDUCE_SCATTER_BASE, name, options.timeout);
    call.about(output);
    Reduction how = reduction_of(options.reduceOp, input.scalar_type(), getSize(), name);
    call.about_reduction(how);
    ScatterBuffers buffers(call, how, input, output);
    call.result(output);
    return call.run(options.asyncOp,
                    [&](Path &path, Operation &op) { buffers.begin(path, op, how); });
}

c10dWorkPtr
ProcessGroupWeft::reduce_scatter_tensor_coalesced(Tensors &outputs, Tensors &inputs,
                                                  const c10d::ReduceScatterOptions &options)
{
    const char *name = "reduce_scatter_tensor_coalesced";
    TORCH_CHECK_VALUE(!outputs.empty() && outputs.size() == inputs.size(), "weft: ", name,
                      ": requires as many inputs as outputs, and at least one; got ", inputs.size(),
                      " and ", outputs.size());
    Call call(*this, OpType::COALESCED, name, options.timeout);
    call.about(outputs[0]);
    call.note(inputs);
    std::vector<Reduction> how;
    std::vector<ScatterBuffers> buffers;
    for (size_t i = 0; i < outputs.size(); i++) {
        check_scatter_sizes(inputs[i], outputs[i], getSize(), name);
        how.push_back(reduction_of(options.reduceOp, inputs[i].scalar_type(), getSize(), name));
        buffers.emplace_back(call, how[i], inputs[i], outputs[i]);
        call.result(outputs[i]);
    }
    call.about_reduction(how[0]);
    return call.run(options.asyncOp, [&](Path &path, Operation &op) {
        for (size_t i = 0; i < buffers.size(); i++)
            buffers[i].begin(path, op, how[i]);
    });
}

// Blocks of different sizes are reduced one by one, each to its rank.
static void reduce_blocks(Path &path, Operation &op, const Tensors &blocks, at::Tensor &output,
                          const Reduction &how, int rank)
{
    for (size_t root = 0; root < blocks.size(); root++)
        path.reduce(op, blocks[root].const_data_ptr(),
                    static_cast<int>(root) == rank ? output.mutable_data_ptr() : nullptr,
                    count_of(blocks[root], how), how, static_cast<int>(root));
}

c10dWorkPtr ProcessGroupWeft::reduce_scatter(Tensors &outputs, TensorLists &inputs,
                                             const c10d::ReduceScatterOptions &options)
{
    const char *name = "reduce_scatter";
    at::Tensor &output = only(outputs, name);
    Tensors &blocks = only_list(inputs, getSize(), name, "input");
    bool are_alike = all_alike(blocks, output, name);
    TORCH_CHECK_VALUE(blocks[static_cast<size_t>(getRank())].numel() == output.numel(),
                      "weft: ", name, ": the output has ", output.numel(),
                      " elements, but the input for rank ", getRank(), " has ",
                      blocks[static_cast<size_t>(getRank())].numel());
    Call call(*this, OpType::REDUCE_SCATTER, name, options.timeout);
    call.about(output);
    Reduction how = reduction_of(options.reduceOp, output.scalar_type(), getSize(), name);
    call.about_reduction(how);
    call.result(output);
    if (are_alike) {
        ScatterBuffers buffers(call, how, joined_input(call, blocks), output);
        return call.run(options.asyncOp,
                        [&](Path &path, Operation &op) { buffers.begin(path, op, how); });
    }
    call.about_blocks("inputs", blocks);
    Tensors plain;
    for (at::Tensor &block : blocks)
        plain.push_back(call.input(premultiplied(how, block)));
    at::Tensor result = at::empty(output.sizes(), output.options(), at::MemoryFormat::Contiguous);
    call.keep(result);
    average(call, how, result);
    call.finally([result, target = output]() mutable { target.copy_(result); });
    return call.run(options.asyncOp, [&](Path &path, Operation &op) {
        reduce_blocks(path, op, plain, result, how, getRank());
    });
}

} // namespace weft_torch
