// SPDX-License-Identifier: BSD-3-Clause
// What an operation is, kept as plain values, so that a sentence about it costs nothing until an
// error needs one.
#pragma once

#include <c10/core/ScalarType.h>

#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace weft_torch
{

using Milliseconds = std::chrono::milliseconds;

/** The group as error messages name it; shared by the group and its operations. */
struct GroupIdentity {
    GroupIdentity(std::string name_, int rank_, int size_, std::vector<int> mpi_ranks_,
                  MPI_Comm comm_)
        : name(std::move(name_)), rank(rank_), size(size_), mpi_ranks(std::move(mpi_ranks_)),
          comm(comm_)
    {
    }

    std::string name;
    int rank;
    int size;
    std::vector<int> mpi_ranks; // of the members, in the order of the group

    mutable std::mutex mutex; // for comm
    mutable MPI_Comm comm;    // null when the group is destroyed
};

struct Description {
    const char *operation = "";      // as in torch.distributed: "all_reduce"
    const char *reduction = nullptr; // "sum", if it reduces
    const char *peer_role = nullptr; // "root", "to", "from", if there is such a rank
    int peer = -1;                   // in the group
    int64_t count = -1;              // elements of this rank's tensor; -1: there is none
    c10::ScalarType dtype = c10::ScalarType::Undefined;
    uint64_t sequence = 0; // number of the collective in its group
    Milliseconds timeout{0};
    std::shared_ptr<const GroupIdentity> group;

    /** What a profiler sees, weft:all_reduce; null if none is looking. */
    const char *title() const;
    /** For example: all_reduce (sum) of 8 Float (32 bytes), number 3, on rank 1 of 4 in group "0" */
    std::string text() const;
};

/** Throws torch's DistBackendError, which is a RuntimeError, unless `err` is MPI_SUCCESS. */
void check_mpi(int err, const char *call);
/** The same for an operation. */
void check_mpi(int err, const Description &about);
/** A DistBackendError as a value: "weft: " + the operation + what happened to it. */
std::exception_ptr error_of(const Description &about, const std::string &what);
/** The same for an error of MPI; a weft.RankLost if a rank is lost (loss.h). */
std::exception_ptr error_of(const Description &about, int err);
/** What MPI says of its error code. */
std::string mpi_error_text(int err);

} // namespace weft_torch
