#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What mpi4py.sh does, with the ranks on two hosts in turns.
here=$(cd "$(dirname "$0")" && pwd)
cluster=$here/../cluster
MPIRUN=$cluster/uneven exec "$cluster/hosts" --hosts 2 --slots 8 --slurm -- "$here/mpi4py.sh"
