# SPDX-License-Identifier: BSD-3-Clause
"""torch.distributed over Weft: init_process_group(backend="weft"). torch loads this by itself."""
import json
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
        _audit_instead_of_wrapper()
        if os.environ.get("WEFT_REJOIN"):
            from weft import recovery

            recovery.take_over_rendezvous()


def _audit_instead_of_wrapper():
    """With TORCH_DISTRIBUTED_DEBUG=DETAIL torch puts a wrapper over each back end that compares the
    ranks' collectives by a group of gloo. Groups of Weft compare them themselves, over MPI."""
    from torch.distributed import distributed_c10d

    wrap = getattr(distributed_c10d, "_create_process_group_wrapper", None)
    if wrap is None:
        return  # then there is no wrapper, or it comes on top of our audit

    def wrap_others(wrapped_pg, *args, **kwargs):
        if getattr(wrapped_pg, "audits_itself", False):
            return wrapped_pg
        return wrap(wrapped_pg, *args, **kwargs)

    distributed_c10d._create_process_group_wrapper = wrap_others


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
    made = _C.ProcessGroupWeft(given.store, given.group_rank, given.group_size, options)
    _show_report_once(made)
    return made


_was_shown = False


def _show_report_once(made):
    """With TORCH_DISTRIBUTED_DEBUG=INFO or DETAIL rank 0 of the first group prints the report, and of the
    first after each rejoin(), since a new process cannot know that the others have seen it."""
    global _was_shown
    if _was_shown or debug_level() == "OFF":
        return
    _was_shown = True
    from weft import recovery

    try:
        text = made.report(as_json=False)
    except recovery.RankLost:
        return  # the next operation says it, where the program expects it
    if made.rank() == 0:
        print(text, end="", file=sys.stderr, flush=True)


def _show_report_again():
    global _was_shown
    _was_shown = False


def debug_level():
    """OFF, INFO or DETAIL, as torch has read TORCH_DISTRIBUTED_DEBUG, or has been told later."""
    import torch.distributed as dist

    return dist.get_debug_level().name


def backend_of(group=None):
    """The ProcessGroupWeft of a group, by default of the default group."""
    import torch
    import torch.distributed as dist

    group = dist.group.WORLD if group is None else group
    if not isinstance(group, dist.ProcessGroup):
        raise ValueError("weft: this process is not in a group: " + (
            "call init_process_group first" if group is None else "it is no member of the one given"))
    found = group._get_backend(torch.device("cpu"))
    if isinstance(found, torch._C._distributed_c10d._ProcessGroupWrapper):
        found = found.wrapped_pg
    from weft import _C

    if not isinstance(found, _C.ProcessGroupWeft):
        raise ValueError(f"weft: the group's back end for CPU tensors is {found.name()!r}, not \"weft\"")
    return found


class Report(dict):
    """What weft.report() returns. str() of it is the text for people."""

    def __init__(self, members, text):
        super().__init__(members)
        self.text = text

    def __str__(self):
        return self.text


def report(group=None):
    """What the ranks of a group run on, and what costs them speed: the report of mpirun --report.

    Collective: all ranks of the group call it, and all get it. A dict, whose "hosts" have "host",
    "ranks" (in the group), "cores", "same_host", "other_hosts" (the ways between ranks) and more, and
    whose "warnings" have "hosts" and "text"; str() of it is the text for people.
    """
    found = backend_of(group)
    return Report(json.loads(found.report(as_json=True)), found.report(as_json=False).rstrip("\n"))


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
    if name in ("RankLost", "agree", "recover", "rejoin"):
        from weft import recovery

        return getattr(recovery, name)
    raise AttributeError(f"module 'weft' has no attribute {name!r}")
