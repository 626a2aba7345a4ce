/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of mpix.h about CUDA support and about the start. */
#include "mpi/api.h"

#include "mpi/call.h"
#include "pmi/pmi.h"
#include "base/config.h"
#include "base/fail.h"

#include <string.h>

/** Returns 1 if MPI calls take CUDA device memory, and 0 if WEFT_DEVICE=no switches that off
 *  (mpix.h). May be called at any time, before MPI_Init and after MPI_Finalize too.
 *  @note Whether the machine has a GPU makes no difference. */
WEFT_API(MPIX_Query_cuda_support);
/* Reads the configuration, since it may be called before MPI_Init. */
int PMPIX_Query_cuda_support(void)
{
    weft_config_read();
    return strcmp(weft_config.DEVICE, "no") != 0;
}

/* Of what the program hands over before MPI starts. */
static int check_bootstrap(const MPIX_Bootstrap *bootstrap)
{
    if (weft_world.stage != WEFT_BEFORE_INIT)
        return weft_fail(MPI_ERR_OTHER, "called after MPI has been started; it says how to start");
    if (bootstrap == NULL)
        return MPI_SUCCESS;
    if (bootstrap->bytes < sizeof(*bootstrap))
        return weft_fail(MPI_ERR_ARG,
                         "bootstrap->bytes is %zu; expected is sizeof(MPIX_Bootstrap), %zu",
                         bootstrap->bytes, sizeof(*bootstrap));
    if (bootstrap->size < 1)
        return weft_fail(MPI_ERR_ARG, "bootstrap->size is %d; expected is 1 or more",
                         bootstrap->size);
    if (bootstrap->rank < 0 || bootstrap->rank >= bootstrap->size)
        return weft_fail(MPI_ERR_ARG, "bootstrap->rank is %d; expected is 0 to %d", bootstrap->rank,
                         bootstrap->size - 1);
    if (bootstrap->size > 1 && (bootstrap->put == NULL || bootstrap->get == NULL))
        return weft_fail(MPI_ERR_ARG, "bootstrap->%s is NULL; expected is a function",
                         bootstrap->put == NULL ? "put" : "get");
    return MPI_SUCCESS;
}

/** Hands over which rank this process is, and the callbacks by which the ranks of the job find each
 *  other, for a program that no launcher with PMIx has started (mpix.h describes them). MPI_Init,
 *  MPI_Init_thread or MPI_Session_init uses them afterwards, and asks no launcher. All ranks of the
 *  job call it, before MPI is started; what is called last counts. May be called before MPI_Init
 *  only.
 *  @param[in] bootstrap  copied, with the name of the host; NULL takes back what was handed over
 *  @error MPI_ERR_OTHER  MPI has been started already
 *  @error MPI_ERR_ARG  a member of bootstrap cannot be right: the text names it
 *  @see MPI_Init, MPI_Session_init */
WEFT_API(MPIX_Bootstrap_set);
int PMPIX_Bootstrap_set(const MPIX_Bootstrap *bootstrap)
{
    weft_call_t call = weft_call_begin_anytime("MPIX_Bootstrap_set");
    int err = check_bootstrap(bootstrap);
    if (err == MPI_SUCCESS)
        err = weft_pmi_take_bootstrap(bootstrap);
    return weft_call_end_anytime(&call, err);
}
