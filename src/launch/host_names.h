/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of hosts in command lines: they may only name the host that we run on. */
#ifndef WEFT_LAUNCH_HOST_NAMES_H
#define WEFT_LAUNCH_HOST_NAMES_H

/**
 * "localhost:4,node1" as after --host: check the names; the numbers after ':' are added to *slots.
 * returns  MPI_SUCCESS; MPI_ERR_UNSUPPORTED_OPERATION when another host is named
 */
int weft_hosts_check_list(const char *list, int *slots);

/** The same for a host file: "name", "name:4" or "name slots=4" a line, '#' begins a comment. Also
 *  MPI_ERR_NO_SUCH_FILE. */
int weft_hosts_check_file(const char *path, int *slots);

#endif
