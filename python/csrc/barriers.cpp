// SPDX-License-Identifier: BSD-3-Clause
#include "group.h"
#include "mail.h"

namespace weft_torch
{

c10dWorkPtr ProcessGroupWeft::barrier(const c10d::BarrierOptions &options)
{
    Call call(*this, c10d::OpType::BARRIER, "barrier", options.timeout);
    if (options.device.has_value() && options.device->is_cuda())
        call.use_device(*options.device);
    return call.run(options.asyncOp, [](Path &path, Operation &op) { path.barrier(op); });
}

// A monitored barrier: the others send rank 0 a token and wait for its answer. A rank that has
// missed a barrier counts fewer of them than rank 0; it is told the right number and sends again.
namespace
{

enum Answer : int64_t { PASSED, FAILED, OUTDATED };

struct Note {
    int64_t number;  // of the barrier
    int64_t answer;  // of rank 0
    int64_t current; // OUTDATED: the barrier that rank 0 is in; FAILED: a rank that is missing
};

std::optional<Note> receive_note(Mail &mail, int from, MailTag tag)
{
    std::optional<std::string> letter = mail.receive(from, tag, sizeof(Note));
    return letter.has_value() ? std::make_optional(plain_of<Note>(*letter)) : std::nullopt;
}

void answer(Mail &mail, int rank, const Note &note)
{
    mail.send(rank, ANSWER_TAG, letter_of(note));
}

// Of rank 0: whether the token of `rank` for this barrier has come.
bool await_token(Mail &mail, int rank, int64_t number)
{
    while (auto note = receive_note(mail, rank, TOKEN_TAG)) {
        if (note->number >= number)
            return true;
        answer(mail, rank, {note->number, OUTDATED, number});
    }
    return false;
}

// Of the others; nothing: none has come.
std::optional<Note> await_answer(Mail &mail, int64_t number)
{
    while (auto note = receive_note(mail, 0, ANSWER_TAG)) {
        if (note->number == number)
            return note;
    }
    return std::nullopt;
}

void lead(Mail &mail, int64_t number, bool wait_all_ranks)
{
    std::vector<int> arrived, missing;
    for (int rank = 1; rank < mail.about.group->size; rank++)
        (await_token(mail, rank, number) ? arrived : missing).push_back(rank);
    for (int rank : arrived)
        answer(mail, rank,
               {number, missing.empty() ? PASSED : FAILED, missing.empty() ? 0 : missing[0]});
    if (missing.empty())
        return;
    std::string who =
        wait_all_ranks ? "Ranks " + rank_list(missing) : "Rank " + std::to_string(missing[0]);
    TORCH_CHECK(false, "weft: [Rank 0]: ", who, " failed to pass monitoredBarrier in ",
                mail.about.timeout.count(), " ms; missing in the group \"", mail.about.group->name,
                "\": ", rank_list(missing));
}

// Returns the number of the barrier that was passed.
int64_t follow(Mail &mail, int64_t number)
{
    for (;;) {
        mail.send(0, TOKEN_TAG, letter_of(Note{number, PASSED, 0}));
        std::optional<Note> note = await_answer(mail, number);
        if (note.has_value() && note->answer == PASSED)
            return number;
        if (note.has_value() && note->answer == OUTDATED) {
            number = note->current;
            continue;
        }
        TORCH_CHECK(false, "weft: Rank ", mail.about.group->rank,
                    " successfully reached monitoredBarrier, but received errors while waiting for "
                    "send/recv from rank 0. ",
                    note.has_value()
                        ? "Rank 0 misses rank " + std::to_string(note->current)
                        : "No answer in " + std::to_string(mail.about.timeout.count()) +
                              " ms: please check rank 0 logs for faulty rank");
    }
}

} // namespace

void ProcessGroupWeft::monitoredBarrier(const c10d::BarrierOptions &options, bool wait_all_ranks)
{
    check_open("monitored_barrier");
    Milliseconds timeout =
        options.timeout == c10d::kUnsetTimeout ? options_->timeout : options.timeout;
    TORCH_CHECK(timeout.count() > 0, "weft: Rank ", getRank(),
                " timed out in monitoredBarrier after ", timeout.count(), " ms.");
    Description about;
    about.operation = "monitored_barrier";
    about.group = identity_;
    about.timeout = timeout;
    Mail mail{comm_, library_.progress(), about, Clock::now() + timeout};
    auto number = static_cast<int64_t>(++monitored_);
    if (getRank() == 0)
        lead(mail, number, wait_all_ranks);
    else
        monitored_ = static_cast<uint64_t>(follow(mail, number));
}

} // namespace weft_torch
