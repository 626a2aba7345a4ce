#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The tests of mpi4py.sh that send arrays, with arrays in device memory. CuPy's place is taken by
# device_arrays/cupy, which needs no GPU.
MPI4PY_ON=devices exec "$(dirname "$0")/mpi4py.sh"
