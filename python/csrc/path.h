// SPDX-License-Identifier: BSD-3-Clause
// Where the MPI calls of an operation go: HostPath makes nonblocking calls, whose requests the
// operation gets; a path of a device's stream (stream_path.h) enqueues them.
#pragma once

#include "operation.h"
#include "types.h"

namespace weft_torch
{

/** Bytes that go to, or come from, one rank. */
struct Piece {
    void *data;
    MPI_Count bytes;
};

class Path
{
  public:
    virtual ~Path() = default;
    /** Before the first call of an operation, when its tensors are ready. */
    virtual void prepare(Operation &)
    {
    }
    /** The last steps of an operation for which the host waits: they, and all that it has put into
     * the path's stream, are over when this returns. */
    virtual void run_and_wait(const std::function<void()> &steps)
    {
        steps();
    }
    /** Counts are of the reduction's datatype; `in` may be MPI_IN_PLACE where MPI allows it. */
    virtual void allreduce(Operation &op, const void *in, void *out, MPI_Count count,
                           const Reduction &how) = 0;
    virtual void reduce(Operation &op, const void *in, void *out, MPI_Count count,
                        const Reduction &how, int root) = 0;
    /** `count` is of one rank's block. */
    virtual void reduce_scatter(Operation &op, const void *in, void *out, MPI_Count count,
                                const Reduction &how) = 0;
    virtual void broadcast(Operation &op, void *data, MPI_Count bytes, int root) = 0;
    /** `bytes` are of one rank's block. */
    virtual void allgather(Operation &op, const void *in, void *out, MPI_Count bytes) = 0;
    virtual void gather(Operation &op, const void *in, void *out, MPI_Count bytes, int root) = 0;
    virtual void scatter(Operation &op, const void *in, void *out, MPI_Count bytes, int root) = 0;
    virtual void alltoall(Operation &op, const void *in, void *out, MPI_Count bytes) = 0;
    /** A piece for each rank. */
    virtual void alltoall_pieces(Operation &op, const std::vector<Piece> &in,
                                 const std::vector<Piece> &out) = 0;
    virtual void send(Operation &op, const void *data, MPI_Count bytes, int to, int tag) = 0;
    virtual void recv(Operation &op, void *data, MPI_Count bytes, int from, int tag) = 0;
    virtual void barrier(Operation &op) = 0;
};

class HostPath : public Path
{
  public:
    explicit HostPath(MPI_Comm comm) : comm_(comm)
    {
    }
    void allreduce(Operation &op, const void *in, void *out, MPI_Count count,
                   const Reduction &how) override;
    void reduce(Operation &op, const void *in, void *out, MPI_Count count, const Reduction &how,
                int root) override;
    void reduce_scatter(Operation &op, const void *in, void *out, MPI_Count count,
                        const Reduction &how) override;
    void broadcast(Operation &op, void *data, MPI_Count bytes, int root) override;
    void allgather(Operation &op, const void *in, void *out, MPI_Count bytes) override;
    void gather(Operation &op, const void *in, void *out, MPI_Count bytes, int root) override;
    void scatter(Operation &op, const void *in, void *out, MPI_Count bytes, int root) override;
    void alltoall(Operation &op, const void *in, void *out, MPI_Count bytes) override;
    void alltoall_pieces(Operation &op, const std::vector<Piece> &in,
                         const std::vector<Piece> &out) override;
    void send(Operation &op, const void *data, MPI_Count bytes, int to, int tag) override;
    void recv(Operation &op, void *data, MPI_Count bytes, int from, int tag) override;
    void barrier(Operation &op) override;

  private:
    MPI_Comm comm_;
};

} // namespace weft_torch
