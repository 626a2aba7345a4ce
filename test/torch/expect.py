# SPDX-License-Identifier: BSD-3-Clause
"""What the test programs share: each is run by mpirun on some ranks and prints nothing when it passes."""
import faulthandler
import sys
from datetime import timedelta

import torch
import torch.distributed as dist

TIMEOUT = timedelta(seconds=60)
HANGS_AFTER_S = 100


def begin():
    """Join the group; (rank, size). A rank that hangs says where."""
    faulthandler.dump_traceback_later(HANGS_AFTER_S, exit=True, file=sys.__stderr__)
    dist.init_process_group(backend="weft", timeout=TIMEOUT)
    return dist.get_rank(), dist.get_world_size()


def fail(text):
    sys.exit(f"rank {dist.get_rank() if dist.is_initialized() else '?'}: {text}")


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
    return tensor.contiguous().reshape(-1).view(torch.uint8) if tensor.numel() else torch.empty(0)


def close(got, expected, what):
    if not torch.allclose(got, expected, rtol=1e-2, atol=1e-2):
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
