/* SPDX-License-Identifier: BSD-3-Clause */
/* The shared-memory transport: reaches the ranks of the same host. */
#ifndef WEFT_SHM_SHM_H
#define WEFT_SHM_SHM_H

#include "runtime/transport.h"

extern const weft_transport_ops_t weft_shm_transport;
extern const weft_pvar_table_t weft_shm_pvars; /* for tools */

#endif
