// SPDX-License-Identifier: BSD-3-Clause
#include "progress.h"

namespace weft_torch
{

// How long a work stays fresh. A caller that waits at once is as a rule done by then, and while
// works come and go the thread looks once in this time, so that a caller need not wake it.
static constexpr auto TICK = std::chrono::milliseconds(1);
// Ticks without a work before the thread sleeps until it is woken.
static constexpr int IDLE_TICKS = 20;
static constexpr auto CLOSING_TIME = std::chrono::seconds(2);
static constexpr size_t SIGNALS = 2; // in MPI_Waitsome: the wake, and the alarm

void ProgressThread::open()
{
    is_closing_ = false;
    idle_ticks_ = 0;
    is_poked_ = false;
    wake_ = make_signal();
    alarm_ = alarms_.take();
    thread_ = std::thread([this] { run(); });
}

bool ProgressThread::close()
{
    std::unique_lock<std::mutex> lock(mutex_);
    adopt_fresh();
    poke();
    if (!emptied_.wait_for(lock, CLOSING_TIME, [this] { return pending_ == 0; }))
        return false;
    is_closing_ = true;
    poke();
    lock.unlock();
    thread_.join();
    if (!is_poked_)
        MPI_Grequest_complete(wake_);
    MPI_Wait(&wake_, MPI_STATUS_IGNORE);
    alarms_.give_back(alarm_);
    return true;
}

void ProgressThread::submit(WorkPtr work)
{
    std::lock_guard<std::mutex> lock(mutex_);
    work->owner_ = WeftWork::Owner::NOBODY;
    work->place_ = fresh_.size();
    fresh_.push_back(std::move(work));
    if (is_deep_)
        changed_.notify_one();
}

void ProgressThread::remove_fresh(WeftWork &work)
{
    size_t place = work.place_;
    if (place + 1 != fresh_.size()) {
        fresh_[place] = std::move(fresh_.back());
        fresh_[place]->place_ = place;
    }
    fresh_.pop_back();
}

void ProgressThread::adopt(WorkPtr work)
{
    work->owner_ = WeftWork::Owner::PROGRESS;
    pending_++;
    incoming_.push_back(std::move(work));
}

void ProgressThread::adopt_fresh()
{
    for (WorkPtr &work : fresh_)
        adopt(std::move(work));
    fresh_.clear();
}

void ProgressThread::hurry(WeftWork &work)
{
    std::lock_guard<std::mutex> lock(mutex_);
    if (work.owner_ != WeftWork::Owner::NOBODY)
        return;
    WorkPtr kept = fresh_[work.place_];
    remove_fresh(work);
    adopt(std::move(kept));
    poke();
}

bool ProgressThread::take(WeftWork &work)
{
    WorkPtr kept; // outlives the lock
    std::lock_guard<std::mutex> lock(mutex_);
    if (work.owner_ != WeftWork::Owner::NOBODY)
        return false;
    kept = fresh_[work.place_];
    remove_fresh(work);
    work.owner_ = WeftWork::Owner::WAITER;
    return true;
}

void ProgressThread::give_back(WorkPtr work)
{
    submit(std::move(work));
}

void ProgressThread::abandon(Operation &&operation)
{
    std::lock_guard<std::mutex> lock(mutex_);
    pending_++;
    incoming_abandoned_.push_back(std::move(operation));
    poke();
}

// Have the thread look at its lists; with the lock.
void ProgressThread::poke()
{
    if (!is_in_mpi_) {
        changed_.notify_one();
    } else if (!is_poked_) {
        is_poked_ = true;
        MPI_Grequest_complete(wake_);
    }
}

void ProgressThread::run()
{
    std::unique_lock<std::mutex> lock(mutex_);
    while (!is_closing_) {
        for (WorkPtr &work : incoming_)
            adopted_.push_back(std::move(work));
        incoming_.clear();
        for (Operation &operation : incoming_abandoned_)
            abandoned_.push_back(std::make_unique<Operation>(std::move(operation)));
        incoming_abandoned_.clear();
        if (adopted_.empty() && abandoned_.empty())
            sleep(lock);
        else
            wait_in_mpi(lock);
    }
}

void ProgressThread::sleep(std::unique_lock<std::mutex> &lock)
{
    auto is_called = [this] {
        return is_closing_ || !incoming_.empty() || !incoming_abandoned_.empty();
    };
    if (fresh_.empty() && idle_ticks_ >= IDLE_TICKS) {
        is_deep_ = true;
        changed_.wait(lock, [&] { return is_called() || !fresh_.empty(); });
        is_deep_ = false;
        idle_ticks_ = 0;
    } else if (!changed_.wait_for(lock, TICK, is_called)) {
        idle_ticks_ = fresh_.empty() ? idle_ticks_ + 1 : 0;
        adopt_fresh();
    }
}

void ProgressThread::list_requests(Operation &operation)
{
    for (size_t i = 0; i < operation.requests.size(); i++) {
        if (operation.requests[i] == MPI_REQUEST_NULL)
            continue;
        waiting_.requests.push_back(operation.requests[i]);
        waiting_.owners.emplace_back(&operation, i);
    }
}

Clock::time_point ProgressThread::earliest_deadline() const
{
    Clock::time_point earliest = Clock::time_point::max();
    for (const WorkPtr &work : adopted_)
        earliest = std::min(earliest, work->deadline_);
    return earliest;
}

void ProgressThread::wait_in_mpi(std::unique_lock<std::mutex> &lock)
{
    is_in_mpi_ = true;
    lock.unlock();
    if (!adopted_.empty())
        alarms_.set(alarm_, earliest_deadline());
    waiting_.requests.assign({wake_, alarm_->request});
    waiting_.owners.clear();
    for (const WorkPtr &work : adopted_)
        list_requests(work->operation_);
    for (const auto &operation : abandoned_)
        list_requests(*operation);
    int count = static_cast<int>(waiting_.requests.size());
    std::vector<int> indices(waiting_.requests.size());
    std::vector<MPI_Status> statuses(waiting_.requests.size());
    int completed = 0;
    int err =
        MPI_Waitsome(count, waiting_.requests.data(), &completed, indices.data(), statuses.data());
    indices.resize(completed == MPI_UNDEFINED ? 0 : static_cast<size_t>(completed));
    alarm_->request = waiting_.requests[1];
    alarms_.clear(alarm_);
    take_completions(indices, statuses, err);
    conclude_works();
    lock.lock();
    is_in_mpi_ = false;
    if (waiting_.requests[0] == MPI_REQUEST_NULL) {
        wake_ = make_signal();
        is_poked_ = false;
    }
    pending_ = adopted_.size() + abandoned_.size() + incoming_.size() + incoming_abandoned_.size();
    if (pending_ == 0)
        emptied_.notify_all();
}

void ProgressThread::take_completions(const std::vector<int> &indices,
                                      const std::vector<MPI_Status> &statuses, int err)
{
    for (size_t i = 0; i < indices.size(); i++) {
        size_t index = static_cast<size_t>(indices[i]);
        if (index < SIGNALS)
            continue;
        auto [operation, request] = waiting_.owners[index - SIGNALS];
        int own_err = err == MPI_ERR_IN_STATUS ? statuses[i].MPI_ERROR : MPI_SUCCESS;
        operation->note_completion(request, own_err, statuses[i]);
    }
}

// Conclude what is complete or late. What is late goes to the abandoned ones.
void ProgressThread::conclude_works()
{
    Clock::time_point now = Clock::now();
    std::vector<WorkPtr> left;
    for (WorkPtr &work : adopted_) {
        if (work->operation_.is_complete()) {
            work->conclude(nullptr);
        } else if (work->deadline_ <= now) {
            Operation &operation = work->operation_;
            operation.cancel_receives();
            std::exception_ptr error = operation.timeout_error();
            abandoned_.push_back(std::make_unique<Operation>(std::move(operation)));
            operation.about = abandoned_.back()->about;
            operation.outputs = abandoned_.back()->outputs;
            work->conclude(error);
        } else {
            left.push_back(std::move(work));
        }
    }
    adopted_ = std::move(left);
    std::vector<std::unique_ptr<Operation>> waiting;
    for (auto &operation : abandoned_) {
        if (!operation->is_complete())
            waiting.push_back(std::move(operation));
    }
    abandoned_ = std::move(waiting);
}

} // namespace weft_torch
