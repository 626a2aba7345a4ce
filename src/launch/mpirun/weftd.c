/* SPDX-License-Identifier: BSD-3-Clause */
/* The daemon that mpirun starts on each host of a job; with `as-rank`, what other launchers start
 * in the place of a rank. */
#include "base/fail.h"
#include "launch/delegate/rank_exec.h"
#include "launch/tree/daemon.h"
#include "mpi.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "as-rank") == 0)
        return wl_rank_exec(argc - 2, argv + 2);
    int err = wl_daemon_run();
    if (err != MPI_SUCCESS) {
        char host[256] = "";
        gethostname(host, sizeof(host) - 1);
        fprintf(stderr, "weftd on %s: %s\n", host, weft_fail_text());
    }
    /* What a job that was cut short still holds is the kernel's to free. */
    _exit(err == MPI_SUCCESS ? 0 : 1);
}
