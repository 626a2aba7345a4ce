// SPDX-License-Identifier: BSD-3-Clause
#include "audit.h"

#include <functional>
#include <sstream>

namespace weft_torch
{

namespace
{

constexpr size_t TEXT_BYTES = 512, VERDICT_BYTES = 2048, PAIRS_TOLD = 4;
constexpr Milliseconds GRACE{5000}; // rank 0 may have begun to wait later than the others

// Behind it stand Signature::sent and ::expected, a number for each rank; -1 if there are none.
struct Record {
    int64_t number;
    uint64_t hash; // of all of a text that is cut off
    char text[TEXT_BYTES];
};

struct Verdict {
    int64_t number;
    char text[VERDICT_BYTES]; // empty: all is well
};

template <size_t BYTES> void copy_text(char (&out)[BYTES], const std::string &text)
{
    std::memset(out, 0, BYTES);
    std::memcpy(out, text.data(), std::min(text.size(), BYTES - 1));
}

// What rank 0 knows of one rank.
struct Statement {
    bool has_come = false;
    Record record;
    std::vector<int64_t> sent, expected;

    bool is_like(const Statement &other) const
    {
        return record.hash == other.record.hash &&
               std::memcmp(record.text, other.record.text, TEXT_BYTES) == 0;
    }
};

size_t letter_bytes(int size)
{
    return sizeof(Record) + 2 * static_cast<size_t>(size) * sizeof(int64_t);
}

std::string write_record(int64_t number, const Signature &signature, int size)
{
    Record record{number, std::hash<std::string>{}(signature.text), {}};
    copy_text(record.text, signature.text);
    std::vector<int64_t> elements(2 * static_cast<size_t>(size), -1);
    std::copy(signature.sent.begin(), signature.sent.end(), elements.begin());
    std::copy(signature.expected.begin(), signature.expected.end(), elements.begin() + size);
    return letter_of(record) + std::string(reinterpret_cast<const char *>(elements.data()),
                                           elements.size() * sizeof(int64_t));
}

Statement read_record(const std::string &letter, int size)
{
    Statement statement;
    statement.has_come = true;
    statement.record = plain_of<Record>(letter);
    std::vector<int64_t> elements(2 * static_cast<size_t>(size));
    std::memcpy(elements.data(), letter.data() + sizeof(Record), elements.size() * sizeof(int64_t));
    statement.sent.assign(elements.begin(), elements.begin() + size);
    statement.expected.assign(elements.begin() + size, elements.end());
    return statement;
}

// Ranks that call the same.
struct Party {
    std::vector<int> ranks;
    const char *text;
};

std::vector<Party> parties_of(const std::vector<Statement> &all)
{
    std::vector<Party> parties;
    std::vector<const Statement *> firsts;
    for (size_t rank = 0; rank < all.size(); rank++) {
        if (!all[rank].has_come)
            continue;
        size_t i = 0;
        while (i < firsts.size() && !firsts[i]->is_like(all[rank]))
            i++;
        if (i == firsts.size()) {
            firsts.push_back(&all[rank]);
            parties.push_back({{}, all[rank].record.text});
        }
        parties[i].ranks.push_back(static_cast<int>(rank));
    }
    return parties;
}

// The one party that is larger than all others, or none.
const Party *majority(const std::vector<Party> &parties)
{
    const Party *largest = &parties[0];
    for (const Party &party : parties) {
        if (party.ranks.size() > largest->ranks.size())
            largest = &party;
    }
    for (const Party &party : parties) {
        if (&party != largest && party.ranks.size() == largest->ranks.size())
            return nullptr;
    }
    return largest;
}

std::string ranks_that(const std::vector<int> &ranks, const char *verb)
{
    return ranks.size() == 1 ? "rank " + rank_list(ranks) + " " + verb + "s"
                             : "ranks " + rank_list(ranks) + " " + verb;
}

// "rank 2 calls all_reduce (sum) of Float [7], the others all_reduce (sum) of Float [8]"
std::string differences(const std::vector<Party> &parties)
{
    const Party *others = majority(parties);
    std::ostringstream text;
    for (const Party &party : parties) {
        if (&party != others)
            text << (text.tellp() > 0 ? ", " : "") << ranks_that(party.ranks, "call") << " "
                 << party.text;
    }
    if (others != nullptr)
        text << ", the others " << others->text;
    return text.str();
}

std::string unequal_pieces(const std::vector<Statement> &all)
{
    std::ostringstream text;
    size_t count = 0;
    for (size_t from = 0; from < all.size(); from++) {
        for (size_t to = 0; to < all.size(); to++) {
            int64_t sent = all[from].sent[to], expected = all[to].expected[from];
            if (sent == expected || ++count > PAIRS_TOLD)
                continue;
            text << (count > 1 ? ", " : "") << "rank " << from << " sends " << sent
                 << " elements to rank " << to << ", which expects " << expected;
        }
    }
    if (count > PAIRS_TOLD)
        text << ", and " << count - PAIRS_TOLD << " more";
    return text.str();
}

std::string find_fault(const std::vector<Statement> &all, Milliseconds timeout)
{
    std::vector<int> missing;
    for (size_t rank = 0; rank < all.size(); rank++) {
        if (!all[rank].has_come)
            missing.push_back(static_cast<int>(rank));
    }
    std::vector<Party> parties = parties_of(all);
    std::string fault = parties.size() > 1 ? differences(parties) : "";
    if (!missing.empty()) {
        if (fault.empty())
            fault = ranks_that(parties[0].ranks, "call") + " " + parties[0].text;
        return fault + ", " + ranks_that(missing, "call") + " nothing within " +
               std::to_string(timeout.count()) + " ms";
    }
    return fault.empty() ? unequal_pieces(all) : fault;
}

// A record of an audit before this one, for which its rank came too late, is passed over.
Statement await_record(Mail &mail, int rank, int64_t number)
{
    int size = mail.about.group->size;
    while (auto letter = mail.receive(rank, RECORD_TAG, letter_bytes(size))) {
        Statement statement = read_record(*letter, size);
        if (statement.record.number >= number)
            return statement;
    }
    return {};
}

std::string lead(Mail &mail, int64_t number, const Signature &signature)
{
    int size = mail.about.group->size;
    std::vector<Statement> all{read_record(write_record(number, signature, size), size)};
    for (int rank = 1; rank < size; rank++)
        all.push_back(await_record(mail, rank, number));
    Verdict verdict{number, {}};
    copy_text(verdict.text, find_fault(all, mail.about.timeout));
    for (int rank = 1; rank < size; rank++)
        mail.send(rank, VERDICT_TAG, letter_of(verdict));
    return verdict.text;
}

std::string follow(Mail &mail, int64_t number, const Signature &signature)
{
    mail.send(0, RECORD_TAG, write_record(number, signature, mail.about.group->size));
    mail.deadline += std::min(mail.about.timeout, GRACE);
    while (auto letter = mail.receive(0, VERDICT_TAG, sizeof(Verdict))) {
        auto verdict = plain_of<Verdict>(*letter);
        if (verdict.number >= number)
            return verdict.text;
    }
    return "rank " + std::to_string(mail.about.group->rank) + " calls " + signature.text +
           ", rank 0 calls nothing within " + std::to_string(mail.about.timeout.count()) + " ms";
}

void add_tensor(std::ostringstream &text, const at::Tensor &tensor)
{
    text << c10::toString(tensor.scalar_type()) << " " << tensor.sizes();
    if (!tensor.is_cpu())
        text << " on " << c10::DeviceTypeName(tensor.device().type(), true);
}

std::string beginning(const Description &about)
{
    std::string text = about.operation;
    return about.reduction == nullptr ? text : text + " (" + about.reduction + ")";
}

std::string ending(const Description &about)
{
    if (about.peer_role == nullptr)
        return "";
    return std::string(", ") + about.peer_role + " rank " + std::to_string(about.peer);
}

} // namespace

std::string signature_text(const Description &about, const std::vector<at::Tensor> &tensors)
{
    std::ostringstream text;
    text << beginning(about);
    for (size_t i = 0; i < tensors.size(); i++) {
        text << (i == 0 ? " of " : ", ");
        add_tensor(text, tensors[i]);
    }
    text << ending(about);
    return text.str();
}

std::string signature_text(const Description &about, const char *what,
                           const std::vector<at::Tensor> &blocks)
{
    std::ostringstream text;
    text << beginning(about) << " of " << c10::toString(about.dtype) << " with " << what << " of";
    for (size_t i = 0; i < blocks.size(); i++)
        text << (i > 0 ? ", " : " ") << blocks[i].numel();
    text << " elements" << ending(about);
    return text.str();
}

void Audit::check(const Description &about, const Signature &signature)
{
    Mail mail{comm_, progress_, about, Clock::now() + about.timeout};
    int64_t number = ++number_;
    std::string fault =
        about.group->rank == 0 ? lead(mail, number, signature) : follow(mail, number, signature);
    if (fault.empty())
        return;
    C10_THROW_ERROR(DistBackendError,
                    "weft: Detected mismatch between collectives on ranks: " + fault + ", number " +
                        std::to_string(about.sequence) + " of group \"" + about.group->name +
                        "\" (on rank " + std::to_string(about.group->rank) + ")");
}

} // namespace weft_torch
