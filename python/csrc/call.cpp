// SPDX-License-Identifier: BSD-3-Clause
#include "group.h"
#include "stream_path.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>

namespace weft_torch
{

static bool is_point_to_point(c10d::OpType type)
{
    return type == c10d::OpType::SEND || type == c10d::OpType::RECV ||
           type == c10d::OpType::RECVANYSOURCE;
}

Call::Call(ProcessGroupWeft &group, c10d::OpType type, const char *operation, Milliseconds timeout)
    : group_(group), type_(type), path_(group.host_.get())
{
    group.check_open(operation);
    Description &about = operation_.about;
    about.operation = operation;
    about.group = group.identity_;
    about.timeout = timeout == c10d::kUnsetTimeout ? group.options_->timeout : timeout;
    if (!is_point_to_point(type))
        about.sequence = ++group.sequence_;
}

void Call::about(const at::Tensor &tensor)
{
    operation_.noted = {tensor};
    operation_.about.count = tensor.numel();
    operation_.about.dtype = tensor.scalar_type();
    TORCH_CHECK(tensor.layout() == at::kStrided, "weft: ", operation_.about.operation,
                ": only supports dense tensors, not ", tensor.layout());
    path_ = &group_.path_of(tensor.device());
}

void Call::about_peer(const char *role, int peer)
{
    operation_.about.peer_role = role;
    operation_.about.peer = peer;
}

void Call::about_blocks(const char *what, const Tensors &blocks)
{
    if (group_.audit_ != nullptr)
        signature_.text = signature_text(operation_.about, what, blocks);
}

void Call::about_pieces(const char *what, std::vector<int64_t> sent, std::vector<int64_t> expected)
{
    if (group_.audit_ != nullptr)
        signature_ = {std::string(operation_.about.operation) + " of " +
                          c10::toString(operation_.about.dtype) + " with " + what,
                      std::move(sent), std::move(expected)};
}

void Call::audit()
{
    if (group_.audit_ == nullptr || is_point_to_point(type_))
        return;
    if (signature_.text.empty())
        signature_.text = signature_text(operation_.about, operation_.noted);
    group_.audit_->check(operation_.about, signature_);
}

at::Tensor Call::input(const at::Tensor &tensor)
{
    at::Tensor plain = to_plain(tensor);
    keep(plain);
    return plain;
}

at::Tensor Call::output(const at::Tensor &tensor, bool holds_input)
{
    if (is_plain(tensor)) {
        keep(tensor);
        return tensor;
    }
    at::Tensor plain =
        holds_input ? to_plain(tensor)
                    : at::empty(tensor.sizes(), tensor.options(), at::MemoryFormat::Contiguous);
    keep(plain);
    finally([tensor, plain]() mutable { tensor.copy_(plain); });
    return plain;
}

at::Tensor Call::staging(const at::Tensor &like, int64_t count)
{
    at::Tensor flat = at::empty({count * like.numel()}, like.options());
    keep(flat);
    return flat;
}

// What MPI has begun cannot be taken back: its tensors are kept until it is over.
void Call::give_up()
{
    if (!operation_.is_complete())
        group_.library_.progress().abandon(std::move(operation_));
}

bool Call::join_coalesced()
{
    std::lock_guard<std::mutex> lock(group_.coalescing_mutex_);
    if (group_.coalesced_ == nullptr || group_.coalescing_thread_ != std::this_thread::get_id())
        return false;
    group_.coalesced_->absorb(std::move(operation_));
    return true;
}

c10dWorkPtr Call::finish(bool is_async)
{
    if (group_.coalesced_ != nullptr && join_coalesced())
        return nullptr;
    if (operation_.is_in_stream())
        return group_.streams_->finish(*path_, std::move(operation_), type_, is_async);
    operation_.await_on_host();
    if (!is_async) {
        wait();
        return nullptr;
    }
    ProgressThread &progress = group_.library_.progress();
    auto work = c10::make_intrusive<WeftWork>(std::move(operation_), type_, progress);
    progress.submit(work);
    return work;
}

void Call::wait()
{
    const char *title = operation_.about.title();
    std::optional<at::RecordFunction> seen;
    if (title != nullptr) {
        seen.emplace(at::RecordScope::FUNCTION);
        seen->_setAsync(); // as torch marks all operations of back ends
        std::vector<c10::IValue> inputs;
        for (const at::Tensor &tensor : operation_.noted)
            inputs.emplace_back(tensor);
        seen->before(title, c10::ArrayRef<const c10::IValue>(inputs.data(), inputs.size()));
    }
    ProgressThread &progress = group_.library_.progress();
    if (!wait_until(progress.alarms(), operation_, Clock::now() + operation_.about.timeout)) {
        std::exception_ptr error = operation_.timeout_error();
        operation_.cancel_receives();
        progress.abandon(std::move(operation_));
        std::rethrow_exception(error);
    }
    std::exception_ptr error = operation_.conclude();
    if (error)
        std::rethrow_exception(error);
}

} // namespace weft_torch
