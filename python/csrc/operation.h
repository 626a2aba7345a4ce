// SPDX-License-Identifier: BSD-3-Clause
// One operation on its way: its MPI requests, the tensors that must live until they are complete,
// and what is left to do then.
#pragma once

#include "description.h"

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include <mpi.h>

#include <functional>

namespace weft_torch
{

/** A receive among the requests of an operation. */
struct Receive {
    size_t request;
    int64_t bytes; // that the tensor holds; a message of another size is an error
};

class Path;

struct Operation {
    Description about;
    c10::SmallVector<MPI_Request, 2> requests; // MPI_REQUEST_NULL: complete
    c10::SmallVector<Receive, 1> receives;
    std::vector<at::Tensor> noted;                    // what a profiler shows as the inputs
    std::vector<at::Tensor> outputs;                  // the result, as the caller sees it
    c10::SmallVector<at::Tensor, 2> kept;             // inputs and staging tensors
    c10::SmallVector<std::function<void()>, 1> after; // run in this order when all is complete
    int source = -1;                                  // of the last message received
    Path *path = nullptr;     // of a device's stream; null: the host's
    bool is_captured = false; // into a graph, so that the stream waits, and never the host
    bool is_awaited = false;  // the host waits, though it is an operation of a device's stream,
    bool has_kernels = false; // in which some of its work is
    bool is_from_any = false; // captured: a message comes from a rank that a status tells
    std::string failure;                              // not empty: why it has failed
    int loss = MPI_SUCCESS; // MPI's first error that tells of a lost rank

    /** A place for the request of one more MPI call. */
    MPI_Request *next_request()
    {
        requests.push_back(MPI_REQUEST_NULL);
        return &requests.back();
    }

    /** What has requests is waited for on the host; a part without one is kernels in the path's
     * stream. */
    void await_on_host();
    /** A request has completed with `err`; the status is looked at if it is a receive. */
    void note_completion(size_t request, int err, const MPI_Status &status);
    bool is_complete() const;
    /** Nothing of it is left but work in the path's stream. */
    bool is_in_stream() const
    {
        return path != nullptr && (is_captured || is_complete());
    }
    /** Run what is left; the error, if there is one. Forgets the tensors but `outputs`. */
    std::exception_ptr conclude();
    /** Join `other`, which is to end together with this one. */
    void absorb(Operation &&other);
    /** Cancel what MPI can take back, which is receives. */
    void cancel_receives();
    std::exception_ptr timeout_error() const;

  private:
    void run_steps();
};

} // namespace weft_torch
