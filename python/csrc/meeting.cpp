// SPDX-License-Identifier: BSD-3-Clause
#include "meeting.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <sstream>

namespace weft_torch
{

static std::string missing_ranks(c10d::Store &store, const std::string &prefix, int size)
{
    std::ostringstream missing;
    for (int rank = 0; rank < size; rank++) {
        if (!store.check({prefix + std::to_string(rank)}))
            missing << (missing.tellp() > 0 ? ", " : "") << rank;
    }
    return missing.str();
}

// The one that comes last reads the numbers of all and writes them into one value.
static std::string collect(c10d::Store &store, const std::string &prefix, int size)
{
    std::ostringstream all;
    for (int rank = 0; rank < size; rank++)
        all << store.get_to_str(prefix + std::to_string(rank)) << " ";
    return all.str();
}

static bool wait_for(c10d::Store &store, const std::string &key, std::chrono::milliseconds timeout)
{
    try {
        store.wait({key}, timeout);
        return true;
    } catch (const c10::DistStoreError &) { // the time is over
        return false;
    }
}

static bool wait_and_look(c10d::Store &store, const std::string &key,
                          std::chrono::milliseconds timeout, const std::function<void()> &look)
{
    constexpr auto GLANCE = std::chrono::milliseconds(100);
    auto end = std::chrono::steady_clock::now() + timeout;
    for (;;) {
        look();
        auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
            end - std::chrono::steady_clock::now());
        if (left <= GLANCE)
            return wait_for(store, key, std::max(left, std::chrono::milliseconds(1)));
        if (wait_for(store, key, GLANCE))
            return true;
    }
}

Meeting meet(c10d::Store &store, const std::string &group, int rank, int size, int mpi_rank,
             std::chrono::milliseconds timeout, const std::function<void()> &look)
{
    if (size == 1)
        return {{mpi_rank}, store.add("weft/came", 1)};
    // A process that makes a group of the same name again counts on where the last one ended.
    int64_t came = store.add("weft/came", 1);
    Meeting meeting{{}, (came - 1) / size};
    std::string prefix = "weft/" + std::to_string(meeting.generation) + "/";
    store.set(prefix + std::to_string(rank), std::to_string(mpi_rank));
    if (came % size == 0)
        store.set(prefix + "all", collect(store, prefix, size));
    if (!wait_and_look(store, prefix + "all", timeout, look))
        C10_THROW_ERROR(DistBackendError,
                        "weft: group \"" + group + "\" of " + std::to_string(size) +
                            " ranks could not be made within " + std::to_string(timeout.count()) +
                            " ms: rank " + std::to_string(rank) + " waits for rank(s) " +
                            missing_ranks(store, prefix, size));
    std::istringstream all(store.get_to_str(prefix + "all"));
    for (int number; all >> number;)
        meeting.mpi_ranks.push_back(number);
    TORCH_INTERNAL_ASSERT(static_cast<int>(meeting.mpi_ranks.size()) == size);
    return meeting;
}

} // namespace weft_torch
