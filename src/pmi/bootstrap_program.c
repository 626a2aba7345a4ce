/* SPDX-License-Identifier: BSD-3-Clause */
/* The program has said which rank it is, and lends its store (MPIX_Bootstrap_set). */
#include "pmi/bootstrap_private.h"
#include "pmi/hub_private.h"

#include "base/fail.h"
#include "base/memory.h"
#include "mpi.h"

static struct {
    MPIX_Bootstrap self;
    char *host;
    bool is_set;
} program;

int weft_pmi_take_bootstrap(const struct MPIX_Bootstrap *bootstrap)
{
    char *host = NULL;
    if (bootstrap != NULL && bootstrap->host != NULL) {
        host = weft_strdup(bootstrap->host);
        if (host == NULL)
            return weft_fail(MPI_ERR_NO_MEM, "the name of the host");
    }
    weft_free(program.host);
    program.host = host;
    program.is_set = bootstrap != NULL;
    if (bootstrap != NULL)
        program.self = *bootstrap;
    program.self.host = host;
    return MPI_SUCCESS;
}

static int program_open(weft_pmi_job_t *out)
{
    if (!program.is_set)
        return MPI_ERR_UNSUPPORTED_OPERATION;
    return weft_hub_join(&(weft_hub_plan_t){.self = program.self, .uses_store = true}, out);
}

const weft_bootstrap_t weft_program_bootstrap = {"program", program_open, &weft_hub_calls};
