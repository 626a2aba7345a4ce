// SPDX-License-Identifier: BSD-3-Clause
#include "mail.h"

#include <sstream>

namespace weft_torch
{

// The letter lives as long as the operation.
static Operation operation_with(const std::shared_ptr<std::string> &letter,
                                const Description &about)
{
    Operation operation;
    operation.about = about;
    operation.after.push_back([letter] {});
    return operation;
}

void Mail::send(int to, MailTag tag, std::string letter)
{
    auto kept = std::make_shared<std::string>(std::move(letter));
    Operation operation = operation_with(kept, about);
    check_mpi(MPI_Isend(kept->data(), static_cast<int>(kept->size()), MPI_BYTE, to, tag, comm,
                        operation.next_request()),
              about);
    if (!test_requests(operation))
        progress.abandon(std::move(operation));
}

std::optional<std::string> Mail::receive(int from, MailTag tag, size_t bytes)
{
    auto letter = std::make_shared<std::string>(bytes, '\0');
    Operation operation = operation_with(letter, about);
    operation.receives.push_back({0, static_cast<int64_t>(bytes)});
    check_mpi(MPI_Irecv(letter->data(), static_cast<int>(bytes), MPI_BYTE, from, tag, comm,
                        operation.next_request()),
              about);
    if (wait_until(progress.alarms(), operation, deadline)) {
        if (operation.failure.empty())
            return std::move(*letter);
        if (operation.loss != MPI_SUCCESS)
            std::rethrow_exception(operation.conclude());
        return std::nullopt;
    }
    operation.cancel_receives();
    MPI_Status status;
    int is_cancelled = 0;
    MPI_Wait(&operation.requests[0], &status);
    MPI_Test_cancelled(&status, &is_cancelled);
    if (is_cancelled)
        return std::nullopt;
    return std::move(*letter);
}

std::string rank_list(const std::vector<int> &ranks)
{
    std::ostringstream text;
    for (size_t i = 0; i < ranks.size(); i++)
        text << (i > 0 ? ", " : "") << ranks[i];
    return text.str();
}

} // namespace weft_torch
