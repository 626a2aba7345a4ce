/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Weft's own transport over TCP: reaches the ranks of other hosts where there is no better network
 * than what the kernel's sockets carry.
 */
#ifndef WEFT_TCP_TCP_H
#define WEFT_TCP_TCP_H

#include "runtime/transport.h"

extern const weft_transport_ops_t weft_tcp_transport;
extern const weft_pvar_table_t weft_tcp_pvars; /* for tools */

#endif
