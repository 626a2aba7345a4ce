// SPDX-License-Identifier: BSD-3-Clause
// What an asynchronous call returns. At any time one thread may wait for the requests of a work:
// the one that calls wait(), so that it waits within MPI itself, or else the progress thread
// (progress.h), which takes works for which somebody has asked a future, or that nobody has waited
// for within a moment.
#pragma once

#include "operation.h"

#include <torch/csrc/distributed/c10d/Work.hpp>

namespace weft_torch
{

class ProgressThread;
using FuturePtr = c10::intrusive_ptr<c10::ivalue::Future>;

class WeftWork : public c10d::Work
{
  public:
    WeftWork(Operation &&operation, c10d::OpType type, ProgressThread &progress);

    bool isCompleted() override;
    bool wait(std::chrono::milliseconds timeout = kNoTimeout) override;
    void synchronize() override;
    std::vector<at::Tensor> result() override;
    FuturePtr getFuture() override;
    FuturePtr getFutureResult() override;
    int sourceRank() const override;
    uint64_t getSequencenumber() const override;
    std::chrono::milliseconds getTimeout() const;

    /** All requests are complete, or it has failed otherwise: tell everybody. Called once, by the
     * thread that owns the requests. */
    void conclude(std::exception_ptr error);

  private:
    friend class ProgressThread;
    enum class Owner { NOBODY, WAITER, PROGRESS };

    FuturePtr make_future() const;
    bool wait_as_owner(std::chrono::milliseconds timeout);
    bool wait_for_owner(std::chrono::milliseconds timeout);
    void rethrow_failure();

    Operation operation_;
    ProgressThread &progress_;
    std::chrono::steady_clock::time_point deadline_;
    FuturePtr future_, result_future_; // with mutex_
    // With the progress thread's lock:
    Owner owner_ = Owner::NOBODY;
    size_t place_ = 0; // in the list of fresh works
};

using WorkPtr = c10::intrusive_ptr<WeftWork>;

} // namespace weft_torch
