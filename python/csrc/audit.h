// SPDX-License-Identifier: BSD-3-Clause
// The audit: with TORCH_DISTRIBUTED_DEBUG=DETAIL the members of a group compare what they call
// before each collective begins. The others write rank 0 a record and wait for its verdict:
//
//   rank 1   record ------>  rank 0   compares
//   rank 2   record ------>
//            verdict <------          the same sentence for all; they raise it, or begin
#pragma once

#include "mail.h"

#include <ATen/core/Tensor.h>

namespace weft_torch
{

/** What a collective must have in common at all ranks. */
struct Signature {
    std::string text;                    // "all_reduce (sum) of Float [7]"
    std::vector<int64_t> sent, expected; // elements to and from each rank, where they may differ
};

/** The signature of an operation whose tensors have the same shapes everywhere. */
std::string signature_text(const Description &about, const std::vector<at::Tensor> &tensors);
/** The same for shapes that differ: `blocks` has a tensor for each rank. */
std::string signature_text(const Description &about, const char *what,
                           const std::vector<at::Tensor> &blocks);

class Audit
{
  public:
    Audit(MPI_Comm comm, ProgressThread &progress) : comm_(comm), progress_(progress)
    {
    }
    /** Throws a DistBackendError that names the ranks that call something else, or nothing, within
     * about.timeout; the same one at all ranks. Then none of them has begun. */
    void check(const Description &about, const Signature &signature);

  private:
    MPI_Comm comm_;
    ProgressThread &progress_;
    std::atomic<int64_t> number_{0}; // of audits in this group
};

} // namespace weft_torch
