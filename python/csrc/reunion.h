// SPDX-License-Identifier: BSD-3-Clause
// Lost ranks that the launcher starts again (WEFT_REJOIN=yes): all ranks of the job meet in MPI, the
// new processes and those that were there before, and learn of a new store by it.
#pragma once

#include "library.h"

namespace weft_torch
{

/** WEFT_REJOIN: MPI ends with the last group of this process, and starts anew with whoever is there
 * under the job's ranks then. */
bool ranks_come_again();

/** All ranks of the job, who have no group yet. MPI runs on while there is a reunion. */
class Reunion
{
  public:
    /** Starts MPI unless it runs, which waits for all ranks. Throws a RankLost if one dies meanwhile:
     * it comes again, and so should this one. */
    Reunion();
    ~Reunion();
    Reunion(const Reunion &) = delete;
    Reunion &operator=(const Reunion &) = delete;

    int rank() const
    {
        return rank_;
    }
    int size() const
    {
        return size_;
    }
    /** Hold MPI no longer. */
    void end();
    /** A short text of rank 0, at all; collective. Throws as the constructor does. */
    std::string share(const std::string &text) const;
    /** Whether it was `good` at all ranks; collective. All throw a RankLost if one has died. */
    bool agree(bool good) const;

  private:
    Library &library_;
    MPI_Comm comm_ = MPI_COMM_NULL; // the library's
    int rank_ = -1, size_ = 0;
};

/** A short text of rank 0 of a communicator, at all its ranks. */
std::string share_text(MPI_Comm comm, const std::string &text);
/** Whether it was `good` at all ranks of a communicator; all throw a RankLost if one has died. */
bool agree_on(MPI_Comm comm, bool good, const std::string &what);

} // namespace weft_torch
