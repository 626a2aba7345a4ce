// SPDX-License-Identifier: BSD-3-Clause
#include "loss.h"

#include "reunion.h"

#include <mpix.h>
#include <torch/csrc/Exceptions.h>

namespace weft_torch
{

namespace
{

// torch makes a Python exception of this type of it, wherever it comes out of C++.
struct RankLost : torch::PyTorchError {
    using PyTorchError::PyTorchError;

    PyObject *python_type() override
    {
        PyObject *module = PyImport_ImportModule("weft.recovery");
        PyObject *type = module ? PyObject_GetAttrString(module, "RankLost") : nullptr;
        Py_XDECREF(module);
        if (type != nullptr)
            return type; // stays for the life of the process, as the module does
        PyErr_Clear();
        return PyExc_RuntimeError;
    }
};

// The places of the members of `group` in `of`.
std::vector<int> ranks_in(MPI_Group group, MPI_Group of)
{
    int count = 0;
    MPI_Group_size(group, &count);
    std::vector<int> own(static_cast<size_t>(count)), ranks(own.size());
    for (int i = 0; i < count; i++)
        own[static_cast<size_t>(i)] = i;
    if (count > 0)
        MPI_Group_translate_ranks(group, count, own.data(), of, ranks.data());
    return ranks;
}

std::vector<int> lost_ranks(const GroupIdentity &group)
{
    std::lock_guard<std::mutex> lock(group.mutex);
    return group.comm == MPI_COMM_NULL ? std::vector<int>{} : failed_ranks(group.comm);
}

} // namespace

std::vector<int> failed_ranks(MPI_Comm comm)
{
    MPI_Group failed, all;
    if (MPIX_Comm_get_failed(comm, &failed) != MPI_SUCCESS)
        return {};
    MPI_Comm_group(comm, &all);
    std::vector<int> ranks = ranks_in(failed, all);
    if (failed != MPI_GROUP_EMPTY)
        MPI_Group_free(&failed);
    MPI_Group_free(&all);
    return ranks;
}

bool is_loss(int err)
{
    int error_class = MPI_SUCCESS;
    if (err == MPI_SUCCESS || MPI_Error_class(err, &error_class) != MPI_SUCCESS)
        return false;
    return error_class == MPIX_ERR_PROC_FAILED || error_class == MPIX_ERR_PROC_FAILED_PENDING ||
           error_class == MPIX_ERR_REVOKED;
}

// weft/recovery.py reads the ranks from the end of the text.
std::exception_ptr loss_error(const Description &about, int err)
{
    std::vector<int> ranks = about.group ? lost_ranks(*about.group) : std::vector<int>{};
    return loss_error(about.text() + ": failed: " + mpi_error_text(err), ranks);
}

std::exception_ptr loss_error(const std::string &what, const std::vector<int> &ranks)
{
    return std::make_exception_ptr(RankLost("weft: " + what + "; lost ranks of the group: " +
                                            (ranks.empty() ? "not known" : rank_list(ranks))));
}

Recovery::Recovery(const ProcessGroupWeft &group) : library_(Library::instance())
{
    group.check_open("recover");
    library_.keep();
    MPI_Group all, left;
    check_mpi(MPIX_Comm_revoke(group.comm_), "MPIX_Comm_revoke");
    check_mpi(MPIX_Comm_shrink(group.comm_, &comm_), "MPIX_Comm_shrink");
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_group(comm_, &left);
    MPI_Comm_group(group.comm_, &all);
    survivors_ = ranks_in(left, all);
    MPI_Group_free(&left);
    MPI_Group_free(&all);
}

Recovery::~Recovery()
{
    if (comm_ != MPI_COMM_NULL)
        MPI_Comm_free(&comm_);
    library_.let_go();
}

std::string Recovery::share(const std::string &text) const
{
    return share_text(comm_, text);
}

} // namespace weft_torch
