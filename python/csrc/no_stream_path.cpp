// SPDX-License-Identifier: BSD-3-Clause
// For a torch without CUDA.
#include "stream_path.h"

namespace weft_torch
{

std::unique_ptr<StreamPaths> make_stream_paths(MPI_Comm)
{
    return nullptr;
}

} // namespace weft_torch
