/* SPDX-License-Identifier: BSD-3-Clause */
/* What a host is made of, for the manifest of a job. */
#ifndef WEFT_LAUNCH_NODE_HOST_FACTS_H
#define WEFT_LAUNCH_NODE_HOST_FACTS_H

#include "launch/plan/process_environment.h"

/**
 * Append facts of this host as NAME=VALUE: kernel, architecture, processor, sockets, cores,
 * processors, numa_nodes, memory_bytes, interfaces, fabric_devices, gpus, gpu_driver. What cannot
 * be found out is left out. The source is /proc and /sys. MPI_ERR_NO_MEM.
 */
int wl_host_facts_collect(wl_variables_t *out);

#endif
