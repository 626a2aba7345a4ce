/* SPDX-License-Identifier: BSD-3-Clause */
/* Start-up and end of the library. The only file that names the transports is start.c. */
#ifndef WEFT_MPI_START_H
#define WEFT_MPI_START_H

/** From nothing to a running MPI: launcher, transports, MPI_COMM_WORLD. An error class with a text;
 *  nothing is left behind on failure. */
int weft_start(int thread_level);

/** The reverse; waits until nothing that this process has sent is left behind. */
int weft_stop(void);

/** Say why on stderr (or let the launcher say it) and end all ranks of the job. */
void weft_abort_job(int code, const char *why) __attribute__((noreturn));

#endif
