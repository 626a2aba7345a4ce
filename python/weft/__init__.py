# SPDX-License-Identifier: BSD-3-Clause
"""torch.distributed over Weft: init_process_group(backend="weft"). torch loads this by itself."""
import multiprocessing.util
import os
import sys

# A process that ends with an error code waits no longer than this for what it has sent to be received.
FAILED_CLOSE_S = 2.0


def register():
    """Make "weft" known to torch.distributed; called by torch through an entry point."""
    import torch.distributed as dist

    if dist.is_available() and "WEFT" not in dist.Backend._plugins:
        dist.Backend.register_backend("weft", _create_group, extended_api=True,
                                      devices=["cpu", "cuda"])
        from weft import launch

        launch.set_environment(os.environ)


def _create_group(given, options):
    """Called by torch for each new group, at its members."""
    from weft import _C

    if options is None:
        options = _C.ProcessGroupWeft.Options()
        options._timeout = given.timeout
    elif not isinstance(options, _C.ProcessGroupWeft.Options):
        raise TypeError("weft: pg_options is a " + type(options).__name__ + ", not a "
                        "weft.ProcessGroupWeft.Options")
    options.group_name = given.group_id
    options.global_ranks_in_group = given.global_ranks_in_group
    _close_at_exit()
    return _C.ProcessGroupWeft(given.store, given.group_rank, given.group_size, options)


_closes_at_exit = False


def _close_at_exit():
    """End MPI with the process, for programs that do not call destroy_process_group(). Such a
    finalizer also runs at the end of the children of multiprocessing, where atexit's do not."""
    global _closes_at_exit
    if not _closes_at_exit:
        _closes_at_exit = True
        multiprocessing.util.Finalize(None, _close, exitpriority=0)


def _close():
    error = sys.exc_info()[1]
    if hasattr(sys, "last_value") or not isinstance(error, (SystemExit, type(None))):
        return  # without MPI's consent, so that the launcher ends the others, too
    from weft import _C

    has_failed = error is not None and error.code not in (None, 0)
    _C.close_at_exit(FAILED_CLOSE_S if has_failed else None)


def __getattr__(name):
    if name == "ProcessGroupWeft":  # the extension is loaded when it is needed
        from weft import _C

        return _C.ProcessGroupWeft
    raise AttributeError(f"module 'weft' has no attribute {name!r}")
