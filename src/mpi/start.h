/* SPDX-License-Identifier: BSD-3-Clause */
/* Start-up and end of the library. The only files that name the transports are start.c and, for
 * tools, tool_parts.c. */
#ifndef WEFT_MPI_START_H
#define WEFT_MPI_START_H

#include "runtime/rank_report.h"

#include <stdbool.h>

/** Start the library: launcher, transports, communicators. Returns an error class with a text. */
int weft_start(int thread_level);

/** What this rank knows for the report, while MPI runs. */
void weft_describe_rank(weft_rank_report_t *out);

/** The report at the end of the World model, which all ranks give together. */
void weft_report_world_end(void);

/**
 * Wait until all that this process has sent is received.
 * is_end   weft_stop() comes next; else weft_rest()
 * returns  MPI_SUCCESS; MPI_ERR_OTHER with a text: some of it will never be
 */
int weft_stop_sending(bool is_end);

/** In MPI_Finalize, at all ranks: wait until nothing that was sent before can be lost when a rank
 * ends. is_end  weft_stop() comes next */
void weft_part_in_order(bool is_end);

/** Stop the library. */
int weft_stop(void);

/** Called by weft_stop() before communicators are closed; set by the layer above, if it has any. */
extern void (*weft_on_stop)(void);

/** Nobody uses the library now: the process may end, but stays connected to the others. */
void weft_rest(void);
/** The reverse. */
void weft_resume(void);
/** The process ends at rest. */
void weft_end_rest(void);

/** Print `why` on stderr (or have the launcher print it) and end all ranks of the job. */
void weft_abort_job(int code, const char *why) __attribute__((noreturn));

#endif
