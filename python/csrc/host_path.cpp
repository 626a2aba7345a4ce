// SPDX-License-Identifier: BSD-3-Clause
#include "path.h"

namespace weft_torch
{

void HostPath::allreduce(Operation &op, const void *in, void *out, MPI_Count count,
                         const Reduction &how)
{
    check_mpi(MPI_Iallreduce_c(in, out, count, how.datatype, how.op, comm_, op.next_request()),
              op.about);
}

void HostPath::reduce(Operation &op, const void *in, void *out, MPI_Count count,
                      const Reduction &how, int root)
{
    check_mpi(MPI_Ireduce_c(in, out, count, how.datatype, how.op, root, comm_, op.next_request()),
              op.about);
}

void HostPath::reduce_scatter(Operation &op, const void *in, void *out, MPI_Count count,
                              const Reduction &how)
{
    check_mpi(
        MPI_Ireduce_scatter_block_c(in, out, count, how.datatype, how.op, comm_, op.next_request()),
        op.about);
}

void HostPath::broadcast(Operation &op, void *data, MPI_Count bytes, int root)
{
    check_mpi(MPI_Ibcast_c(data, bytes, MPI_BYTE, root, comm_, op.next_request()), op.about);
}

void HostPath::allgather(Operation &op, const void *in, void *out, MPI_Count bytes)
{
    check_mpi(MPI_Iallgather_c(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, comm_, op.next_request()),
              op.about);
}

void HostPath::gather(Operation &op, const void *in, void *out, MPI_Count bytes, int root)
{
    check_mpi(
        MPI_Igather_c(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, root, comm_, op.next_request()),
        op.about);
}

void HostPath::scatter(Operation &op, const void *in, void *out, MPI_Count bytes, int root)
{
    check_mpi(
        MPI_Iscatter_c(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, root, comm_, op.next_request()),
        op.about);
}

void HostPath::alltoall(Operation &op, const void *in, void *out, MPI_Count bytes)
{
    check_mpi(MPI_Ialltoall_c(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, comm_, op.next_request()),
              op.about);
}

namespace
{
// The arguments of an alltoallw for pieces anywhere in memory.
struct PieceArguments {
    std::vector<MPI_Count> counts;
    std::vector<MPI_Aint> addresses;
    std::vector<MPI_Datatype> datatypes;

    explicit PieceArguments(const std::vector<Piece> &pieces) : datatypes(pieces.size(), MPI_BYTE)
    {
        for (const Piece &piece : pieces) {
            MPI_Aint address = 0;
            if (piece.bytes > 0)
                MPI_Get_address(piece.data, &address);
            counts.push_back(piece.bytes);
            addresses.push_back(address);
        }
    }
};
} // namespace

// The arrays of a nonblocking call must stay until it is complete (MPI 5.0, section 6.12).
void HostPath::alltoall_pieces(Operation &op, const std::vector<Piece> &in,
                               const std::vector<Piece> &out)
{
    auto sent = std::make_shared<PieceArguments>(in);
    auto received = std::make_shared<PieceArguments>(out);
    op.after.push_back([sent, received] {});
    check_mpi(MPI_Ialltoallw_c(MPI_BOTTOM, sent->counts.data(), sent->addresses.data(),
                               sent->datatypes.data(), MPI_BOTTOM, received->counts.data(),
                               received->addresses.data(), received->datatypes.data(), comm_,
                               op.next_request()),
              op.about);
}

void HostPath::send(Operation &op, const void *data, MPI_Count bytes, int to, int tag)
{
    check_mpi(MPI_Isend_c(data, bytes, MPI_BYTE, to, tag, comm_, op.next_request()), op.about);
}

void HostPath::recv(Operation &op, void *data, MPI_Count bytes, int from, int tag)
{
    op.receives.push_back({op.requests.size(), static_cast<int64_t>(bytes)});
    check_mpi(MPI_Irecv_c(data, bytes, MPI_BYTE, from, tag, comm_, op.next_request()), op.about);
}

void HostPath::barrier(Operation &op)
{
    check_mpi(MPI_Ibarrier(comm_, op.next_request()), op.about);
}

} // namespace weft_torch
