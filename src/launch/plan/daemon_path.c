/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/plan/daemon_path.h"

#include "base/fail.h"
#include "mpi.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char name[] = "weftd";

int wl_daemon_path(const char *prefix, char out[PATH_MAX])
{
    char own[PATH_MAX - sizeof(name) - sizeof("/bin/")] = "";
    if (prefix != NULL) {
        snprintf(out, PATH_MAX, "%s/bin/%s", prefix, name);
        return MPI_SUCCESS;
    }
    ssize_t bytes = readlink("/proc/self/exe", own, sizeof(own) - 1);
    char *slash = bytes > 0 ? strrchr(own, '/') : NULL;
    if (slash == NULL)
        return weft_fail(MPI_ERR_SPAWN, "where this program lies cannot be found out: %s",
                         strerror(errno));
    *slash = '\0';
    snprintf(out, PATH_MAX, "%s/%s", own, name);
    return MPI_SUCCESS;
}
