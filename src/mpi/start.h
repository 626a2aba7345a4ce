/* SPDX-License-Identifier: BSD-3-Clause */
/* Start-up and end of the library. The only file that names the transports is start.c. */
#ifndef WEFT_MPI_START_H
#define WEFT_MPI_START_H

/** Start MPI: launcher, transports, MPI_COMM_WORLD. Returns an error class with a text. */
int weft_start(int thread_level);

/** The first part of the end: wait until all that this process has sent is received. MPI_ERR_OTHER
 * with a text: some of it will never be, and the second part is still to come. */
int weft_stop_sending(void);

/** Stop MPI; waits until nothing that this process has sent can be lost. */
int weft_stop(void);

/** Print `why` on stderr (or have the launcher print it) and end all ranks of the job. */
void weft_abort_job(int code, const char *why) __attribute__((noreturn));

#endif
