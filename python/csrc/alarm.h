// SPDX-License-Identifier: BSD-3-Clause
// Waiting within MPI, but not for ever. MPI has no wait with a time limit; so a thread waits for
// its requests and for one more, a generalised request, which another thread completes when the
// time is over. That thread sleeps until the earliest time set. Setting a time that is later than
// the earliest, as nearly all are, costs two stores.
#pragma once

#include "operation.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace weft_torch
{

using Clock = std::chrono::steady_clock;

/** MPI calls with a generalised request that nobody but its owner and its completer know. */
MPI_Request make_signal();

class AlarmClock
{
  public:
    struct Alarm {
        MPI_Request request = MPI_REQUEST_NULL; // complete when the time is over; the owner's
        std::atomic<int64_t> rings_at{0};       // ns of the clock; or one of the states below
    };

    /** Start the thread. MPI must run until close(). */
    void open();
    /** End it. No alarm may be in use. */
    void close();

    Alarm *take();
    void give_back(Alarm *alarm);
    /** From now on alarm->request completes at `deadline`; it must be off. */
    void set(Alarm *alarm, Clock::time_point deadline);
    /** Switch it off. It may have rung: true. */
    bool clear(Alarm *alarm);

  private:
    enum State : int64_t { OFF = 0, RINGS = -1 };

    void run();
    int64_t ring_due(int64_t now_ns);

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Alarm> alarms_; // all there are: they do not move
    std::vector<Alarm *> free_;
    std::atomic<int64_t> wakes_at_{INT64_MAX};
    bool is_closing_ = false;
    std::thread thread_;
};

/** Wait for all requests of `operation`, in this thread and within MPI. False: the time was over,
 * and some are still pending. */
bool wait_until(AlarmClock &clock, Operation &operation, Clock::time_point deadline);
/** The same without waiting. True: all are complete. */
bool test_requests(Operation &operation);

} // namespace weft_torch
