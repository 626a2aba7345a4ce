/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* nftw */
#include "launch/node/scratch.h"

#include "base/config.h"
#include "base/fail.h"
#include "mpi.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The name of a unix socket has at most 107 letters; PMIx and programs add theirs to the path. */
enum { LONGEST_PARENT = 40, OPEN_FOLDERS = 1 /* as there is one spare descriptor */ };

int wl_scratch_choose(const char *job, int host, wl_scratch_t *out)
{
    const char *parent = weft_environment("TMPDIR");
    if (parent == NULL || parent[0] != '/' || strlen(parent) > LONGEST_PARENT ||
        access(parent, W_OK | X_OK) != 0)
        parent = "/tmp";
    wl_scratch_t scratch;
    /* Hosts may share the parent directory, so the name has the number of the host. */
    snprintf(scratch.path, sizeof(scratch.path), "%s/%s-%d", parent, job, host);
    scratch.spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (scratch.spare_fd < 0)
        return weft_fail(MPI_ERR_IO, "no file can be opened: %s", strerror(errno));
    snprintf(scratch.id, sizeof(scratch.id), "%s", job);
    *out = scratch;
    return MPI_SUCCESS;
}

int wl_scratch_make(wl_scratch_t *scratch)
{
    if (mkdir(scratch->path, S_IRWXU) == 0)
        return MPI_SUCCESS;
    int err =
        weft_fail(MPI_ERR_IO, "a directory %s cannot be made: %s", scratch->path, strerror(errno));
    close(scratch->spare_fd);
    scratch->path[0] = '\0';
    return err;
}

static int scratch_remove_entry(const char *path, const struct stat *status, int kind,
                                struct FTW *place)
{
    (void)status, (void)kind, (void)place;
    remove(path);
    return 0;
}

/* Ranks that were killed could not unlink their shared segments. */
static void remove_segments(const char *id)
{
    DIR *folder = opendir("/dev/shm");
    if (folder == NULL)
        return;
    size_t length = strlen(id);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (strncmp(entry->d_name, id, length) == 0 && entry->d_name[length] == '.')
            unlinkat(dirfd(folder), entry->d_name, 0);
    }
    closedir(folder);
}

bool wl_scratch_remove(const wl_scratch_t *scratch)
{
    close(scratch->spare_fd);
    nftw(scratch->path, scratch_remove_entry, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    remove_segments(scratch->id);
    return access(scratch->path, F_OK) != 0;
}
