# SPDX-License-Identifier: BSD-3-Clause
"""weft.report(), and the one that TORCH_DISTRIBUTED_DEBUG has printed at the first group."""
import contextlib
import io

import expect
import torch.distributed as dist
import weft


def printed(action):
    """What goes to stderr meanwhile."""
    text = io.StringIO()
    with contextlib.redirect_stderr(text):
        action()
    return text.getvalue()


dist.set_debug_level(dist.DebugLevel.INFO)
at_first = printed(expect.begin)
rank, size = dist.get_rank(), dist.get_world_size()
expect.equal(printed(dist.new_group), "", "the report of a second group")
report = weft.report()
expect.equal(at_first.rstrip("\n"), str(report) if rank == 0 else "", "the report at the first group")
expect.equal(report["ranks"], size, "ranks of the report")
expect.equal(sorted(each for host in report["hosts"] for each in host["ranks"]), list(range(size)),
             "ranks of the hosts")
for host in report["hosts"]:
    for word in (host["host"], host["same_host"], host["other_hosts"]):
        expect.equal(word in str(report), True, f"{word} in the text")
for warning in report["warnings"]:
    expect.equal(warning["text"] in str(report), True, f"{warning} in the text")
everybody = [None] * size
dist.all_gather_object(everybody, (dict(report), str(report)))
expect.equal(everybody, everybody[:1] * size, "the reports of all ranks")

last = dist.new_group([size - 1])
if rank == size - 1:
    expect.equal(weft.report(last)["hosts"][0]["ranks"], [0], "ranks in a group of the last one")
elif size > 1:
    expect.raises(ValueError, ["no member"], lambda: weft.report(last), "the report of another's group")
gloo = dist.new_group(backend="gloo")
expect.raises(ValueError, ["'gloo'", "not \"weft\""], lambda: weft.report(gloo), "a report of gloo")
dist.destroy_process_group()
expect.raises(ValueError, ["init_process_group"], weft.report, "a report without a group")
