/* SPDX-License-Identifier: BSD-3-Clause */
/* The daemon of a host: a crew whose events and output go to mpirun, and a node of the host tree.
 */
#ifndef WEFT_LAUNCH_TREE_DAEMON_H
#define WEFT_LAUNCH_TREE_DAEMON_H

/**
 * Read from stdin whom to call, call, and do what mpirun wants until it wants no more or the way to
 * it is cut. Nothing of the job is left on this host then.
 * returns  MPI_SUCCESS; MPI_ERR_ARG, MPI_ERR_PORT or MPI_ERR_OTHER: mpirun was not found
 */
int wl_daemon_run(void);

#endif
