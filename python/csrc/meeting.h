// SPDX-License-Identifier: BSD-3-Clause
// The members of a new group meet in torch's store before they call MPI, which has no time limit:
// so a member that does not come is named. They also learn each other's numbers in MPI, which are
// not always torch's.
#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace weft_torch
{

struct Meeting {
    std::vector<int> mpi_ranks; // of the members
    int64_t generation;         // how many times a group of this name has met in this store
};

/** Throws a DistBackendError that names the ranks that did not come within `timeout`; `look`, which is
 * called now and then meanwhile, may throw as well. */
Meeting meet(c10d::Store &store, const std::string &group, int rank, int size, int mpi_rank,
             std::chrono::milliseconds timeout, const std::function<void()> &look);

} // namespace weft_torch
