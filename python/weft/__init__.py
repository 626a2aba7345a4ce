# SPDX-License-Identifier: BSD-3-Clause
"""torch.distributed over Weft: init_process_group(backend="weft"). torch loads this by itself."""
import atexit
import os
import sys


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
    """End MPI with the process, for programs that do not call destroy_process_group()."""
    global _closes_at_exit
    if not _closes_at_exit:
        _closes_at_exit = True
        atexit.register(_close, os.getpid())


def _close(pid):
    # After an exception the process ends without MPI's consent, so that the launcher ends the others.
    if os.getpid() == pid and not hasattr(sys, "last_value"):
        from weft import _C

        _C.close_at_exit()


def __getattr__(name):
    if name == "ProcessGroupWeft":  # the extension is loaded when it is needed
        from weft import _C

        return _C.ProcessGroupWeft
    raise AttributeError(f"module 'weft' has no attribute {name!r}")
