/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* close_range */
#include "launch/node/helper_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

static void close_from(int first)
{
    if (close_range((unsigned)first, ~0U, 0) == 0)
        return;
    long most = sysconf(_SC_OPEN_MAX); /* before Linux 5.9 */
    for (int fd = first; fd < most; fd++)
        close(fd);
}

void wl_helper_become(const char *name, int fd, bool keeps_stderr)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    prctl(PR_SET_NAME, name);
    for (int i = 0; i <= STDERR_FILENO && null >= 0; i++) {
        if (i != STDERR_FILENO || !keeps_stderr)
            dup2(null, i);
    }
    if (fd != WL_HELPER_FD)
        dup2(fd, WL_HELPER_FD);
    close_from(WL_HELPER_FD + 1);
    if (chdir("/") != 0) /* it only frees the directory for umount, so a failure does not matter */
        return;
}
