/* SPDX-License-Identifier: BSD-3-Clause */
/* What all parts of the library have for tools (src/tool): the one list of their tables. */
#ifndef WEFT_MPI_TOOL_PARTS_H
#define WEFT_MPI_TOOL_PARTS_H

#include "tool/tool.h"

/** NULL: no memory. */
const weft_tool_parts_t *weft_tool_parts(void);

/** Raise the event that a process is reached by this transport. */
void weft_tool_tell_transport(int process);
/** The same for all processes that are reached already. */
void weft_tool_tell_transports(void);

#endif
