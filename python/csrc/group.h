// SPDX-License-Identifier: BSD-3-Clause
// The back end of one process group: an MPI communicator, and torch's operations on it.
#pragma once

#include "audit.h"
#include "library.h"
#include "meeting.h"
#include "path.h"

#include <torch/csrc/distributed/c10d/Backend.hpp>

namespace weft_torch
{

using Tensors = std::vector<at::Tensor>;
using TensorLists = std::vector<std::vector<at::Tensor>>;
using c10dWorkPtr = c10::intrusive_ptr<c10d::Work>;

class StreamPaths;

class ProcessGroupWeft : public c10d::Backend
{
  public:
    struct Options : c10d::Backend::Options {
        explicit Options(Milliseconds timeout = kBackendDefaultTimeout);
        // No "override": torch 2.11 has none. Nor has it WeftWork::getTimeout() (work.h).
        c10::intrusive_ptr<c10d::Backend::Options> clone() const;
    };

    ProcessGroupWeft(const StorePtr &store, int rank, int size,
                     c10::intrusive_ptr<Options> options);
    ~ProcessGroupWeft() override;

    const std::string getBackendName() const override
    {
        return "weft";
    }
    c10::intrusive_ptr<c10d::Backend::Options> getBackendOptions() override
    {
        return options_;
    }
    /** Whether `good` was said by all ranks of the group; collective. All throw a RankLost if one of
     * them is lost. */
    bool agree(bool good) const;
    /** What mpirun --report shows, for the ranks of the group, as text or JSON; collective. */
    std::string report(bool as_json) const;

    void setTimeout(Milliseconds timeout) override;
    void shutdown() override;
    void abort() override;
    void waitForPendingWorks() override
    {
    }

    bool supportsSplitting() const override
    {
        return true;
    }
    c10::intrusive_ptr<c10d::Backend>
    split(const StorePtr &store, const std::vector<int> &ranks,
          const c10::intrusive_ptr<c10d::Backend::Options> &options) override;

    bool supportsCoalescing() const override
    {
        return true;
    }
    void startCoalescing() override;
    c10dWorkPtr endCoalescing() override;

    uint64_t getSequenceNumberForGroup() override
    {
        return sequence_;
    }
    void setSequenceNumberForGroup() override
    {
    }

    // reductions.cpp
    c10dWorkPtr allreduce(Tensors &tensors, const c10d::AllreduceOptions &options) override;
    c10dWorkPtr allreduce_coalesced(Tensors &tensors,
                                    const c10d::AllreduceCoalescedOptions &options) override;
    c10dWorkPtr reduce(Tensors &tensors, const c10d::ReduceOptions &options) override;
    c10dWorkPtr reduce_scatter(Tensors &outputs, TensorLists &inputs,
                               const c10d::ReduceScatterOptions &options) override;
    c10dWorkPtr _reduce_scatter_base(at::Tensor &output, at::Tensor &input,
                                     const c10d::ReduceScatterOptions &options) override;
    c10dWorkPtr reduce_scatter_tensor_coalesced(Tensors &outputs, Tensors &inputs,
                                                const c10d::ReduceScatterOptions &options) override;
    c10dWorkPtr allreduce_sparse(Tensors &tensors, const c10d::AllreduceOptions &options) override;
    // gathers.cpp
    c10dWorkPtr broadcast(Tensors &tensors, const c10d::BroadcastOptions &options) override;
    c10dWorkPtr allgather(TensorLists &outputs, Tensors &inputs,
                          const c10d::AllgatherOptions &options) override;
    c10dWorkPtr _allgather_base(at::Tensor &output, at::Tensor &input,
                                const c10d::AllgatherOptions &options) override;
    c10dWorkPtr allgather_coalesced(TensorLists &outputs, Tensors &inputs,
                                    const c10d::AllgatherOptions &options) override;
    c10dWorkPtr allgather_into_tensor_coalesced(Tensors &outputs, Tensors &inputs,
                                                const c10d::AllgatherOptions &options) override;
    c10dWorkPtr gather(TensorLists &outputs, Tensors &inputs,
                       const c10d::GatherOptions &options) override;
    c10dWorkPtr scatter(Tensors &outputs, TensorLists &inputs,
                        const c10d::ScatterOptions &options) override;
    // exchanges.cpp
    c10dWorkPtr alltoall_base(at::Tensor &output, at::Tensor &input,
                              std::vector<int64_t> &output_splits,
                              std::vector<int64_t> &input_splits,
                              const c10d::AllToAllOptions &options) override;
    c10dWorkPtr alltoall(Tensors &outputs, Tensors &inputs,
                         const c10d::AllToAllOptions &options) override;
    c10dWorkPtr send(Tensors &tensors, int to, int tag) override;
    c10dWorkPtr recv(Tensors &tensors, int from, int tag) override;
    c10dWorkPtr recvAnysource(Tensors &tensors, int tag) override;
    // barriers.cpp
    c10dWorkPtr barrier(const c10d::BarrierOptions &options) override;
    void monitoredBarrier(const c10d::BarrierOptions &options, bool wait_all_ranks) override;

  private:
    friend class Call;
    friend class Recovery;

    void make_comm(c10d::Store &store);
    Meeting meet_members(c10d::Store &store);
    at::Tensor gathered(at::Tensor tensor, Milliseconds timeout);
    void leave();
    void check_open(const char *operation) const;
    void check_rank(int64_t rank, const char *operation, const char *role) const;
    void check_tag(int tag, const char *operation) const;
    Path &path_of(c10::Device device);
    c10dWorkPtr receive_from(Tensors &tensors, int from, int tag, c10d::OpType type);

    c10::intrusive_ptr<Options> options_;
    Library &library_;
    std::shared_ptr<const GroupIdentity> identity_;
    MPI_Comm comm_ = MPI_COMM_NULL;
    std::unique_ptr<HostPath> host_;
    std::unique_ptr<StreamPaths> streams_; // of a device; null without
    std::unique_ptr<Audit> audit_;         // null without TORCH_DISTRIBUTED_DEBUG=DETAIL
    std::atomic<uint64_t> sequence_{0};
    std::atomic<uint64_t> monitored_{0}; // monitored barriers
    std::atomic<bool> is_left_{false};
    // Between startCoalescing() and endCoalescing(), for the thread that has called the first:
    std::mutex coalescing_mutex_;
    std::unique_ptr<Operation> coalesced_;
    std::thread::id coalescing_thread_;
};

/** A call of a torch operation, from its arguments to the work that is returned. */
class Call
{
  public:
    Call(ProcessGroupWeft &group, c10d::OpType type, const char *operation,
         Milliseconds timeout = c10d::kUnsetTimeout);

    /** Names the tensor whose size and type error messages tell, and chooses the path by it. */
    void about(const at::Tensor &tensor);
    /** Has a profiler show all of them. */
    void note(const Tensors &tensors)
    {
        operation_.noted = tensors;
    }
    void use_device(c10::Device device)
    {
        path_ = &group_.path_of(device);
    }
    void about_peer(const char *role, int peer);
    void about_reduction(const Reduction &how)
    {
        operation_.about.reduction = how.name;
    }
    /** For the audit, where the tensors of ranks may have different sizes: `blocks`, one for each
     * rank, are then the same everywhere. */
    void about_blocks(const char *what, const Tensors &blocks);
    /** The same for blocks that each rank knows for itself: elements to and from each rank. */
    void about_pieces(const char *what, std::vector<int64_t> sent, std::vector<int64_t> expected);
    /** A plain tensor with the elements of `tensor`, kept until the operation is over. */
    at::Tensor input(const at::Tensor &tensor);
    /** A plain tensor for what goes to `tensor`: itself, or one that is copied there at the end. */
    at::Tensor output(const at::Tensor &tensor, bool holds_input = false);
    /** One tensor of `count` times the bytes of `like`, for staging. */
    at::Tensor staging(const at::Tensor &like, int64_t count);
    void keep(const at::Tensor &tensor)
    {
        operation_.kept.push_back(tensor);
    }
    void result(const at::Tensor &tensor)
    {
        operation_.outputs.push_back(tensor);
    }
    template <typename Step> void finally(Step &&step)
    {
        operation_.after.emplace_back(std::forward<Step>(step));
    }

    /** Do `begin`, which gives MPI the operation, and wait for it, or return its work. */
    template <typename Begin> c10dWorkPtr run(bool is_async, Begin &&begin)
    {
        audit();
        try {
            path_->prepare(operation_);
            begin(*path_, operation_);
        } catch (...) {
            give_up();
            throw;
        }
        return finish(is_async);
    }

  private:
    c10dWorkPtr finish(bool is_async);
    void audit();
    void give_up();
    bool join_coalesced();
    void wait();

    ProcessGroupWeft &group_;
    c10d::OpType type_;
    Operation operation_;
    Path *path_;
    Signature signature_; // empty text: the tensors are alike everywhere
};

} // namespace weft_torch
