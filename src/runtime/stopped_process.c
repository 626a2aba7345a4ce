/* SPDX-License-Identifier: BSD-3-Clause */
#include "runtime/stopped_process.h"

#include "runtime/process.h"
#include "runtime/world.h"

#include <stdio.h>
#include <string.h>

/* 0: it cannot be seen from here. */
static int pid_of_process(int process)
{
    int local_rank = weft_process_local_rank(process);
    return local_rank < 0 || weft_world.pid_of == NULL ? 0 : weft_world.pid_of(local_rank);
}

/* "pid (name) state ...", where the name may hold anything. A process that a debugger has stopped
 * is in state t, and is waited for. */
bool weft_process_is_stopped(int process)
{
    int pid = pid_of_process(process);
    char path[32], line[512] = "";
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    FILE *file = pid == 0 ? NULL : fopen(path, "re");
    if (file == NULL)
        return false;
    line[fread(line, 1, sizeof(line) - 1, file)] = '\0';
    fclose(file);
    const char *end = strrchr(line, ')');
    return end != NULL && strncmp(end, ") T", 3) == 0;
}
