/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of all sessions and handles of performance variables. */
#ifndef WEFT_TOOL_PVAR_HANDLE_H
#define WEFT_TOOL_PVAR_HANDLE_H

/** Stop and free them all; with the tool's lock. */
void wefti_pvar_handles_close(void);

#endif
