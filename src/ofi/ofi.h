/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The network transport: reaches the ranks of other hosts through libfabric. Opens nothing in a job
 * of one host. A build without libfabric has no_fabric.c instead.
 */
#ifndef WEFT_OFI_OFI_H
#define WEFT_OFI_OFI_H

#include "runtime/transport.h"

extern const weft_transport_ops_t weft_ofi_transport;
extern const weft_pvar_table_t weft_ofi_pvars; /* for tools */

#endif
