#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The tests of mpi4py.sh, with the ranks on two hosts in turns.
here=$(cd "$(dirname "$0")" && pwd)
cluster=$here/../cluster
MPI4PY_ON=nowhere "$here/mpi4py.sh" || exit # the hosts have no network to install it from
MPI4PY_ON=hosts MPIRUN=$cluster/uneven exec "$cluster/hosts" --hosts 2 --slots 8 --slurm -- "$here/mpi4py.sh"
