// SPDX-License-Identifier: BSD-3-Clause
// MPI in this process: it runs while there is a group, in a session of its own, so that a program
// may use MPI beside it. Groups can be made again after the last has gone.
#pragma once

#include "progress.h"

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <set>

namespace weft_torch
{

using StorePtr = c10::intrusive_ptr<c10d::Store>;

class Library
{
  public:
    /** The one of this process. It is never destroyed, since threads may outlive main(). */
    static Library &instance();

    /** Start MPI unless it runs, and hold it. Without a launcher that MPI knows, the ranks of the
     * job find each other by the store: then `rank` and `size` are MPI's, too. */
    void hold(const StorePtr &store, int rank, int size);
    /** Hold it once more, while it runs. */
    void keep();
    /** Start MPI unless it runs, and hold it, where lost ranks come again: returns a communicator of
     * all ranks of the job, which is the library's. */
    MPI_Comm hold_all();
    bool has_all() const
    {
        return all_ != MPI_COMM_NULL;
    }
    /** The last one to let go ends MPI, if nothing is pending. */
    void let_go();
    /** The communicator that hold_all() has made for the first group of all ranks, or null. */
    MPI_Comm take_first_comm(int size);
    /** Throws a RankLost if a rank of those that hold_all() has brought together is lost. */
    void check_all_there();
    /** Groups add their communicators, so that revoke_all() ends all that is under way. */
    void add_comm(MPI_Comm comm);
    void remove_comm(MPI_Comm comm);
    void revoke_all();
    /** At the end of the process: groups that are left are no reason to go on. MPI waits until what
     * this process has sent is received; `limit_s`: no longer than this. */
    void close_at_exit(std::optional<double> limit_s);

    bool runs() const
    {
        return session_ != MPI_SESSION_NULL;
    }
    int mpi_rank() const
    {
        return mpi_rank_;
    }
    /** Collective over the members, numbers in the MPI world. `name` is the same at all of them, and
     * not that of another group in the making. */
    MPI_Comm make_comm(const std::vector<int> &members, const std::string &name);
    ProgressThread &progress()
    {
        return progress_;
    }

  private:
    Library() : progress_(alarms_)
    {
    }
    void start(const StorePtr &store, int rank, int size);
    void make_comms_of_all();
    void stop();

    std::mutex mutex_;
    int holders_ = 0;
    MPI_Session session_ = MPI_SESSION_NULL;
    MPI_Group world_ = MPI_GROUP_NULL;
    int mpi_rank_ = -1;
    MPI_Comm all_ = MPI_COMM_NULL;               // of hold_all()
    std::atomic<MPI_Comm> first_{MPI_COMM_NULL}; // and for a group
    std::mutex comms_mutex_;
    std::set<MPI_Comm> comms_; // of the groups that there are
    AlarmClock alarms_;
    ProgressThread progress_;
};

} // namespace weft_torch
