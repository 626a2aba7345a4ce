/* SPDX-License-Identifier: BSD-3-Clause */
/* The daemon that mpirun starts on each host of a job. */
#include "base/fail.h"
#include "launch/daemon.h"
#include "mpi.h"

#include <stdio.h>
#include <unistd.h>

int main(void)
{
    int err = weft_daemon_run();
    if (err != MPI_SUCCESS) {
        char host[256] = "";
        gethostname(host, sizeof(host) - 1);
        fprintf(stderr, "weftd on %s: %s\n", host, weft_fail_text());
    }
    _exit(err == MPI_SUCCESS ? 0 : 1); /* PMIx's exit handlers may hang after a client has died */
}
