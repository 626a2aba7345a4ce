// SPDX-License-Identifier: BSD-3-Clause
// Ranks that are lost while the others go on (WEFT_RECOVERY=yes): the error that names them, and the
// communicator of those that are left.
#pragma once

#include "group.h"

namespace weft_torch
{

/** Whether MPI's error says that a rank is lost, or that another rank has said so by revoking the
 * communicator. */
bool is_loss(int err);
/** The exception for it, which Python sees as a weft.RankLost. */
std::exception_ptr loss_error(const Description &about, int err);
/** The same where there is no operation. `ranks` are those that are known to be lost. */
std::exception_ptr loss_error(const std::string &what, const std::vector<int> &ranks);
/** The ranks of a communicator that this rank knows to be lost. */
std::vector<int> failed_ranks(MPI_Comm comm);

/** The ranks of a group that are left, after at least one of them has seen a loss. */
class Recovery
{
  public:
    /** Collective over the ranks that are left; ends what others of them wait for in the group. MPI
     * runs on while there is a recovery. */
    explicit Recovery(const ProcessGroupWeft &group);
    ~Recovery();
    Recovery(const Recovery &) = delete;
    Recovery &operator=(const Recovery &) = delete;

    /** Their ranks in the group, in their new order. */
    const std::vector<int> &survivors() const
    {
        return survivors_;
    }
    int rank() const
    {
        return rank_;
    }
    /** A short text of the first of them, at all; collective. */
    std::string share(const std::string &text) const;

  private:
    Library &library_;
    MPI_Comm comm_ = MPI_COMM_NULL;
    std::vector<int> survivors_;
    int rank_ = -1;
};

} // namespace weft_torch
