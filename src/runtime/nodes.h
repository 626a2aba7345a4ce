/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which host each rank is on. The launcher is asked when a collective first spans hosts, so a job
 * of one host never pays for it. Hosts are numbered from 0, by the lowest world rank on them.
 */
#ifndef WEFT_RUNTIME_NODES_H
#define WEFT_RUNTIME_NODES_H

#include <stdbool.h>

/** Learn where the ranks are, unless that is known; before any of the functions below. The caller
 *  holds the library's lock. MPI_ERR_OTHER when the launcher does not tell; MPI_ERR_NO_MEM. */
int weft_nodes_open(void);
void weft_nodes_close(void);

/** Are all ranks of MPI_COMM_WORLD on one host, as far as algorithms are concerned? Needs no
 *  weft_nodes_open(). */
bool weft_nodes_is_one(void);

int weft_nodes_count(void);

/** The number of the host that a process is on. */
int weft_node_of(int process);

/** The lowest and the highest world rank of a host. */
int weft_node_first(int node);
int weft_node_last(int node);

#endif
