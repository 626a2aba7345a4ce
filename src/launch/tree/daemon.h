/* SPDX-License-Identifier: BSD-3-Clause */
/* The node daemon: the ranks of one host, whose events and output go to mpirun, and a node of the
 * host tree. */
#ifndef WEFT_LAUNCH_TREE_DAEMON_H
#define WEFT_LAUNCH_TREE_DAEMON_H

/**
 * Read the parent link from stdin, connect to the parent, and do what mpirun says until it says
 * FINISH or the connection ends. Then nothing of the job is left on this host.
 * returns  MPI_SUCCESS; MPI_ERR_ARG, MPI_ERR_PORT or MPI_ERR_OTHER: mpirun was not found
 */
int wl_daemon_run(void);

#endif
