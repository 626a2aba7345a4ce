# SPDX-License-Identifier: BSD-3-Clause
"""mpi4py with arrays of CuPy (or of NumPy: TEST_DEVICE=cpu): every rank checks what it gets. Prints nothing when all is well.

Run by benchmarks/torch_device; mpi4py.sh runs mpi4py's own tests.
"""
import faulthandler
import os
import sys
import traceback

faulthandler.dump_traceback_later(float(os.environ.get("TEST_HANGS_AFTER", 100)))
import numpy  # noqa: E402
from mpi4py import MPI  # noqa: E402

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
if os.environ.get("TEST_DEVICE") == "cuda":
    import cupy as arrays

    arrays.cuda.Device(int(os.environ.get("LOCAL_RANK", rank)) % arrays.cuda.runtime.getDeviceCount()).use()
else:
    arrays = numpy
TYPES = ["int8", "uint8", "int32", "int64", "uint64", "float32", "float64", "complex64", "complex128"]
LENGTHS = [0, 1, 7, 1000, 300000, 3000000]
failures = 0


def on_device(made):
    """A copy, and finished there: MPI knows nothing of CuPy's streams."""
    made = arrays.array(made)
    finish()
    return made


def values(kind, count, seed):
    return on_device(expected(kind, count, seed))


def expected(kind, count, seed):
    """The same in NumPy: small whole numbers, so that sums are exact."""
    return ((numpy.arange(count) * 7 + seed * 3) % 5 + 1).astype(kind)


def blank(kind, count):
    made = arrays.zeros(count, dtype=kind)
    finish()
    return made


def finish():
    if arrays is not numpy:
        arrays.cuda.get_current_stream().synchronize()


def equal(got, wanted, what):
    got = got if arrays is numpy else got.get()
    if got.dtype != wanted.dtype or not numpy.array_equal(got, wanted):
        fail(f"{what}: got {got[:8]}, expected {wanted[:8]}")


def fail(text):
    global failures
    failures += 1
    print(f"rank {rank}: {text}", file=sys.stderr, flush=True)


def total(kind, count, seed=0):
    return sum((expected(kind, count, seed + r) for r in range(size)), numpy.zeros(count, kind))


def check_collectives(kind, count):
    what = f"of {count} {kind}"
    out = blank(kind, count)
    comm.Allreduce(values(kind, count, rank), out)
    equal(out, total(kind, count), "Allreduce " + what)
    x = values(kind, count, rank)
    comm.Allreduce(MPI.IN_PLACE, x)
    equal(x, total(kind, count), "Allreduce in place " + what)
    x = values(kind, count, rank)
    comm.Bcast(x, size - 1)
    equal(x, expected(kind, count, size - 1), "Bcast " + what)
    out = blank(kind, count)
    comm.Reduce(values(kind, count, rank), out, root=0)
    if rank == 0:
        equal(out, total(kind, count), "Reduce " + what)
    out = blank(kind, count * size)
    comm.Allgather(values(kind, count, rank), out)
    equal(out, numpy.concatenate([expected(kind, count, r) for r in range(size)]), "Allgather " + what)
    out = blank(kind, count * size)
    comm.Alltoall(on_device(numpy.concatenate([expected(kind, count, rank + 2 * r) for r in range(size)])), out)
    equal(out, numpy.concatenate([expected(kind, count, r + 2 * rank) for r in range(size)]), "Alltoall " + what)
    out = blank(kind, count)
    comm.Reduce_scatter_block(values(kind, count * size, rank), out)
    equal(out, total(kind, count * size)[rank * count:(rank + 1) * count], "Reduce_scatter_block " + what)


def check_messages(kind, count):
    what = f"of {count} {kind}"
    right, left = (rank + 1) % size, (rank - 1) % size
    out = blank(kind, count)
    comm.Sendrecv(values(kind, count, rank), right, 1, out, left, 1)
    equal(out, expected(kind, count, left), "Sendrecv " + what)
    if rank < 2 and size > 1:
        x = values(kind, count, rank) if rank == 0 else blank(kind, count)
        if rank == 0:
            comm.Send(x, 1, 2)
        else:
            comm.Recv(x, 0, 2)
            equal(x, expected(kind, count, 0), "Send and Recv " + what)
    mine, outs = values(kind, count, rank), [blank(kind, count) for _ in range(size)]
    requests = [comm.Irecv(outs[r], r, 3) for r in range(size)] + [comm.Isend(mine, r, 3) for r in range(size)]
    MPI.Request.Waitall(requests)
    for r in range(size):
        equal(outs[r], expected(kind, count, r), f"Irecv {what} from {r}")


def check_nonblocking(kind, count):
    what = f"of {count} {kind}"
    summed, gathered, x = blank(kind, count), blank(kind, count * size), values(kind, count, rank)
    mine = values(kind, count, rank)
    MPI.Request.Waitall([comm.Iallreduce(mine, summed), comm.Iallgather(mine, gathered), comm.Ibcast(x, 0)])
    equal(summed, total(kind, count), "Iallreduce " + what)
    equal(gathered, numpy.concatenate([expected(kind, count, r) for r in range(size)]), "Iallgather " + what)
    equal(x, expected(kind, count, 0), "Ibcast " + what)


if not MPI.Get_library_version().startswith("Weft "):
    sys.exit(f"mpi4py does not use Weft but {MPI.Get_library_version()}")
for each_type in TYPES:
    for each_length in LENGTHS if each_type == "float32" else LENGTHS[:-2]:
        for check in (check_collectives, check_messages, check_nonblocking):
            try:
                check(each_type, each_length)
            except Exception:
                fail(f"{check.__name__} of {each_length} {each_type}: {traceback.format_exc(limit=-2)}")
                if failures > 20:
                    comm.Abort(1)
comm.Barrier()
if failures:
    sys.exit(f"{failures} failures")
