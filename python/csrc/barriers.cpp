// SPDX-License-Identifier: BSD-3-Clause
#include "group.h"

#include <array>
#include <climits>
#include <sstream>

namespace weft_torch
{

c10dWorkPtr ProcessGroupWeft::barrier(const c10d::BarrierOptions &options)
{
    Call call(*this, c10d::OpType::BARRIER, "barrier", options.timeout);
    if (options.device.has_value() && options.device->is_cuda())
        call.use_device(*options.device);
    return call.run(options.asyncOp, [](Path &path, Operation &op) { path.barrier(op); });
}

// A monitored barrier: the others send rank 0 a token and wait for its answer. A rank that has
// missed a barrier counts fewer of them than rank 0; it is told the right number and sends again.
namespace
{

constexpr int TOKEN_TAG = INT_MAX, ANSWER_TAG = INT_MAX - 1;

enum Answer : int64_t { PASSED, FAILED, OUTDATED };

struct Note {
    int64_t number;  // of the barrier
    int64_t answer;  // of rank 0
    int64_t current; // OUTDATED: the barrier that rank 0 is in; FAILED: a rank that is missing
};

using NotePtr = std::shared_ptr<Note>;

// The note lives as long as the operation.
Operation operation_with(const NotePtr &note, const std::shared_ptr<const GroupIdentity> &group,
                         Milliseconds timeout)
{
    Operation operation;
    operation.about.operation = "monitored_barrier";
    operation.about.group = group;
    operation.about.timeout = timeout;
    operation.after.push_back([note] {});
    return operation;
}

struct Monitor {
    MPI_Comm comm;
    ProgressThread &progress;
    std::shared_ptr<const GroupIdentity> group;
    Milliseconds timeout;
    Clock::time_point deadline;

    void send(int to, int tag, const Note &note)
    {
        auto kept = std::make_shared<Note>(note);
        Operation operation = operation_with(kept, group, timeout);
        check_mpi(
            MPI_Isend(kept.get(), sizeof(Note), MPI_BYTE, to, tag, comm, operation.next_request()),
            operation.about);
        if (!test_requests(operation))
            progress.abandon(std::move(operation));
    }

    Operation receive(int from, int tag, const NotePtr &note)
    {
        Operation operation = operation_with(note, group, timeout);
        operation.receives.push_back({0, sizeof(Note)});
        check_mpi(MPI_Irecv(note.get(), sizeof(Note), MPI_BYTE, from, tag, comm,
                            operation.next_request()),
                  operation.about);
        return operation;
    }

    /** False: nothing has come in time, and the receive is taken back. */
    bool finish(Operation &operation)
    {
        if (wait_until(progress.alarms(), operation, deadline))
            return operation.failure.empty();
        operation.cancel_receives();
        MPI_Status status;
        int is_cancelled = 0;
        MPI_Wait(&operation.requests[0], &status);
        MPI_Test_cancelled(&status, &is_cancelled);
        return !is_cancelled;
    }

    /** Of rank 0: whether the token of `rank` for this barrier has come. */
    bool await_token(int rank, int64_t number)
    {
        for (;;) {
            auto note = std::make_shared<Note>();
            Operation operation = receive(rank, TOKEN_TAG, note);
            if (!finish(operation))
                return false;
            if (note->number >= number)
                return true;
            send(rank, ANSWER_TAG, {note->number, OUTDATED, number});
        }
    }

    /** Of the others; null: none has come. */
    NotePtr await_answer(int64_t number)
    {
        for (;;) {
            auto note = std::make_shared<Note>();
            Operation operation = receive(0, ANSWER_TAG, note);
            if (!finish(operation))
                return nullptr;
            if (note->number == number)
                return note;
        }
    }
};

std::string join(const std::vector<int> &ranks)
{
    std::ostringstream text;
    for (size_t i = 0; i < ranks.size(); i++)
        text << (i > 0 ? ", " : "") << ranks[i];
    return text.str();
}

void lead(Monitor &monitor, int64_t number, bool wait_all_ranks)
{
    std::vector<int> arrived, missing;
    for (int rank = 1; rank < monitor.group->size; rank++)
        (monitor.await_token(rank, number) ? arrived : missing).push_back(rank);
    for (int rank : arrived)
        monitor.send(rank, ANSWER_TAG,
                     {number, missing.empty() ? PASSED : FAILED, missing.empty() ? 0 : missing[0]});
    if (missing.empty())
        return;
    std::string who =
        wait_all_ranks ? "Ranks " + join(missing) : "Rank " + std::to_string(missing[0]);
    TORCH_CHECK(false, "weft: [Rank 0]: ", who, " failed to pass monitoredBarrier in ",
                monitor.timeout.count(), " ms; missing in the group \"", monitor.group->name,
                "\": ", join(missing));
}

// Returns the number of the barrier that was passed.
int64_t follow(Monitor &monitor, int64_t number)
{
    for (;;) {
        monitor.send(0, TOKEN_TAG, {number, PASSED, 0});
        NotePtr note = monitor.await_answer(number);
        if (note != nullptr && note->answer == PASSED)
            return number;
        if (note != nullptr && note->answer == OUTDATED) {
            number = note->current;
            continue;
        }
        TORCH_CHECK(false, "weft: Rank ", monitor.group->rank,
                    " successfully reached monitoredBarrier, but received errors while waiting for "
                    "send/recv from rank 0. ",
                    note != nullptr ? "Rank 0 misses rank " + std::to_string(note->current)
                                    : "No answer in " + std::to_string(monitor.timeout.count()) +
                                          " ms: please check rank 0 logs for faulty rank");
    }
}

} // namespace

void ProcessGroupWeft::monitoredBarrier(const c10d::BarrierOptions &options, bool wait_all_ranks)
{
    check_open("monitored_barrier");
    Milliseconds timeout =
        options.timeout == c10d::kUnsetTimeout ? options_->timeout : options.timeout;
    TORCH_CHECK(timeout.count() > 0, "weft: Rank ", getRank(),
                " timed out in monitoredBarrier after ", timeout.count(), " ms.");
    Monitor monitor{comm_, library_.progress(), identity_, timeout, Clock::now() + timeout};
    auto number = static_cast<int64_t>(++monitored_);
    if (getRank() == 0)
        lead(monitor, number, wait_all_ranks);
    else
        monitored_ = static_cast<uint64_t>(follow(monitor, number));
}

} // namespace weft_torch
