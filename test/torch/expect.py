# SPDX-License-Identifier: BSD-3-Clause
"""What the test programs share: each is run by mpirun on some ranks and prints nothing when it passes.

TEST_DEVICE=cuda: tensors are on the host's devices, which the ranks take in turns. As such a machine is rarely at hand, a
program that runs there goes on after a failure and tells of all. TEST_HANGS_AFTER: seconds until it tells where it is.
"""
import faulthandler
import os
import sys
import traceback
from datetime import timedelta

import torch
import torch.distributed as dist

TIMEOUT = timedelta(seconds=60)
HANGS_AFTER_S = float(os.environ.get("TEST_HANGS_AFTER", 100))
DEVICE = os.environ.get("TEST_DEVICE", "cpu")
MOST_FAILURES = 20
failures = []


def begin():
    """Join the group; (rank, size). A rank that hangs says where."""
    faulthandler.dump_traceback_later(HANGS_AFTER_S, exit=DEVICE == "cpu", file=sys.__stderr__)
    if DEVICE == "cuda":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
        torch.set_default_device(device())
    dist.init_process_group(backend="weft", timeout=TIMEOUT)
    return dist.get_rank(), dist.get_world_size()


def end():
    """Leave the group; the exit code tells of failures."""
    dist.destroy_process_group()
    if failures:
        sys.exit(f"{len(failures)} failures")


def device():
    """Where this rank's tensors are; threads of the program must name it."""
    return torch.device("cuda", torch.cuda.current_device()) if DEVICE == "cuda" else torch.device("cpu")


def synchronize():
    """Wait for what has been launched on the device."""
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def fail(text):
    text = f"rank {dist.get_rank() if dist.is_initialized() else '?'}: {text}"
    if DEVICE == "cpu":
        sys.exit(text)
    failures.append(text)
    print(text, file=sys.stderr, flush=True)
    if len(failures) == MOST_FAILURES:
        os._exit(1)


def check(function, *arguments):
    """Call it. On a device an exception is a failure like others, as it is one at all ranks as a rule."""
    if DEVICE == "cpu":
        return function(*arguments)
    try:
        function(*arguments)
    except Exception:
        fail(f"{function.__name__}{arguments}: {traceback.format_exc(limit=-2)}")


def equal(got, expected, what):
    """Both are tensors of one type, or plain values."""
    if isinstance(got, torch.Tensor):
        same = got.dtype == expected.dtype and got.shape == expected.shape
        same = same and torch.equal(as_bytes(got), as_bytes(expected))
    else:
        same = got == expected
    if not same:
        fail(f"{what}: got {got}, expected {expected}")


def as_bytes(tensor):
    """The contents, for types that cannot be compared."""
    return tensor.cpu().contiguous().reshape(-1).view(torch.uint8) if tensor.numel() else torch.empty(0, device="cpu")


def close(got, expected, what):
    if not torch.allclose(got.cpu(), expected.cpu(), rtol=1e-2, atol=1e-2):
        fail(f"{what}: got {got}, expected {expected}")


def raises(kind, words, call, what):
    """The error, which must be of this kind and say these words."""
    try:
        call()
    except kind as err:
        for word in words:
            if word not in str(err):
                fail(f"{what}: the error does not say {word!r}: {err}")
        return err
    except Exception as err:
        fail(f"{what}: {type(err).__name__} instead of {kind.__name__}: {err}")
    fail(f"{what}: no error")
