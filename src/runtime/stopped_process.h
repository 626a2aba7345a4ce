/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a process of this host is stopped (SIGSTOP), as the system says. */
#ifndef WEFT_RUNTIME_STOPPED_PROCESS_H
#define WEFT_RUNTIME_STOPPED_PROCESS_H

#include <stdbool.h>

/** False also if it cannot be seen from here. One that a debugger has stopped counts as running. */
bool weft_process_is_stopped(int process);

#endif
