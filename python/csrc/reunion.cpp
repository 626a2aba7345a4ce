// SPDX-License-Identifier: BSD-3-Clause
#include "reunion.h"

#include "loss.h"

#include <mpix.h>
#include <strings.h>

#include <cstdlib>

namespace weft_torch
{

bool ranks_come_again()
{
    const char *answer = std::getenv("WEFT_REJOIN");
    for (const char *yes : {"yes", "on", "true", "1"}) { // as MPI reads it
        if (answer != nullptr && strcasecmp(answer, yes) == 0)
            return true;
    }
    return false;
}

Reunion::Reunion() : library_(Library::instance())
{
    comm_ = library_.hold_all();
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
}

Reunion::~Reunion()
{
    end();
}

void Reunion::end()
{
    if (comm_ != MPI_COMM_NULL)
        library_.let_go();
    comm_ = MPI_COMM_NULL;
}

std::string Reunion::share(const std::string &text) const
{
    return share_text(comm_, text);
}

bool Reunion::agree(bool good) const
{
    return agree_on(comm_, good, "all ranks meet");
}

std::string share_text(MPI_Comm comm, const std::string &text)
{
    char shared[256] = "";
    text.copy(shared, sizeof(shared) - 1);
    check_mpi(MPI_Bcast(shared, sizeof(shared), MPI_CHAR, 0, comm), "MPI_Bcast");
    check_mpi(MPI_Barrier(comm), "MPI_Barrier"); // so that the text has left rank 0
    return shared;
}

bool agree_on(MPI_Comm comm, bool good, const std::string &what)
{
    int flag = good;
    int err = MPIX_Comm_agree(comm, &flag);
    if (is_loss(err))
        std::rethrow_exception(loss_error(what + ": " + mpi_error_text(err), failed_ranks(comm)));
    check_mpi(err, "MPIX_Comm_agree");
    return flag != 0;
}

} // namespace weft_torch
