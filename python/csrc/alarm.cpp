// SPDX-License-Identifier: BSD-3-Clause
#include "alarm.h"

namespace weft_torch
{

static int query_signal(void *, MPI_Status *status)
{
    MPI_Status_set_elements(status, MPI_BYTE, 0);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

static int free_signal(void *)
{
    return MPI_SUCCESS;
}

static int cancel_signal(void *, int)
{
    return MPI_SUCCESS;
}

MPI_Request make_signal()
{
    MPI_Request request;
    check_mpi(MPI_Grequest_start(query_signal, free_signal, cancel_signal, nullptr, &request),
              "MPI_Grequest_start");
    return request;
}

static int64_t to_ns(Clock::time_point time)
{
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

void AlarmClock::open()
{
    is_closing_ = false;
    wakes_at_ = INT64_MAX;
    thread_ = std::thread([this] { run(); });
}

void AlarmClock::close()
{
    {
        std::lock_guard<std::mutex> lock(mutex_);
        is_closing_ = true;
    }
    changed_.notify_one();
    thread_.join();
    for (Alarm &alarm : alarms_) {
        if (alarm.request == MPI_REQUEST_NULL)
            continue;
        MPI_Grequest_complete(alarm.request);
        MPI_Wait(&alarm.request, MPI_STATUS_IGNORE);
    }
    alarms_.clear();
    free_.clear();
}

AlarmClock::Alarm *AlarmClock::take()
{
    std::lock_guard<std::mutex> lock(mutex_);
    if (free_.empty())
        return &alarms_.emplace_back();
    Alarm *alarm = free_.back();
    free_.pop_back();
    return alarm;
}

void AlarmClock::give_back(Alarm *alarm)
{
    std::lock_guard<std::mutex> lock(mutex_);
    free_.push_back(alarm);
}

// The store of the time comes before the look at wakes_at_, and in ring_due() the store of
// wakes_at_ before the look at the times: one of the two threads sees the other's.
void AlarmClock::set(Alarm *alarm, Clock::time_point deadline)
{
    if (alarm->request == MPI_REQUEST_NULL)
        alarm->request = make_signal();
    int64_t at = to_ns(deadline);
    alarm->rings_at = at;
    if (at >= wakes_at_)
        return;
    std::lock_guard<std::mutex> lock(mutex_);
    if (at < wakes_at_)
        wakes_at_ = at;
    changed_.notify_one();
}

bool AlarmClock::clear(Alarm *alarm)
{
    int64_t at = alarm->rings_at.exchange(OFF);
    if (at != RINGS)
        return false;
    // The thread has begun to complete the request, and it is used up.
    if (alarm->request != MPI_REQUEST_NULL)
        MPI_Wait(&alarm->request, MPI_STATUS_IGNORE);
    return true;
}

// Ring what is due; the earliest time of the others.
int64_t AlarmClock::ring_due(int64_t now_ns)
{
    int64_t earliest = INT64_MAX;
    wakes_at_ = earliest;
    for (Alarm &alarm : alarms_) {
        int64_t at = alarm.rings_at;
        if (at > now_ns)
            earliest = std::min(earliest, at);
        else if (at > 0 && alarm.rings_at.compare_exchange_strong(at, RINGS))
            MPI_Grequest_complete(alarm.request);
    }
    return earliest;
}

void AlarmClock::run()
{
    std::unique_lock<std::mutex> lock(mutex_);
    while (!is_closing_) {
        int64_t earliest = ring_due(to_ns(Clock::now()));
        if (earliest < wakes_at_)
            wakes_at_ = earliest;
        if (wakes_at_ == INT64_MAX)
            changed_.wait(lock);
        else
            changed_.wait_until(lock,
                                Clock::time_point(std::chrono::nanoseconds(wakes_at_.load())));
    }
}

bool test_requests(Operation &operation)
{
    for (size_t i = 0; i < operation.requests.size(); i++) {
        if (operation.requests[i] == MPI_REQUEST_NULL)
            continue;
        int is_done = 0;
        MPI_Status status;
        int err = MPI_Test(&operation.requests[i], &is_done, &status);
        if (err == MPI_SUCCESS && !is_done)
            return false;
        operation.note_completion(i, err, status);
    }
    return true;
}

// Wait for one request; false: the alarm has rung instead.
static bool wait_for_one(Operation &operation, size_t i, AlarmClock::Alarm *alarm)
{
    MPI_Request both[] = {operation.requests[i], alarm->request};
    MPI_Status status;
    int index = MPI_UNDEFINED;
    int err = MPI_Waitany(2, both, &index, &status);
    alarm->request = both[1];
    if (index == 1)
        return false;
    operation.note_completion(i, err, status);
    return true;
}

bool wait_until(AlarmClock &clock, Operation &operation, Clock::time_point deadline)
{
    AlarmClock::Alarm *alarm = nullptr;
    bool is_in_time = true;
    for (size_t i = 0; i < operation.requests.size() && is_in_time; i++) {
        if (operation.requests[i] == MPI_REQUEST_NULL)
            continue;
        if (alarm == nullptr) {
            alarm = clock.take();
            clock.set(alarm, deadline);
        }
        is_in_time = wait_for_one(operation, i, alarm);
    }
    if (alarm != nullptr) {
        clock.clear(alarm);
        clock.give_back(alarm);
    }
    return is_in_time || test_requests(operation);
}

} // namespace weft_torch
