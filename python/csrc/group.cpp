// SPDX-License-Identifier: BSD-3-Clause
#include "group.h"

#include "loss.h"
#include "reunion.h"
#include "stream_path.h"

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/debug.h>

#include <mpix.h>

#include <algorithm>
#include <numeric>

namespace weft_torch
{

ProcessGroupWeft::Options::Options(Milliseconds timeout) : c10d::Backend::Options("weft", timeout)
{
}

c10::intrusive_ptr<c10d::Backend::Options> ProcessGroupWeft::Options::clone() const
{
    return c10::make_intrusive<Options>(*this);
}

ProcessGroupWeft::ProcessGroupWeft(const StorePtr &store, int rank, int size,
                                   c10::intrusive_ptr<Options> options)
    : Backend(rank, size), options_(std::move(options)), library_(Library::instance())
{
    library_.hold(store, rank, size);
    try {
        make_comm(*store);
        host_ = std::make_unique<HostPath>(comm_);
        streams_ = make_stream_paths(comm_);
        if (c10d::debug_level() == c10d::DebugLevel::Detail)
            audit_ = std::make_unique<Audit>(comm_, library_.progress());
    } catch (...) {
        library_.let_go();
        throw;
    }
    library_.add_comm(comm_);
    init();
}

// The default group of a job whose ranks come again has its communicator without a meeting.
void ProcessGroupWeft::make_comm(c10d::Store &store)
{
    const std::string &name = options_->group_name;
    std::vector<int> members(static_cast<size_t>(getSize()));
    std::iota(members.begin(), members.end(), 0);
    if (options_->global_ranks_in_group.empty())
        comm_ = library_.take_first_comm(getSize());
    if (comm_ == MPI_COMM_NULL) {
        Meeting meeting = meet_members(store);
        members = std::move(meeting.mpi_ranks);
        comm_ =
            library_.make_comm(members, "torch/" + name + "/" + std::to_string(meeting.generation));
    }
    identity_ =
        std::make_shared<GroupIdentity>(name, getRank(), getSize(), std::move(members), comm_);
}

Meeting ProcessGroupWeft::meet_members(c10d::Store &store)
{
    try {
        return meet(store, options_->group_name, getRank(), getSize(), library_.mpi_rank(),
                    options_->timeout, [this] { library_.check_all_there(); });
    } catch (const c10::DistNetworkError &error) {
        if (!library_.has_all())
            throw;
        std::rethrow_exception(loss_error(
            std::string("a group cannot be made: the store of rank 0: ") + error.what(), {}));
    }
}

ProcessGroupWeft::~ProcessGroupWeft()
{
    leave();
}

// Operations that are under way go on: MPI frees the communicator when they are over.
void ProcessGroupWeft::leave()
{
    if (is_left_.exchange(true))
        return;
    if (library_.runs()) {
        streams_.reset();
        library_.remove_comm(comm_);
        std::lock_guard<std::mutex> lock(identity_->mutex);
        identity_->comm = MPI_COMM_NULL;
        MPI_Comm_free(&comm_);
    }
    library_.let_go();
}

std::string ProcessGroupWeft::report(bool as_json) const
{
    check_open("report");
    int form = as_json ? MPIX_REPORT_JSON : MPIX_REPORT_TEXT, bytes = 0;
    check_mpi(MPIX_Comm_report(comm_, form, 0, nullptr, &bytes), "MPIX_Comm_report");
    std::vector<char> text(static_cast<size_t>(bytes) + 1);
    check_mpi(MPIX_Comm_report(comm_, form, bytes + 1, text.data(), &bytes), "MPIX_Comm_report");
    return std::string(text.data());
}

bool ProcessGroupWeft::agree(bool good) const
{
    check_open("agree");
    return agree_on(comm_, good, "agree in group \"" + identity_->name + "\"");
}

void ProcessGroupWeft::shutdown()
{
    leave();
}

void ProcessGroupWeft::abort()
{
    leave();
}

void ProcessGroupWeft::setTimeout(Milliseconds timeout)
{
    options_->timeout = timeout;
}

c10::intrusive_ptr<c10d::Backend>
ProcessGroupWeft::split(const StorePtr &store, const std::vector<int> &ranks,
                        const c10::intrusive_ptr<c10d::Backend::Options> &options)
{
    auto place = std::find(ranks.begin(), ranks.end(), getRank());
    if (place == ranks.end())
        return nullptr;
    auto own = c10::dynamic_intrusive_pointer_cast<Options>(options);
    TORCH_CHECK(own != nullptr, "weft: split_group: the options are not of the back end weft");
    return c10::make_intrusive<ProcessGroupWeft>(store->clone(),
                                                 static_cast<int>(place - ranks.begin()),
                                                 static_cast<int>(ranks.size()), own);
}

void ProcessGroupWeft::check_open(const char *operation) const
{
    TORCH_CHECK(!is_left_, "weft: ", operation, ": the group \"", identity_->name,
                "\" has been destroyed");
}

void ProcessGroupWeft::check_rank(int64_t rank, const char *operation, const char *role) const
{
    TORCH_CHECK(rank >= 0 && rank < getSize(), "weft: ", operation, ": invalid ", role,
                " rank: ", rank, "; the group has ", getSize(), " ranks");
}

Path &ProcessGroupWeft::path_of(c10::Device device)
{
    if (device.is_cpu())
        return *host_;
    TORCH_CHECK(device.is_cuda(), "weft: tensors of device ", device,
                " are not supported, only those of cpu and cuda");
    TORCH_CHECK(streams_ != nullptr, "weft: the group \"", identity_->name,
                "\" takes no cuda tensors: weft was built for a torch without CUDA, or the process "
                "saw no device when the group was made");
    return streams_->path_of(device.index());
}

void ProcessGroupWeft::startCoalescing()
{
    std::lock_guard<std::mutex> lock(coalescing_mutex_);
    TORCH_CHECK(coalesced_ == nullptr, "weft: operations of the group \"", identity_->name,
                "\" are being coalesced already");
    coalesced_ = std::make_unique<Operation>();
    coalesced_->about.operation = "coalesced operations";
    coalesced_->about.group = identity_;
    coalescing_thread_ = std::this_thread::get_id();
}

c10dWorkPtr ProcessGroupWeft::endCoalescing()
{
    std::unique_ptr<Operation> all;
    {
        std::lock_guard<std::mutex> lock(coalescing_mutex_);
        all = std::move(coalesced_);
    }
    TORCH_CHECK(all != nullptr, "weft: no operations of the group \"", identity_->name,
                "\" are being coalesced");
    if (all->about.timeout == Milliseconds(0))
        all->about.timeout = options_->timeout;
    if (all->is_in_stream())
        return streams_->finish(*all->path, std::move(*all), c10d::OpType::COALESCED, true);
    all->await_on_host();
    auto work = c10::make_intrusive<WeftWork>(std::move(*all), c10d::OpType::COALESCED,
                                              library_.progress());
    library_.progress().submit(work);
    return work;
}

} // namespace weft_torch
