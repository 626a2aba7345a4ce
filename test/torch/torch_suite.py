# SPDX-License-Identifier: BSD-3-Clause
"""torch's own tests of torch.distributed, from the installed torch, over Weft.

    python torch_suite.py [--as-gloo] [unittest's options and names]

Many tests run only for back ends that they know by name. With --as-gloo Weft is called gloo in these
processes, so that those for gloo run, too.
"""
import atexit
import multiprocessing
import os
import shutil
import sys
import tempfile

NAME = "gloo" if "--as-gloo" in sys.argv else "weft"
sys.argv = [word for word in sys.argv if word != "--as-gloo"]
os.environ.update(BACKEND=NAME, WORLD_SIZE=os.environ.get("WORLD_SIZE", "3"), OMP_NUM_THREADS="1",
                  TORCH_CPP_LOG_LEVEL="ERROR")
if "TEMP_DIR" not in os.environ:
    os.environ["TEMP_DIR"] = tempfile.mkdtemp(prefix="weft-torch-")
    atexit.register(shutil.rmtree, os.environ["TEMP_DIR"], ignore_errors=True)  # forks do not come there
os.makedirs(os.path.join(os.environ["TEMP_DIR"], "barrier"), exist_ok=True)
os.makedirs(os.path.join(os.environ["TEMP_DIR"], "init_dir"), exist_ok=True)

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
import weft  # noqa: E402
from torch.testing._internal.common_distributed import DistTestCases  # noqa: E402
from torch.testing._internal.common_utils import run_tests  # noqa: E402

if NAME == "gloo":  # profilers still see it as weft
    dist.Backend._plugins["GLOO"] = dist.Backend._plugins["WEFT"]
for feature in ("ddp", "subgroup", "gpu"):
    DistTestCases.backend_feature[feature].add("weft")

from torch.testing._internal.distributed import distributed_test  # noqa: E402

for names in (distributed_test.PROFILING_SUPPORTED_BACKENDS,
              distributed_test.SEND_RECV_PROFILING_SUPPORTED_BACKENDS):
    names.append("weft")
    if NAME == "gloo":
        names.remove("gloo")


class TestWeft(distributed_test.TestDistBackend, distributed_test.DistributedTest._DistTestBase):
    """The ranks are forks of this process: torch is imported once."""

    test_ddp_logging_data_cpu = None  # README.md says why

    def setUp(self):
        super().setUp()
        self._start_processes(multiprocessing.get_context("fork").Process)
        torch.backends.cudnn.flags(enabled=True, allow_tf32=False).__enter__()


if __name__ == "__main__":
    run_tests()
