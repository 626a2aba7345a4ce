/* SPDX-License-Identifier: BSD-3-Clause */
/* What a job has in the file system: a directory of its own and shared segments named after it. */
#ifndef WEFT_LAUNCH_NODE_SCRATCH_H
#define WEFT_LAUNCH_NODE_SCRATCH_H

#include <stdbool.h>

typedef struct wl_scratch {
    char path[96]; /* mode 0700; short enough for the names of sockets in it */
    char id[32];   /* of the job: the segments' names begin with it and a dot */
    int spare_fd;  /* open for no other purpose than to be closed before the removal, which needs a
                    * descriptor at a time when all may be in use */
} wl_scratch_t;

/** Choose the directory of a job on the host with that number, in TMPDIR or /tmp, which nobody else
 *  chooses. MPI_ERR_IO. */
int wl_scratch_choose(const char *job, int host, wl_scratch_t *out);

/** Make it. MPI_ERR_IO, and then its path is empty: there is nothing to remove. */
int wl_scratch_make(wl_scratch_t *scratch);

/** Remove the directory with all in it, and what is called /dev/shm/<id>.* . Never fails.
 *  False: something is left, as when another process makes files in it. */
bool wl_scratch_remove(const wl_scratch_t *scratch);

#endif
