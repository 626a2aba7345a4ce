// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap.h"

#include "description.h"
#include "reunion.h"

#include <c10/util/Exception.h>
#include <mpix.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace weft_torch
{

bool has_launcher()
{
    if (ranks_come_again()) // torch's store goes with rank 0
        return true;
    const char *choice = std::getenv("TORCH_WEFT_START");
    if (choice != nullptr && std::strcmp(choice, "launcher") == 0)
        return true;
    if (choice != nullptr && std::strcmp(choice, "store") == 0)
        return false;
    TORCH_CHECK_VALUE(choice == nullptr || *choice == '\0', "TORCH_WEFT_START is \"", choice,
                      "\", not \"launcher\" or \"store\"");
    const char *job = std::getenv("PMIX_NAMESPACE"), *run = std::getenv("TORCHELASTIC_RUN_ID");
    return job != nullptr && (run == nullptr || std::strcmp(run, job) == 0);
}

namespace
{

constexpr const char *PREFIX = "weft/";

// The store that MPI is lent. It stays for the life of the process, as MPI may be started again.
struct Lent {
    c10::intrusive_ptr<c10d::Store> store;
};

int put(void *state, const char *key, const void *data, size_t bytes)
{
    const auto *first = static_cast<const uint8_t *>(data);
    try {
        static_cast<Lent *>(state)->store->set(std::string(PREFIX) + key,
                                               std::vector<uint8_t>(first, first + bytes));
        return 0;
    } catch (...) {
        return MPIX_BOOTSTRAP_FAILED;
    }
}

bool has_come(c10d::Store &store, const std::string &key, int limit_ms)
{
    if (store.check({key}))
        return true;
    if (limit_ms == 0)
        return false;
    try {
        store.wait({key}, std::chrono::milliseconds(limit_ms));
        return true;
    } catch (const c10::DistStoreError &) { // the time is over
        return false;
    }
}

int get(void *state, const char *name, int limit_ms, void *out, size_t room, size_t *bytes_out)
{
    c10d::Store &store = *static_cast<Lent *>(state)->store;
    std::string key = std::string(PREFIX) + name;
    try {
        if (!has_come(store, key, limit_ms))
            return MPIX_BOOTSTRAP_ABSENT;
        std::vector<uint8_t> value = store.get(key);
        std::memcpy(out, value.data(), std::min(room, value.size()));
        *bytes_out = value.size();
        return 0;
    } catch (...) {
        return MPIX_BOOTSTRAP_FAILED;
    }
}

} // namespace

void set_bootstrap(const c10::intrusive_ptr<c10d::Store> &store, int rank, int size)
{
    static Lent lent;
    int is_started = lent.store != nullptr;
    if (!is_started)
        MPI_Initialized(&is_started);
    if (is_started)
        return;
    lent.store = store;
    MPIX_Bootstrap bootstrap = {};
    bootstrap.bytes = sizeof(bootstrap);
    bootstrap.rank = rank;
    bootstrap.size = size;
    bootstrap.state = &lent;
    bootstrap.put = put;
    bootstrap.get = get;
    check_mpi(MPIX_Bootstrap_set(&bootstrap), "MPIX_Bootstrap_set");
}

} // namespace weft_torch
