// SPDX-License-Identifier: BSD-3-Clause
// Short letters between members of a group, behind the back of its operations: for barriers that
// name who is missing, and for the audit. A letter that does not come in time is given up.
#pragma once

#include "progress.h"

#include <climits>
#include <cstring>
#include <optional>
#include <string>

namespace weft_torch
{

/** Tags that a program cannot use. */
enum MailTag : int {
    TOKEN_TAG = INT_MAX,
    ANSWER_TAG = INT_MAX - 1,
    RECORD_TAG = INT_MAX - 2,
    VERDICT_TAG = INT_MAX - 3,
    LOWEST_MAIL_TAG = VERDICT_TAG
};

struct Mail {
    MPI_Comm comm;
    ProgressThread &progress;
    Description about; // of the operation that writes them, for errors
    Clock::time_point deadline;

    /** Does not wait until it has been received. */
    void send(int to, MailTag tag, std::string letter);
    /** A letter of this length; none has come by the deadline: nothing. */
    std::optional<std::string> receive(int from, MailTag tag, size_t bytes);
};

/** A plain struct as a letter, and back. */
template <typename Plain> std::string letter_of(const Plain &plain)
{
    return std::string(reinterpret_cast<const char *>(&plain), sizeof(plain));
}

template <typename Plain> Plain plain_of(const std::string &letter)
{
    Plain plain;
    std::memcpy(&plain, letter.data(), sizeof(plain));
    return plain;
}

/** "1, 3" */
std::string rank_list(const std::vector<int> &ranks);

} // namespace weft_torch
