/* SPDX-License-Identifier: BSD-3-Clause */
/* The PMIx server's process: its main thread takes messages from mpirun, and upcalls on a thread of
 * PMIx send messages to mpirun (pmix_server.h has the table). */
#ifndef WEFT_LAUNCH_NODE_PMIX_SERVICE_H
#define WEFT_LAUNCH_NODE_PMIX_SERVICE_H

#include "launch/loop/launch_message.h"
#include "launch/node/scratch.h"
#include "launch/plan/job_plan.h"

#include <sys/types.h>

typedef struct wli_pmix_service {
    const wl_job_plan_t *plan;
    int host; /* index in the placement */
    const wl_scratch_t *scratch;
} wli_pmix_service_t;

/**
 * Be the server's process until the connection ends, or `parent` does; called after fork().
 * fd  the connection to mpirun
 */
void wli_pmix_serve(const wli_pmix_service_t *service, int fd, pid_t parent)
    __attribute__((noreturn));

/** Send a message to mpirun and release the body. From any thread; waits while mpirun does not
 *  read. */
void wli_pmix_tell(int kind, wl_writer_t *body);

#endif
