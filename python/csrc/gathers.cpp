// SPDX-License-Identifier: BSD-3-Clause
#include "tensor_lists.h"

#include <ATen/ATen.h>

namespace weft_torch
{

using c10d::OpType;

c10dWorkPtr ProcessGroupWeft::broadcast(Tensors &tensors, const c10d::BroadcastOptions &options)
{
    at::Tensor &tensor = only(tensors, "broadcast");
    check_rank(options.rootRank, "broadcast", "root");
    int root = static_cast<int>(options.rootRank);
    Call call(*this, OpType::BROADCAST, "broadcast", options.timeout);
    call.about(tensor);
    call.about_peer("root", root);
    at::Tensor buffer = root == getRank() ? call.input(tensor) : call.output(tensor);
    call.result(tensor);
    return call.run(options.asyncOp, [&](Path &path, Operation &op) {
        path.broadcast(op, buffer.mutable_data_ptr(), byte_count(buffer), root);
    });
}

namespace
{

// A block of this rank, and room for those of all.
struct GatherBuffers {
    at::Tensor input, whole;
    bool is_in_place;

    GatherBuffers(Call &call, const at::Tensor &in, const at::Tensor &all, int rank)
        : input(call.input(in)), whole(all), is_in_place(is_block(all, input, rank))
    {
        if (!is_in_place && overlap(input, whole)) {
            input = input.clone();
            call.keep(input);
        }
    }

    void begin(Path &path, Operation &op)
    {
        path.allgather(op, is_in_place ? MPI_IN_PLACE : input.const_data_ptr(),
                       whole.mutable_data_ptr(), byte_count(input));
    }
};

void check_gather_sizes(const at::Tensor &input, const at::Tensor &output, int size,
                        const char *name)
{
    TORCH_CHECK_TYPE(output.scalar_type() == input.scalar_type(), "weft: ", name,
                     ": output tensor must have the same type as input tensor: it is ",
                     output.scalar_type(), ", and the input ", input.scalar_type());
    check_same_type(output, input, name, "the output");
    TORCH_CHECK_VALUE(output.numel() == input.numel() * size, "weft: ", name,
                      ": output tensor size must be equal to world_size times input tensor size: "
                      "it has ",
                      output.numel(), " elements, and the input ", input.numel(), " times ", size);
}

} // namespace

c10dWorkPtr ProcessGroupWeft::_allgather_base(at::Tensor &output, at::Tensor &input,
                                              const c10d::AllgatherOptions &options)
{
    const char *name = "all_gather_into_tensor";
    check_gather_sizes(input, output, getSize(), name);
    Call call(*this, OpType::_ALLGATHER_BASE, name, options.timeout);
    call.about(input);
    GatherBuffers buffers(call, input, call.output(output), getRank());
    call.result(output);
    return call.run(options.asyncOp, [&](Path &path, Operation &op) { buffers.begin(path, op); });
}

c10dWorkPtr ProcessGroupWeft::allgather_into_tensor_coalesced(Tensors &outputs, Tensors &inputs,
                                                              const c10d::AllgatherOptions &options)
{
    const char *name = "all_gather_into_tensor_coalesced";
    TORCH_CHECK_VALUE(!inputs.empty() && outputs.size() == inputs.size(), "weft: ", name,
                      ": requires as many outputs as inputs, and at least one; got ",
                      outputs.size(), " and ", inputs.size());
    Call call(*this, OpType::COALESCED, name, options.timeout);
    call.about(inputs[0]);
    call.note(inputs);
    std::vector<GatherBuffers> buffers;
    for (size_t i = 0; i < inputs.size(); i++) {
        check_gather_sizes(inputs[i], outputs[i], getSize(), name);
        buffers.emplace_back(call, inputs[i], call.output(outputs[i]), getRank());
        call.result(outputs[i]);
    }
    return call.run(options.asyncOp, [&](Path &path, Operation &op) {
        for (GatherBuffers &each : buffers)
            each.begin(path, op);
    });
}

// Blocks of different sizes come by a broadcast each.
static void broadcast_blocks(Path &path, Operation &op, Tensors &blocks)
{
    for (size_t root = 0; root < blocks.size(); root++)
        path.broadcast(op, blocks[root].mutable_data_ptr(), byte_count(blocks[root]),
                       static_cast<int>(root));
}

static Tensors blocks_with_own(Call &call, const Tensors &outputs, const at::Tensor &input,
                               int rank)
{
    Tensors blocks;
    for (size_t i = 0; i < outputs.size(); i++) {
        at::Tensor block = call.output(outputs[i]);
        if (static_cast<int>(i) == rank)
            block.copy_(input.reshape(block.sizes()));
        blocks.push_back(block);
    }
    return blocks;
}

c10dWorkPtr ProcessGroupWeft::allgather(TensorLists &outputs, Tensors &inputs,
                                        const c10d::AllgatherOptions &options)
{
    const char *name = "all_gather";
    at::Tensor &input = only(inputs, name);
    Tensors &list = only_list(outputs, getSize(), name, "output");
    bool are_alike = all_alike(list, input, name);
    TORCH_CHECK_VALUE(list[static_cast<size_t>(getRank())].numel() == input.numel(), "weft: ", name,
                      ": invalid tensor size: the output for rank ", getRank(), " has ",
                      list[static_cast<size_t>(getRank())].numel(), " elements, the input ",
                      input.numel());
    Call call(*this, OpType::ALLGATHER, name, options.timeout);
    call.about(input);
    for (at::Tensor &tensor : list)
        call.result(tensor);
    if (are_alike) {
        GatherBuffers buffers(call, input, joined_output(call, list), getRank());
        return call.run(options.asyncOp,
                        [&](Path &path, Operation &op) { buffers.begin(path, op); });
    }
    call.about_blocks("outputs", list);
    Tensors blocks = blocks_with_own(call, list, input, getRank());
    return call.run(options.asyncOp,
                    [&](Path &path, Operation &op) { broadcast_blocks(path, op, blocks); });
}

// Here the lists are by rank, and in each there is a tensor for each input.
c10dWorkPtr ProcessGroupWeft::allgather_coalesced(TensorLists &outputs, Tensors &inputs,
                                                  const c10d::AllgatherOptions &options)
{
    const char *name = "all_gather_coalesced";
    TORCH_CHECK_VALUE(!inputs.empty(), "weft: ", name, ": requires non-empty input tensor list");
    TORCH_CHECK_VALUE(outputs.size() == static_cast<size_t>(getSize()), "weft: ", name,
                      ": output lists should be equal to world size");
    for (Tensors &list : outputs)
        TORCH_CHECK_VALUE(list.size() == inputs.size(), "weft: ", name,
                          ": invalid output size: (expected length ", inputs.size(), ", got ",
                          list.size(), ")");
    Call call(*this, OpType::ALLGATHER_COALESCED, name, options.timeout);
    call.about(inputs[0]);
    call.note(inputs);
    std::vector<GatherBuffers> buffers;
    for (size_t i = 0; i < inputs.size(); i++) {
        Tensors list;
        for (Tensors &of_rank : outputs)
            list.push_back(of_rank[i]);
        check_alike(list, inputs[i], name);
        buffers.emplace_back(call, inputs[i], joined_output(call, list), getRank());
        for (at::Tensor &tensor : list)
            call.result(tensor);
    }
    return call.run(options.asyncOp, [&](Path &path, Operation &op) {
        for (GatherBuffers &each : buffers)
            each.begin(path, op);
    });
}

c10dWorkPtr ProcessGroupWeft::gather(TensorLists &outputs, Tensors &inputs,
                                     const c10d::GatherOptions &options)
{
    const char *name = "gather";
    at::Tensor &input = only(inputs, name);
    check_rank(options.rootRank, name, "root");
    int root = static_cast<int>(options.rootRank);
    bool is_root = root == getRank();
    Call call(*this, OpType::GATHER, name, options.timeout);
    call.about(input);
    call.about_peer("root", root);
    at::Tensor whole;
    if (is_root) {
        Tensors &list = only_list(outputs, getSize(), name, "output");
        check_alike(list, input, name);
        whole = joined_output(call, list);
        for (at::Tensor &tensor : list)
            call.result(tensor);
    } else {
        TORCH_CHECK_VALUE(outputs.empty(), "weft: gather: requires empty output on non-root");
    }
    at::Tensor sent = call.input(input);
    bool is_in_place = is_root && is_block(whole, sent, root);
    if (is_root && !is_in_place && overlap(whole, sent)) {
        sent = sent.clone();
        call.keep(sent);
    }
    return call.run(options.asyncOp, [&](Path &path, Operation &op) {
        path.gather(op, is_in_place ? MPI_IN_PLACE : sent.const_data_ptr(),
                    is_root ? whole.mutable_data_ptr() : nullptr, byte_count(sent), root);
    });
}

c10dWorkPtr ProcessGroupWeft::scatter(Tensors &outputs, TensorLists &inputs,
                                      const c10d::ScatterOptions &options)
{
    const char *name = "scatter";
    at::Tensor &output = only(outputs, name);
    check_rank(options.rootRank, name, "root");
    int root = static_cast<int>(options.rootRank);
    bool is_root = root == getRank();
    Call call(*this, OpType::SCATTER, name, options.timeout);
    call.about(output);
    call.about_peer("root", root);
    at::Tensor whole;
    if (is_root) {
        Tensors &list = only_list(inputs, getSize(), name, "input");
        check_alike(list, output, name);
        whole = joined_input(call, list);
    } else {
        TORCH_CHECK_VALUE(inputs.empty(), "weft: scatter: requires empty input on non-root");
    }
    at::Tensor received = call.output(output);
    bool is_in_place = is_root && is_block(whole, received, root);
    if (is_root && !is_in_place && overlap(whole, received)) {
        whole = whole.clone();
        call.keep(whole);
    }
    call.result(output);
    return call.run(options.asyncOp, [&](Path &path, Operation &op) {
        path.scatter(op, is_root ? whole.const_data_ptr() : nullptr,
                     is_in_place ? MPI_IN_PLACE : received.mutable_data_ptr(), byte_count(received),
                     root);
    });
}

} // namespace weft_torch
