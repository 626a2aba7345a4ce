/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which ranks are on one host, as far as shared memory is concerned. Containers of one machine may
 * run the same kernel and have the same name, so that what they would share is looked at too.
 */
#include "pmi/hub_private.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void read_boot_id(char out[], size_t room)
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, out, room - 1);
    if (fd >= 0)
        close(fd);
    out[got > 0 ? got : 0] = '\0';
    out[strcspn(out, "\n")] = '\0';
}

static unsigned long long file_number(const char *path, bool of_device)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return 0;
    return of_device ? (unsigned long long)status.st_dev : (unsigned long long)status.st_ino;
}

void wefti_hub_identify_host(const char *given, char out[], size_t room)
{
    char boot[64] = "", name[256] = "";
    read_boot_id(boot, sizeof(boot));
    gethostname(name, sizeof(name) - 1);
    snprintf(out, room, "%s %s %llu %llu %llu %s", boot, name, file_number("/dev/shm", true),
             file_number("/proc/self/ns/pid", false), file_number("/proc/self/ns/net", false),
             given == NULL ? "" : given);
}
