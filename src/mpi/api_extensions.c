/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of mpix.h about CUDA support, about the start and about what the job runs on. */
#include "mpi/api.h"

#include "mpi/call.h"
#include "mpi/check.h"
#include "mpi/start.h"
#include "report/report.h"
#include "pmi/pmi.h"
#include "base/config.h"
#include "base/fail.h"

#include <limits.h>
#include <stdio.h>
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

static int check_report(int form, int size, const char *text, const int *length)
{
    if (form != MPIX_REPORT_TEXT && form != MPIX_REPORT_JSON)
        return weft_fail(MPI_ERR_ARG,
                         "form is %d; expected is MPIX_REPORT_TEXT (%d) or MPIX_REPORT_JSON (%d)",
                         form, MPIX_REPORT_TEXT, MPIX_REPORT_JSON);
    if (size < 0)
        return weft_fail(MPI_ERR_ARG, "size is %d; expected is 0 or more", size);
    int err = size == 0 ? MPI_SUCCESS : weft_check_output(text, "text");
    return err == MPI_SUCCESS ? weft_check_output(length, "length") : err;
}

/* What rank 0 has written goes to the caller's buffer, as much of it as fits. */
static int write_report(weft_comm_t *comm, int form, int size, char *text, int *length)
{
    weft_rank_report_t own;
    weft_report_text_t report = {0};
    weft_describe_rank(&own);
    int err = weft_report_write(
        comm, &own, form == MPIX_REPORT_JSON ? WEFT_REPORT_JSON : WEFT_REPORT_TEXT, &report);
    if (err != MPI_SUCCESS)
        return err;
    if (size > 0)
        snprintf(text, (size_t)size, "%s", report.at);
    *length = report.bytes < INT_MAX ? (int)report.bytes : INT_MAX;
    weft_report_text_clear(&report);
    return MPI_SUCCESS;
}

/** Tells what the ranks of comm run on: hosts, cores, the ways between ranks, and what costs speed
 *  (mpix.h). It is what mpirun --report prints at the start. Collective; all ranks get the text.
 *  @param[in] comm  an intracommunicator
 *  @param[in] form  the same at all ranks: MPIX_REPORT_TEXT for people, or MPIX_REPORT_JSON
 *  @param[in] size  bytes of text, with the zero at its end; may be 0
 *  @param[out] text  as much of the report as fits, with a zero at its end
 *  @param[out] length  bytes of the whole report, without the zero
 *  @error MPI_ERR_ARG  form is something else, or size is negative
 *  @error MPI_ERR_COMM  comm is an intercommunicator
 *  @see MPI_T_pvar_get_index */
WEFT_API(MPIX_Comm_report);
int PMPIX_Comm_report(MPI_Comm handle, int form, int size, char *text, int *length)
{
    weft_call_t call = weft_call_begin("MPIX_Comm_report");
    weft_comm_t *comm;
    int err = weft_check_intracomm(&call, handle, "comm", &comm);
    if (err == MPI_SUCCESS)
        err = check_report(form, size, text, length);
    if (err == MPI_SUCCESS)
        err = write_report(comm, form, size, text, length);
    return weft_call_end(&call, err);
}
