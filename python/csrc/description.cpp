// SPDX-License-Identifier: BSD-3-Clause
#include "description.h"

#include "loss.h"

#include <ATen/record_function.h>
#include <c10/util/Exception.h>

#include <mpi.h>

#include <map>
#include <mutex>
#include <sstream>

namespace weft_torch
{

const char *Description::title() const
{
    if (!at::getStepCallbacksUnlessEmpty(at::RecordScope::FUNCTION).has_value())
        return nullptr;
    static std::mutex mutex;
    static std::map<const char *, std::string> titles; // profilers keep the pointer
    std::lock_guard<std::mutex> lock(mutex);
    const char *name = operation;
    if (peer < 0 && peer_role != nullptr)
        name = "recvAnySource"; // as profilers know it
    std::string &title = titles[name];
    if (title.empty())
        title = std::string("weft:") + name;
    return title.c_str();
}

std::string Description::text() const
{
    std::ostringstream out;
    out << operation;
    if (reduction != nullptr)
        out << " (" << reduction << ")";
    if (count >= 0)
        out << " of " << count << " " << c10::toString(dtype) << " ("
            << count * static_cast<int64_t>(c10::elementSize(dtype)) << " bytes)";
    if (peer_role != nullptr)
        out << ", " << peer_role << " " << (peer < 0 ? "any rank" : "rank " + std::to_string(peer));
    if (sequence != 0)
        out << ", number " << sequence;
    if (group)
        out << ", on rank " << group->rank << " of " << group->size << " in group \"" << group->name
            << "\"";
    return out.str();
}

std::string mpi_error_text(int err)
{
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    if (MPI_Error_string(err, text, &length) != MPI_SUCCESS)
        return "MPI error " + std::to_string(err);
    return std::string(text, static_cast<size_t>(length));
}

void check_mpi(int err, const char *call)
{
    if (C10_LIKELY(err == MPI_SUCCESS))
        return;
    if (is_loss(err))
        std::rethrow_exception(loss_error(std::string(call) + ": " + mpi_error_text(err), {}));
    C10_THROW_ERROR(DistBackendError, std::string("weft: ") + call + ": " + mpi_error_text(err));
}

void check_mpi(int err, const Description &about)
{
    if (C10_UNLIKELY(err != MPI_SUCCESS))
        std::rethrow_exception(error_of(about, err));
}

std::exception_ptr error_of(const Description &about, int err)
{
    return is_loss(err) ? loss_error(about, err)
                        : error_of(about, "failed: " + mpi_error_text(err));
}

std::exception_ptr error_of(const Description &about, const std::string &what)
{
    try {
        C10_THROW_ERROR(DistBackendError, "weft: " + about.text() + ": " + what);
    } catch (...) {
        return std::current_exception();
    }
}

} // namespace weft_torch
