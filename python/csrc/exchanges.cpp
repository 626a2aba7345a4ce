// SPDX-License-Identifier: BSD-3-Clause
#include "tensor_lists.h"

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/Utils.hpp>

namespace weft_torch
{

using c10d::OpType;

namespace
{

// The pieces of a tensor that is divided along its first dimension; `splits` empty: equally.
std::vector<Piece> pieces_of(const at::Tensor &tensor, const std::vector<int64_t> &splits, int size)
{
    int64_t rows = tensor.size(0);
    MPI_Count row_bytes = rows == 0 ? 0 : byte_count(tensor) / rows;
    char *next = static_cast<char *>(tensor.data_ptr());
    std::vector<Piece> pieces;
    for (int rank = 0; rank < size; rank++) {
        int64_t own_rows = splits.empty() ? rows / size : splits[static_cast<size_t>(rank)];
        pieces.push_back({next, own_rows * row_bytes});
        next += own_rows * row_bytes;
    }
    return pieces;
}

std::vector<Piece> pieces_of(const Tensors &tensors)
{
    std::vector<Piece> pieces;
    for (const at::Tensor &tensor : tensors)
        pieces.push_back({tensor.data_ptr(), byte_count(tensor)});
    return pieces;
}

// Elements of the pieces, for the audit.
std::vector<int64_t> elements_of(const std::vector<Piece> &pieces, const at::Tensor &tensor)
{
    std::vector<int64_t> elements;
    for (const Piece &piece : pieces)
        elements.push_back(static_cast<int64_t>(piece.bytes) / tensor.element_size());
    return elements;
}

void check_splits(const at::Tensor &tensor, const std::vector<int64_t> &splits, int size,
                  const char *what)
{
    const char *name = "all_to_all_single";
    TORCH_CHECK_VALUE(tensor.dim() > 0, "weft: ", name, ": ", what,
                      " must have at least one dimension");
    if (splits.empty()) {
        TORCH_CHECK_VALUE(tensor.size(0) % size == 0, "weft: ", name, ": ", what,
                          ": Tensor's dim 0 does not divide equally across group size: ",
                          tensor.size(0), " rows, ", size, " ranks");
        return;
    }
    TORCH_CHECK_VALUE(splits.size() == static_cast<size_t>(size), "weft: ", name, ": ", what,
                      ": Number of tensor splits not equal to group size: ", splits.size(),
                      ", not ", size);
    int64_t sum = 0;
    for (int64_t split : splits) {
        TORCH_CHECK_VALUE(split >= 0, "weft: ", name, ": ", what,
                          ": Split sizes must be non-negative, not ", split);
        sum += split;
    }
    TORCH_CHECK_VALUE(sum == tensor.size(0), "weft: ", name, ": ", what,
                      ": Split sizes doesn't match total dim 0 size: their sum is ", sum, ", not ",
                      tensor.size(0));
}

// All ranks must make the same call, and what they give need not be the same at all of them: only
// without any splits it is known that all pieces are equal.
bool is_even(const at::Tensor &output, const at::Tensor &input, const std::vector<int64_t> &to,
             const std::vector<int64_t> &from)
{
    return to.empty() && from.empty() && output.numel() == input.numel();
}

} // namespace

c10dWorkPtr ProcessGroupWeft::alltoall_base(at::Tensor &output, at::Tensor &input,
                                            std::vector<int64_t> &output_splits,
                                            std::vector<int64_t> &input_splits,
                                            const c10d::AllToAllOptions &options)
{
    const char *name = "all_to_all_single";
    check_same_type(output, input, name, "the output");
    check_splits(output, output_splits, getSize(), "the output");
    check_splits(input, input_splits, getSize(), "the input");
    Call call(*this, OpType::ALLTOALL_BASE, name, options.timeout);
    call.about(input);
    at::Tensor sent = call.input(input), received = call.output(output);
    if (overlap(sent, received)) {
        sent = sent.clone();
        call.keep(sent);
    }
    call.result(output);
    if (is_even(received, sent, output_splits, input_splits))
        return call.run(options.asyncOp, [&](Path &path, Operation &op) {
            path.alltoall(op, sent.const_data_ptr(), received.mutable_data_ptr(),
                          byte_count(sent) / getSize());
        });
    std::vector<Piece> to = pieces_of(sent, input_splits, getSize()),
                       from = pieces_of(received, output_splits, getSize());
    call.about_pieces("splits", elements_of(to, input), elements_of(from, input));
    return call.run(options.asyncOp,
                    [&](Path &path, Operation &op) { path.alltoall_pieces(op, to, from); });
}

c10dWorkPtr ProcessGroupWeft::alltoall(Tensors &outputs, Tensors &inputs,
                                       const c10d::AllToAllOptions &options)
{
    const char *name = "all_to_all";
    size_t size = static_cast<size_t>(getSize());
    TORCH_CHECK_VALUE(inputs.size() == size, "weft: ", name, ": input tensor list size ",
                      inputs.size(), " does not match world size ", size);
    TORCH_CHECK_VALUE(outputs.size() == size, "weft: ", name, ": output tensor list size ",
                      outputs.size(), " does not match world size ", size);
    all_alike(inputs, inputs[0], name);
    all_alike(outputs, inputs[0], name);
    Call call(*this, OpType::ALLTOALL, name, options.timeout);
    call.about(inputs[0]);
    Tensors sent, received;
    for (size_t i = 0; i < size; i++) {
        sent.push_back(call.input(inputs[i]));
        received.push_back(call.output(outputs[i]));
        call.result(outputs[i]);
    }
    for (at::Tensor &tensor : sent) {
        for (const at::Tensor &other : received) {
            if (overlap(tensor, other)) {
                tensor = tensor.clone();
                call.keep(tensor);
            }
        }
    }
    std::vector<Piece> to = pieces_of(sent), from = pieces_of(received);
    call.about_pieces("lists", elements_of(to, inputs[0]), elements_of(from, inputs[0]));
    return call.run(options.asyncOp,
                    [&](Path &path, Operation &op) { path.alltoall_pieces(op, to, from); });
}

// The highest tags are for mail.h.
void ProcessGroupWeft::check_tag(int tag, const char *operation) const
{
    TORCH_CHECK_VALUE(tag >= 0 && tag < LOWEST_MAIL_TAG, "weft: ", operation, ": tag ", tag,
                      " is not between 0 and ", LOWEST_MAIL_TAG - 1);
}

c10dWorkPtr ProcessGroupWeft::send(Tensors &tensors, int to, int tag)
{
    at::Tensor &tensor = only(tensors, "send");
    check_rank(to, "send", "destination");
    check_tag(tag, "send");
    Call call(*this, OpType::SEND, "send");
    call.about(tensor);
    call.about_peer("to", to);
    at::Tensor buffer = call.input(tensor);
    call.result(tensor);
    return call.run(true, [&](Path &path, Operation &op) {
        path.send(op, buffer.const_data_ptr(), byte_count(buffer), to, tag);
    });
}

c10dWorkPtr ProcessGroupWeft::receive_from(Tensors &tensors, int from, int tag, OpType type)
{
    at::Tensor &tensor = only(tensors, "recv");
    check_tag(tag, "recv");
    Call call(*this, type, "recv");
    call.about(tensor);
    call.about_peer("from", from);
    at::Tensor buffer = call.output(tensor);
    call.result(tensor);
    return call.run(true, [&](Path &path, Operation &op) {
        path.recv(op, buffer.mutable_data_ptr(), byte_count(buffer),
                  from < 0 ? MPI_ANY_SOURCE : from, tag);
    });
}

c10dWorkPtr ProcessGroupWeft::recv(Tensors &tensors, int from, int tag)
{
    check_rank(from, "recv", "source");
    return receive_from(tensors, from, tag, OpType::RECV);
}

c10dWorkPtr ProcessGroupWeft::recvAnysource(Tensors &tensors, int tag)
{
    return receive_from(tensors, -1, tag, OpType::RECVANYSOURCE);
}

} // namespace weft_torch
