// SPDX-License-Identifier: BSD-3-Clause
// For a torch with CUDA. Each group has a stream and a stream communicator (mpix.h) for each device
// that it is used with. An operation makes that stream wait for the caller's, and enqueues MPI's
// operations there. What becomes of it then:
//
//   kernels in the stream    the caller's stream waits for it: StreamWork
//   requests                 the host waits for them, in wait(), or the progress thread: WeftWork.
//                            No stream waits for MPI then. If one did, a copy to the host's memory
//                            in it, as of tensor.cpu(), would keep MPI out of the driver meanwhile,
//                            and neither would go on.
//   captured into a graph    the stream waits for requests, too, as the host cannot: StreamWork
#include "stream_path.h"

#include <ATen/ATen.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGraphsC10Utils.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <mpix.h>

#include <climits>
#include <list>
#include <map>
#include <memory>
#include <mutex>

namespace weft_torch
{

namespace
{

using c10::cuda::CUDAStream;

constexpr int BLOCK_TAG = INT_MAX;              // of the pieces of gathers, scatters and exchanges
constexpr MPI_Count CHUNK = MPI_Count(1) << 30; // _enqueue takes int counts

int to_int(MPI_Count count, const Operation &op)
{
    TORCH_CHECK(count <= INT_MAX, "weft: ", op.about.text(),
                ": operations on cuda tensors take at most ", INT_MAX, " elements for a rank, not ",
                count);
    return static_cast<int>(count);
}

class StreamPath : public Path
{
  public:
    StreamPath(MPI_Comm comm, c10::DeviceIndex device)
        : stream_(c10::cuda::getStreamFromPool(/*isHighPriority=*/true, device))
    {
        c10::cuda::CUDAGuard guard(device);
        cudaStream_t handle = stream_.stream();
        MPI_Info info;
        check_mpi(MPI_Info_create(&info), "MPI_Info_create");
        check_mpi(MPI_Info_set(info, "type", "cudaStream_t"), "MPI_Info_set");
        check_mpi(MPIX_Info_set_hex(info, "value", &handle, sizeof(handle)), "MPIX_Info_set_hex");
        check_mpi(MPIX_Stream_create(info, &mpix_), "MPIX_Stream_create");
        MPI_Info_free(&info);
        check_mpi(MPIX_Stream_comm_create(comm, mpix_, &comm_), "MPIX_Stream_comm_create");
        check_mpi(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
        MPI_Comm_rank(comm_, &rank_);
        MPI_Comm_size(comm_, &size_);
    }

    ~StreamPath() override
    {
        MPI_Comm_free(&comm_);
        MPIX_Stream_free(&mpix_);
    }

    const CUDAStream &stream() const
    {
        return stream_;
    }

    void prepare(Operation &op) override
    {
        op.path = this;
        op.is_captured = c10::cuda::currentStreamCaptureStatusMayInitCtx() !=
                         c10::cuda::CaptureStatus::None;
        at::cuda::CUDAEvent begun;
        begun.record(c10::cuda::getCurrentCUDAStream(stream_.device_index()));
        begun.block(stream_);
    }

    void run_and_wait(const std::function<void()> &steps) override
    {
        c10::cuda::CUDAStreamGuard guard(stream_);
        steps();
        stream_.synchronize();
    }

    void allreduce(Operation &op, const void *in, void *out, MPI_Count count,
                   const Reduction &how) override
    {
        check_mpi(MPIX_Iallreduce_enqueue(in, out, to_int(count, op), how.datatype, how.op, comm_,
                                          op.next_request()),
                  op.about);
    }

    // There is no enqueued reduce: the others throw the result away.
    void reduce(Operation &op, const void *in, void *out, MPI_Count count, const Reduction &how,
                int root) override
    {
        if (rank_ != root)
            out = room(op, count * datatype_bytes(how.datatype));
        allreduce(op, in, out, count, how);
    }

    void reduce_scatter(Operation &op, const void *in, void *out, MPI_Count count,
                        const Reduction &how) override
    {
        std::vector<int> counts(static_cast<size_t>(size_), to_int(count, op));
        check_mpi(MPIX_Ireduce_scatter_enqueue(in, out, counts.data(), how.datatype, how.op, comm_,
                                               op.next_request()),
                  op.about);
    }

    void broadcast(Operation &op, void *data, MPI_Count bytes, int root) override
    {
        for (MPI_Count at = 0; at == 0 || at < bytes; at += CHUNK)
            check_mpi(MPIX_Ibcast_enqueue(static_cast<char *>(data) + at,
                                          static_cast<int>(std::min(CHUNK, bytes - at)), MPI_BYTE,
                                          root, comm_, op.next_request()),
                      op.about);
    }

    void allgather(Operation &op, const void *in, void *out, MPI_Count bytes) override
    {
        int count = to_int(bytes, op);
        check_mpi(MPIX_Iallgather_enqueue(in, count, MPI_BYTE, out, count, MPI_BYTE, comm_,
                                          op.next_request()),
                  op.about);
    }

    void gather(Operation &op, const void *in, void *out, MPI_Count bytes, int root) override
    {
        if (in == MPI_IN_PLACE)
            in = static_cast<char *>(out) + root * bytes;
        exchange(op, blocks(const_cast<void *>(in), bytes, 0, root),
                 rank_ == root ? blocks(out, bytes, bytes, -1) : std::vector<Piece>());
    }

    void scatter(Operation &op, const void *in, void *out, MPI_Count bytes, int root) override
    {
        if (out == MPI_IN_PLACE)
            out = const_cast<char *>(static_cast<const char *>(in)) + root * bytes;
        exchange(op,
                 rank_ == root ? blocks(const_cast<void *>(in), bytes, bytes, -1)
                               : std::vector<Piece>(),
                 blocks(out, bytes, 0, root));
    }

    void alltoall(Operation &op, const void *in, void *out, MPI_Count bytes) override
    {
        int count = to_int(bytes, op);
        check_mpi(MPIX_Ialltoall_enqueue(in, count, MPI_BYTE, out, count, MPI_BYTE, comm_,
                                         op.next_request()),
                  op.about);
    }

    void alltoall_pieces(Operation &op, const std::vector<Piece> &in,
                         const std::vector<Piece> &out) override
    {
        exchange(op, in, out);
    }

    void send(Operation &op, const void *data, MPI_Count bytes, int to, int tag) override
    {
        check_mpi(MPIX_Isend_enqueue(data, to_int(bytes, op), MPI_BYTE, to, tag, comm_,
                                     op.next_request()),
                  op.about);
    }

    void recv(Operation &op, void *data, MPI_Count bytes, int from, int tag) override
    {
        op.receives.push_back({op.requests.size(), static_cast<int64_t>(bytes)});
        op.source = from == MPI_ANY_SOURCE ? -1 : from;
        op.is_from_any = op.is_from_any || from == MPI_ANY_SOURCE;
        check_mpi(MPIX_Irecv_enqueue(data, to_int(bytes, op), MPI_BYTE, from, tag, comm_,
                                     op.next_request()),
                  op.about);
    }

    void barrier(Operation &op) override
    {
        check_mpi(MPIX_Ibarrier_enqueue(comm_, op.next_request()), op.about);
    }

  private:
    static MPI_Count datatype_bytes(MPI_Datatype datatype)
    {
        int bytes = 0;
        MPI_Type_size(datatype, &bytes);
        return bytes;
    }

    void *room(Operation &op, MPI_Count bytes)
    {
        c10::cuda::CUDAStreamGuard guard(stream_);
        op.kept.push_back(at::empty({bytes}, at::dtype(at::kByte).device(stream_.device())));
        return op.kept.back().data_ptr();
    }

    // For each rank, or for one only, the block at data + rank * stride.
    std::vector<Piece> blocks(void *data, MPI_Count bytes, MPI_Count stride, int only) const
    {
        std::vector<Piece> pieces;
        for (int rank = 0; rank < size_; rank++) {
            bool is_there = only < 0 || rank == only;
            pieces.push_back({is_there ? static_cast<char *>(data) + rank * stride : nullptr,
                              is_there ? bytes : 0});
        }
        return pieces;
    }

    // An empty piece is not sent: its receiver has an empty one, too.
    void exchange(Operation &op, const std::vector<Piece> &in, const std::vector<Piece> &out)
    {
        for (size_t rank = 0; rank < out.size(); rank++) {
            if (out[rank].bytes == 0)
                continue;
            check_mpi(MPIX_Irecv_enqueue(out[rank].data, to_int(out[rank].bytes, op), MPI_BYTE,
                                         static_cast<int>(rank), BLOCK_TAG, comm_,
                                         op.next_request()),
                      op.about);
        }
        for (size_t rank = 0; rank < in.size(); rank++) {
            if (in[rank].bytes == 0)
                continue;
            check_mpi(MPIX_Isend_enqueue(in[rank].data, to_int(in[rank].bytes, op), MPI_BYTE,
                                         static_cast<int>(rank), BLOCK_TAG, comm_,
                                         op.next_request()),
                      op.about);
        }
    }

    CUDAStream stream_;
    MPIX_Stream mpix_ = MPIX_STREAM_NULL;
    MPI_Comm comm_ = MPI_COMM_NULL;
    int rank_ = 0, size_ = 0;
};

// The statuses of receives, which the stream writes when it comes there, however short the work's life
// is. Only one from any source has them: a graph would write them at each launch.
class StreamStatuses
{
  public:
    MPI_Status *of(const Operation &op)
    {
        if (!op.is_from_any)
            return MPI_STATUSES_IGNORE;
        statuses_ = std::make_unique<MPI_Status[]>(op.requests.size());
        return statuses_.get();
    }

    // The source of the last receive, once the stream has ended it.
    int source(const Operation &op) const
    {
        return statuses_ == nullptr ? op.source : statuses_[op.receives.back().request].MPI_SOURCE;
    }

    // The work goes. Keep the statuses until the stream has come to `ended`.
    void outlive(at::cuda::CUDAEvent &&ended)
    {
        static std::mutex mutex;
        static std::list<std::pair<at::cuda::CUDAEvent, std::unique_ptr<MPI_Status[]>>> kept;
        if (statuses_ == nullptr)
            return;
        std::lock_guard<std::mutex> lock(mutex);
        kept.remove_if([](auto &each) { return each.first.query(); });
        kept.emplace_back(std::move(ended), std::move(statuses_));
    }

  private:
    std::unique_ptr<MPI_Status[]> statuses_;
};

// An operation in the stream. Where it was captured, its requests are waited for there when wait() is
// called, so that a send and a receive that are begun one after the other do not wait for each other.
class StreamWork : public c10d::Work
{
  public:
    StreamWork(Operation &&operation, c10d::OpType type, StreamPath &path)
        : Work(operation.about.group->rank, type, operation.about.title(), operation.noted),
          operation_(std::move(operation)), stream_(path.stream())
    {
        if (operation_.is_complete() || !may_need_others(type))
            end_in_stream();
    }

    ~StreamWork() override
    {
        statuses_.outlive(std::move(ended_));
    }

    bool isCompleted() override
    {
        end_in_stream();
        return ended_.query();
    }
    bool isSuccess() const override
    {
        return true;
    }

    bool wait(std::chrono::milliseconds) override
    {
        synchronize();
        return true;
    }

    void synchronize() override
    {
        end_in_stream();
        ended_.block(c10::cuda::getCurrentCUDAStream(stream_.device_index()));
    }

    std::vector<at::Tensor> result() override
    {
        return operation_.outputs;
    }

    int sourceRank() const override
    {
        ended_.synchronize();
        return statuses_.source(operation_);
    }

    c10::intrusive_ptr<c10::ivalue::Future> getFuture() override
    {
        end_in_stream();
        if (!future_) {
            future_ = c10::make_intrusive<c10::ivalue::Future>(
                c10::ListType::create(c10::TensorType::get()),
                std::vector<c10::Device>{stream_.device()});
            c10::cuda::CUDAStreamGuard guard(stream_);
            future_->markCompleted(c10::IValue(operation_.outputs));
        }
        return future_;
    }

  private:
    static bool may_need_others(c10d::OpType type)
    {
        return type == c10d::OpType::SEND || type == c10d::OpType::RECV ||
               type == c10d::OpType::RECVANYSOURCE || type == c10d::OpType::COALESCED;
    }

    // Several threads may wait for one work.
    void end_in_stream()
    {
        std::lock_guard<std::mutex> lock(mutex_);
        if (is_ended_)
            return;
        is_ended_ = true;
        c10::cuda::CUDAStreamGuard guard(stream_);
        if (!operation_.requests.empty())
            check_mpi(MPIX_Waitall_enqueue(static_cast<int>(operation_.requests.size()),
                                           operation_.requests.data(),
                                           statuses_.of(operation_)),
                      operation_.about);
        // The allocator must not give the memory away before the stream has come here.
        for (const at::Tensor &tensor : operation_.kept)
            tensor.record_stream(stream_);
        for (const at::Tensor &tensor : operation_.outputs)
            tensor.record_stream(stream_);
        std::exception_ptr error = operation_.conclude();
        ended_.record(stream_);
        if (error)
            std::rethrow_exception(error);
    }

    Operation operation_;
    CUDAStream stream_;
    StreamStatuses statuses_;
    mutable at::cuda::CUDAEvent ended_;
    std::mutex mutex_;
    bool is_ended_ = false;
    c10::intrusive_ptr<c10::ivalue::Future> future_;
};

class CudaStreamPaths : public StreamPaths
{
  public:
    explicit CudaStreamPaths(MPI_Comm comm) : comm_(comm)
    {
    }

    // Made at the first use of a device, which all ranks must take part in then.
    Path &path_of(c10::DeviceIndex device) override
    {
        std::lock_guard<std::mutex> lock(mutex_);
        std::unique_ptr<StreamPath> &path = paths_[device];
        if (path == nullptr)
            path = std::make_unique<StreamPath>(comm_, device);
        return *path;
    }

    c10::intrusive_ptr<c10d::Work> finish(Path &path, Operation &&operation, c10d::OpType type,
                                          bool is_async) override
    {
        auto work = c10::make_intrusive<StreamWork>(std::move(operation), type,
                                                    static_cast<StreamPath &>(path));
        if (is_async)
            return work;
        work->wait(kNoTimeout);
        return nullptr;
    }

  private:
    MPI_Comm comm_;
    std::mutex mutex_;
    std::map<c10::DeviceIndex, std::unique_ptr<StreamPath>> paths_;
};

} // namespace

// If all ranks use a device already, the path of it is made at once.
std::unique_ptr<StreamPaths> make_stream_paths(MPI_Comm comm)
{
    int devices = c10::cuda::device_count();
    int is_ready = devices > 0 && c10::cuda::hasPrimaryContext(c10::cuda::current_device());
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, &is_ready, 1, MPI_INT, MPI_MIN, comm), "MPI_Allreduce");
    if (devices == 0)
        return nullptr;
    auto paths = std::make_unique<CudaStreamPaths>(comm);
    if (is_ready)
        paths->path_of(c10::cuda::current_device());
    return paths;
}

} // namespace weft_torch
