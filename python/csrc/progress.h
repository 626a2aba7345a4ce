// SPDX-License-Identifier: BSD-3-Clause
// The one thread that completes works for which no thread waits. It sleeps within MPI while it has
// works, which is where messages make progress, and otherwise on a condition variable.
//
//   submit()          fresh works: nobody waits for them yet
//      |
//      |-- take() --> wait() of the caller waits for the requests itself
//      |
//      '-- after TICK, or hurry() --> adopted by the thread, which concludes them
#pragma once

#include "alarm.h"
#include "work.h"

namespace weft_torch
{

class ProgressThread
{
  public:
    explicit ProgressThread(AlarmClock &alarms) : alarms_(alarms)
    {
    }

    void open();
    /** Wait a moment for what is still pending, and end the thread. False: operations that can never
     * be completed are left, and the thread goes on. */
    bool close();

    void submit(WorkPtr work);
    /** Have the thread wait for the work now, unless somebody else does. */
    void hurry(WeftWork &work);
    /** The caller becomes the owner of the work's requests; false: it has another. */
    bool take(WeftWork &work);
    /** The owner gives up; the work is fresh again. */
    void give_back(WorkPtr work);
    /** Keep what has timed out, with its tensors, until MPI has done with it. */
    void abandon(Operation &&operation);
    AlarmClock &alarms()
    {
        return alarms_;
    }

  private:
    struct Waiting { // what MPI_Waitsome is called with
        std::vector<MPI_Request> requests;
        std::vector<std::pair<Operation *, size_t>> owners; // behind the two signals
    };

    void run();
    void sleep(std::unique_lock<std::mutex> &lock);
    void adopt(WorkPtr work);
    void adopt_fresh();
    void remove_fresh(WeftWork &work);
    void poke();
    void wait_in_mpi(std::unique_lock<std::mutex> &lock);
    void list_requests(Operation &operation);
    void take_completions(const std::vector<int> &indices, const std::vector<MPI_Status> &statuses,
                          int err);
    void conclude_works();
    Clock::time_point earliest_deadline() const;

    AlarmClock &alarms_;
    std::thread thread_;
    std::mutex mutex_;
    std::condition_variable changed_, emptied_;
    std::vector<WorkPtr> fresh_, incoming_;
    std::vector<Operation> incoming_abandoned_;
    MPI_Request wake_ = MPI_REQUEST_NULL; // completed by poke() while the thread is in MPI
    bool is_in_mpi_ = false, is_poked_ = false, is_closing_ = false, is_deep_ = false;
    int idle_ticks_ = 0;
    size_t pending_ = 0; // works and operations that the thread has
    // The thread's own:
    std::vector<WorkPtr> adopted_;
    std::vector<std::unique_ptr<Operation>> abandoned_;
    Waiting waiting_;
    AlarmClock::Alarm *alarm_ = nullptr;
};

} // namespace weft_torch
