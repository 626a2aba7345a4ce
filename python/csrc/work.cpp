// SPDX-License-Identifier: BSD-3-Clause
#include "work.h"

#include "progress.h"

#include <ATen/core/ivalue.h>

#include <algorithm>

namespace weft_torch
{

WeftWork::WeftWork(Operation &&operation, c10d::OpType type, ProgressThread &progress)
    : Work(operation.about.group->rank, type, operation.about.title(), operation.noted),
      operation_(std::move(operation)), progress_(progress),
      deadline_(Clock::now() + operation_.about.timeout)
{
}

void WeftWork::conclude(std::exception_ptr error)
{
    if (!error)
        error = operation_.conclude();
    finish(error);
    FuturePtr future, result_future;
    {
        std::lock_guard<std::mutex> lock(mutex_);
        future = future_;
        result_future = result_future_;
    }
    // getFuture() may have come in between, and have completed it.
    if (future && !future->completed()) {
        if (error)
            future->setError(error);
        else
            future->markCompleted(c10::IValue(operation_.outputs));
    }
    if (result_future && !result_future->completed())
        result_future->markCompleted(c10::IValue(static_cast<uint8_t>(
            error ? c10d::WorkResult::COMM_ERROR : c10d::WorkResult::SUCCESS)));
}

// A loop of tests makes progress by itself.
bool WeftWork::isCompleted()
{
    if (Work::isCompleted())
        return true;
    if (!progress_.take(*this))
        return Work::isCompleted();
    if (test_requests(operation_)) {
        conclude(nullptr);
        return true;
    }
    progress_.give_back(WorkPtr::unsafe_reclaim_from_nonowning(this));
    return false;
}

bool WeftWork::wait(std::chrono::milliseconds timeout)
{
    if (!Work::isCompleted()) {
        if (progress_.take(*this))
            return wait_as_owner(timeout);
        return wait_for_owner(timeout);
    }
    rethrow_failure();
    return true;
}

void WeftWork::synchronize()
{
    wait(kNoTimeout);
}

void WeftWork::rethrow_failure()
{
    std::exception_ptr error = exception();
    if (error)
        std::rethrow_exception(error);
}

bool WeftWork::wait_as_owner(std::chrono::milliseconds timeout)
{
    bool is_limited = timeout != kNoTimeout;
    Clock::time_point limit = is_limited ? Clock::now() + timeout : deadline_;
    if (wait_until(progress_.alarms(), operation_, std::min(limit, deadline_))) {
        conclude(nullptr);
    } else if (is_limited && limit < deadline_) {
        progress_.give_back(WorkPtr::unsafe_reclaim_from_nonowning(this));
        TORCH_CHECK(false, "weft: ", operation_.about.text(), ": not complete after a wait of ",
                    timeout.count(), " ms");
    } else {
        operation_.cancel_receives();
        std::exception_ptr error = operation_.timeout_error();
        Operation rest = std::move(operation_);
        operation_.about = rest.about;
        operation_.outputs = rest.outputs;
        progress_.abandon(std::move(rest));
        conclude(error);
    }
    rethrow_failure();
    return true;
}

bool WeftWork::wait_for_owner(std::chrono::milliseconds timeout)
{
    std::unique_lock<std::mutex> lock(mutex_);
    auto is_over = [this] { return completed_; };
    if (timeout == kNoTimeout)
        cv_.wait(lock, is_over);
    else
        TORCH_CHECK(cv_.wait_for(lock, timeout, is_over), "weft: ", operation_.about.text(),
                    ": not complete after a wait of ", timeout.count(), " ms");
    lock.unlock();
    rethrow_failure();
    return true;
}

std::vector<at::Tensor> WeftWork::result()
{
    TORCH_CHECK(isCompleted(), "weft: ", operation_.about.text(),
                ": the result can be asked for when the work is complete; call wait() first");
    return operation_.outputs;
}

// A future must know the devices of what it will hold.
FuturePtr WeftWork::make_future() const
{
    std::vector<c10::Device> devices;
    for (const at::Tensor &tensor : operation_.outputs) {
        if (!tensor.device().is_cpu() &&
            std::find(devices.begin(), devices.end(), tensor.device()) == devices.end())
            devices.push_back(tensor.device());
    }
    return c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()),
                                                    std::move(devices));
}

// Of a work that is complete already the future is so, too.
FuturePtr WeftWork::getFuture()
{
    std::unique_lock<std::mutex> lock(mutex_);
    if (!future_) {
        future_ = make_future();
        if (completed_ && exception_)
            future_->setError(exception_);
        else if (completed_)
            future_->markCompleted(c10::IValue(operation_.outputs));
    }
    FuturePtr future = future_;
    bool is_over = completed_;
    lock.unlock();
    if (!is_over)
        progress_.hurry(*this);
    return future;
}

FuturePtr WeftWork::getFutureResult()
{
    std::unique_lock<std::mutex> lock(mutex_);
    if (!result_future_) {
        result_future_ = c10::make_intrusive<c10::ivalue::Future>(c10::IntType::get());
        if (completed_)
            result_future_->markCompleted(c10::IValue(static_cast<uint8_t>(
                exception_ ? c10d::WorkResult::COMM_ERROR : c10d::WorkResult::SUCCESS)));
    }
    FuturePtr future = result_future_;
    bool is_over = completed_;
    lock.unlock();
    if (!is_over)
        progress_.hurry(*this);
    return future;
}

int WeftWork::sourceRank() const
{
    return operation_.source;
}

uint64_t WeftWork::getSequencenumber() const
{
    return operation_.about.sequence;
}

std::chrono::milliseconds WeftWork::getTimeout() const
{
    return operation_.about.timeout;
}

} // namespace weft_torch
