// SPDX-License-Identifier: BSD-3-Clause
// Operations on cuda tensors, in the order of the streams that the program uses. There are two
// implementations: cuda_stream_path.cpp, and no_stream_path.cpp for a torch without CUDA.
#pragma once

#include "path.h"

#include <torch/csrc/distributed/c10d/Work.hpp>

namespace weft_torch
{

class StreamPaths
{
  public:
    virtual ~StreamPaths() = default;
    virtual Path &path_of(c10::DeviceIndex device) = 0;
    virtual c10::intrusive_ptr<c10d::Work> finish(Path &path, Operation &&operation,
                                                  c10d::OpType type, bool is_async) = 0;
};

/** Collective over the communicator; null where this process uses no device. */
std::unique_ptr<StreamPaths> make_stream_paths(MPI_Comm comm);

} // namespace weft_torch
