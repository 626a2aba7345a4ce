// SPDX-License-Identifier: BSD-3-Clause
#include "operation.h"

#include "loss.h"
#include "path.h"

#include <ATen/core/grad_mode.h>
#include <mpix.h>

#include <algorithm>
#include <sstream>

namespace weft_torch
{

static std::string size_error(int64_t expected, const MPI_Status &status)
{
    MPI_Count bytes = 0;
    MPI_Get_elements_c(&status, MPI_BYTE, &bytes);
    if (bytes == expected)
        return "";
    return "failed: rank " + std::to_string(status.MPI_SOURCE) + " has sent " +
           std::to_string(bytes) + " bytes, but the tensor holds " + std::to_string(expected);
}

// Of a collective a message that is too long means that ranks disagree.
static std::string failure_of(const Description &about, int err)
{
    std::string text = "failed: " + mpi_error_text(err);
    int error_class = MPI_SUCCESS;
    MPI_Error_class(err, &error_class);
    if (error_class == MPI_ERR_TRUNCATE && about.sequence != 0)
        text += "; do the shapes and types of all ranks fit? TORCH_DISTRIBUTED_DEBUG=DETAIL "
                "compares them";
    return text;
}

// A receive from any rank goes on waiting when a rank is lost that might have sent the message.
static void take_back(MPI_Request request, int err)
{
    int error_class = MPI_SUCCESS;
    MPI_Error_class(err, &error_class);
    if (error_class != MPIX_ERR_PROC_FAILED_PENDING || request == MPI_REQUEST_NULL)
        return;
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

void Operation::note_completion(size_t request, int err, const MPI_Status &status)
{
    if (is_loss(err)) {
        if (loss == MPI_SUCCESS)
            loss = err;
        take_back(requests[request], err);
    }
    requests[request] = MPI_REQUEST_NULL;
    if (err != MPI_SUCCESS) {
        if (failure.empty())
            failure = failure_of(about, err);
        return;
    }
    for (const Receive &receive : receives) {
        if (receive.request != request)
            continue;
        source = status.MPI_SOURCE;
        if (failure.empty())
            failure = size_error(receive.bytes, status);
    }
}

void Operation::await_on_host()
{
    is_awaited = path != nullptr;
    has_kernels = is_awaited && std::find(requests.begin(), requests.end(), MPI_REQUEST_NULL) !=
                                    requests.end();
}

bool Operation::is_complete() const
{
    for (MPI_Request request : requests) {
        if (request != MPI_REQUEST_NULL)
            return false;
    }
    return true;
}

void Operation::run_steps()
{
    auto run = [this] {
        for (auto &step : after)
            step();
    };
    if (is_awaited)
        path->run_and_wait(run);
    else
        run();
}

std::exception_ptr Operation::conclude()
{
    std::exception_ptr error;
    if (loss != MPI_SUCCESS) {
        error = loss_error(about, loss);
    } else if (!failure.empty()) {
        error = error_of(about, failure);
    } else if (!after.empty() || has_kernels) {
        try {
            at::NoGradGuard no_grad;
            run_steps();
        } catch (...) {
            error = std::current_exception();
        }
    }
    kept.clear();
    noted.clear();
    after.clear();
    return error;
}

void Operation::absorb(Operation &&other)
{
    size_t offset = requests.size();
    requests.append(other.requests.begin(), other.requests.end());
    for (const Receive &receive : other.receives)
        receives.push_back({receive.request + offset, receive.bytes});
    outputs.insert(outputs.end(), other.outputs.begin(), other.outputs.end());
    kept.append(other.kept.begin(), other.kept.end());
    for (auto &step : other.after)
        after.push_back(std::move(step));
    path = other.path;
    is_captured = is_captured || other.is_captured;
    is_from_any = is_from_any || other.is_from_any;
    about.timeout = std::max(about.timeout, other.about.timeout);
}

void Operation::cancel_receives()
{
    for (const Receive &receive : receives) {
        if (requests[receive.request] != MPI_REQUEST_NULL)
            MPI_Cancel(&requests[receive.request]);
    }
}

std::exception_ptr Operation::timeout_error() const
{
    std::ostringstream what;
    what << "Timed out after " << about.timeout.count() << " ms";
    if (about.peer_role == nullptr && about.group)
        what << "; do all " << about.group->size << " ranks take part?";
    return error_of(about, what.str());
}

} // namespace weft_torch
