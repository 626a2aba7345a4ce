// SPDX-License-Identifier: BSD-3-Clause
#include "library.h"

#include "bootstrap.h"
#include "loss.h"

#include <mpix.h>

#include <future>
#include <numeric>

namespace weft_torch
{

Library &Library::instance()
{
    static Library *library = new Library;
    return *library;
}

void Library::hold(const StorePtr &store, int rank, int size)
{
    std::lock_guard<std::mutex> lock(mutex_);
    if (!runs())
        start(store, rank, size);
    holders_++;
}

void Library::keep()
{
    std::lock_guard<std::mutex> lock(mutex_);
    holders_++;
}

MPI_Comm Library::hold_all()
{
    std::lock_guard<std::mutex> lock(mutex_);
    if (!runs())
        start(nullptr, -1, 0);
    try {
        if (all_ == MPI_COMM_NULL)
            make_comms_of_all();
    } catch (...) {
        if (holders_ == 0)
            stop();
        throw;
    }
    holders_++;
    return all_;
}

// The first group has a communicator from the start, so that no rank can be lost while it is made.
void Library::make_comms_of_all()
{
    int size = 0;
    MPI_Group_size(world_, &size);
    std::vector<int> members(static_cast<size_t>(size));
    std::iota(members.begin(), members.end(), 0);
    all_ = make_comm(members, "torch of all");
    first_ = make_comm(members, "torch first");
}

MPI_Comm Library::take_first_comm(int size)
{
    int first_size = 0;
    if (first_ != MPI_COMM_NULL)
        MPI_Comm_size(first_, &first_size);
    return first_size == size ? first_.exchange(MPI_COMM_NULL) : MPI_COMM_NULL;
}

void Library::check_all_there()
{
    if (all_ == MPI_COMM_NULL)
        return;
    int is_there = 0; // MPI learns of losses while it is called
    MPI_Iprobe(MPI_ANY_SOURCE, 0, all_, &is_there, MPI_STATUS_IGNORE);
    std::vector<int> ranks = failed_ranks(all_);
    if (!ranks.empty())
        std::rethrow_exception(
            loss_error("a group cannot be made: lost ranks of the job: " + rank_list(ranks), {}));
}

void Library::add_comm(MPI_Comm comm)
{
    std::lock_guard<std::mutex> lock(comms_mutex_);
    comms_.insert(comm);
}

void Library::remove_comm(MPI_Comm comm)
{
    std::lock_guard<std::mutex> lock(comms_mutex_);
    comms_.erase(comm);
}

void Library::revoke_all()
{
    std::lock_guard<std::mutex> lock(comms_mutex_);
    for (MPI_Comm comm : comms_)
        MPIX_Comm_revoke(comm);
}

void Library::let_go()
{
    std::lock_guard<std::mutex> lock(mutex_);
    if (--holders_ == 0 && runs())
        stop();
}

void Library::close_at_exit(std::optional<double> limit_s)
{
    auto close = [this] {
        std::lock_guard<std::mutex> lock(mutex_);
        if (runs())
            stop();
    };
    if (!limit_s.has_value())
        return close();
    std::packaged_task<void()> task(close);
    std::future<void> done = task.get_future();
    std::thread(std::move(task)).detach();
    done.wait_for(std::chrono::duration<double>(*limit_s));
}

void Library::start(const StorePtr &store, int rank, int size)
{
    if (!has_launcher())
        set_bootstrap(store, rank, size);
    MPI_Info info;
    check_mpi(MPI_Info_create(&info), "MPI_Info_create");
    check_mpi(MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE"), "MPI_Info_set");
    int err = MPI_Session_init(info, MPI_ERRORS_RETURN, &session_);
    MPI_Info_free(&info);
    if (err != MPI_SUCCESS)
        session_ = MPI_SESSION_NULL;
    check_mpi(err, "MPI_Session_init");
    check_mpi(MPI_Group_from_session_pset(session_, "mpi://WORLD", &world_),
              "MPI_Group_from_session_pset");
    check_mpi(MPI_Group_rank(world_, &mpi_rank_), "MPI_Group_rank");
    alarms_.open();
    progress_.open();
}

// With operations that can never complete MPI must not be ended: it would wait for them.
void Library::stop()
{
    if (!progress_.close())
        return;
    alarms_.close();
    MPI_Comm first = first_.exchange(MPI_COMM_NULL);
    for (MPI_Comm *comm : {&all_, &first}) {
        if (*comm != MPI_COMM_NULL)
            MPI_Comm_free(comm);
    }
    MPI_Group_free(&world_);
    MPI_Session_finalize(&session_);
    session_ = MPI_SESSION_NULL;
}

// The operations are nonblocking, with which a communicator alone would never get shared memory.
static void share_memory(MPI_Comm comm)
{
    MPI_Info info;
    check_mpi(MPI_Info_create(&info), "MPI_Info_create");
    check_mpi(MPI_Info_set(info, "weft_share_memory", "true"), "MPI_Info_set");
    int err = MPI_Comm_set_info(comm, info);
    MPI_Info_free(&info);
    check_mpi(err, "MPI_Comm_set_info");
}

MPI_Comm Library::make_comm(const std::vector<int> &members, const std::string &name)
{
    MPI_Group group;
    int world_size = 0;
    MPI_Group_size(world_, &world_size);
    for (int member : members)
        TORCH_CHECK(member >= 0 && member < world_size, "weft: group \"", name,
                    "\": MPI runs with ", world_size, " ranks and has no rank ", member);
    check_mpi(MPI_Group_incl(world_, static_cast<int>(members.size()), members.data(), &group),
              "MPI_Group_incl");
    MPI_Comm comm = MPI_COMM_NULL;
    int err =
        MPI_Comm_create_from_group(group, name.c_str(), MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Group_free(&group);
    check_mpi(err, "MPI_Comm_create_from_group");
    share_memory(comm);
    return comm;
}

} // namespace weft_torch
