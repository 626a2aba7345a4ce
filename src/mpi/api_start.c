/* SPDX-License-Identifier: BSD-3-Clause */
/* Start-up, end and enquiries about the library (MPI 5.0 chapters 9, 11 and 20). */
#include "mpi/api.h"

#include "mpi/check.h"
#include "mpi/library_users.h"
#include "mpi/start.h"
#include "object/attribute.h"
#include "base/clock.h"
#include "base/fail.h"
#include "mpix.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_t main_thread;

static int start_mpi(const char *name, int required)
{
    if (weft_world.world_model != WEFT_BEFORE_INIT) {
        weft_fail(MPI_ERR_OTHER, weft_world.world_model == WEFT_RUNNING
                                     ? "MPI is running already"
                                     : "called after MPI_Finalize");
        return weft_error_raise(NULL, MPI_ERR_OTHER, name);
    }
    main_thread = pthread_self();
    int err = weft_library_enter_world(required);
    return err == MPI_SUCCESS ? err : weft_error_raise(NULL, err, name);
}

WEFT_API(MPI_Init);
int PMPI_Init(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return start_mpi("MPI_Init", MPI_THREAD_SINGLE);
}

WEFT_API(MPI_Init_thread);
int PMPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    (void)argc;
    (void)argv;
    static const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
                                 MPI_THREAD_MULTIPLE};
    int granted = MPI_THREAD_MULTIPLE;
    for (int i = 3; i >= 0; i--) {
        if (required <= levels[i])
            granted = levels[i];
    }
    int err = start_mpi("MPI_Init_thread", granted);
    if (err == MPI_SUCCESS && provided != NULL)
        *provided = granted;
    return err;
}

WEFT_API(MPI_Initialized);
int PMPI_Initialized(int *flag)
{
    *flag = weft_world.world_model != WEFT_BEFORE_INIT;
    return MPI_SUCCESS;
}

WEFT_API(MPI_Finalized);
int PMPI_Finalized(int *flag)
{
    *flag = weft_world.world_model == WEFT_AFTER_FINALIZE;
    return MPI_SUCCESS;
}

WEFT_API(MPI_Finalize);
int PMPI_Finalize(void)
{
    weft_call_t call = weft_call_begin("MPI_Finalize");
    if (weft_world.world_model != WEFT_RUNNING) /* a session is open */
        weft_call_outside(call.name);
    /* This comes first, as if MPI_COMM_SELF were freed (section 11.2.4): callbacks may use MPI. */
    weft_attributes_delete_all(weft_comm_attributes(&weft_comm_self));
    weft_attributes_delete_all(weft_comm_attributes(&weft_comm_world));
    weft_unlock();
    int unreceived = weft_library_end_world();
    if (unreceived != MPI_SUCCESS)
        unreceived = weft_error_raise(NULL, unreceived, call.name);
    int err = weft_library_leave_world();
    return err == MPI_SUCCESS ? unreceived : weft_error_raise(NULL, err, call.name);
}

WEFT_API(MPI_Abort);
int PMPI_Abort(MPI_Comm comm, int errorcode)
{
    (void)comm; /* all of the job is ended, which the standard allows */
    char text[96];
    snprintf(text, sizeof(text), "MPI_Abort was called with error code %d", errorcode);
    weft_abort_job(errorcode, text);
}

WEFT_API(MPI_Query_thread);
int PMPI_Query_thread(int *provided)
{
    weft_call_t call = weft_call_begin("MPI_Query_thread");
    int err = weft_check_output(provided, "provided");
    if (err == MPI_SUCCESS)
        *provided = weft_world.thread_level;
    return weft_call_end(&call, err);
}

WEFT_API(MPI_Is_thread_main);
int PMPI_Is_thread_main(int *flag)
{
    weft_call_t call = weft_call_begin("MPI_Is_thread_main");
    int err = weft_check_output(flag, "flag");
    if (err == MPI_SUCCESS)
        *flag = pthread_equal(main_thread, pthread_self());
    return weft_call_end(&call, err);
}

WEFT_API(MPI_Get_version);
int PMPI_Get_version(int *version, int *subversion)
{
    *version = MPI_VERSION;
    *subversion = MPI_SUBVERSION;
    return MPI_SUCCESS;
}

WEFT_API(MPI_Get_library_version);
int PMPI_Get_library_version(char *version, int *resultlen)
{
    *resultlen = snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING,
                          "Weft %d.%d.%d (MPI %d.%d, standard ABI %d.%d)", WEFT_VERSION_MAJOR,
                          WEFT_VERSION_MINOR, WEFT_VERSION_PATCH, MPI_VERSION, MPI_SUBVERSION,
                          MPI_ABI_VERSION, MPI_ABI_SUBVERSION);
    return MPI_SUCCESS;
}

WEFT_API(MPI_Abi_get_version);
int PMPI_Abi_get_version(int *abi_major, int *abi_minor)
{
    *abi_major = MPI_ABI_VERSION;
    *abi_minor = MPI_ABI_SUBVERSION;
    return MPI_SUCCESS;
}

WEFT_API(MPI_Get_processor_name);
int PMPI_Get_processor_name(char *name, int *resultlen)
{
    weft_call_t call = weft_call_begin("MPI_Get_processor_name");
    int err = weft_check_output(name, "name");
    if (err == MPI_SUCCESS)
        err = weft_check_output(resultlen, "resultlen");
    if (err == MPI_SUCCESS)
        *resultlen = snprintf(name, MPI_MAX_PROCESSOR_NAME, "%s", weft_world.host);
    return weft_call_end(&call, err);
}

WEFT_API(MPI_Wtime);
double PMPI_Wtime(void)
{
    return weft_clock_seconds();
}

WEFT_API(MPI_Wtick);
double PMPI_Wtick(void)
{
    return 1e-9;
}

WEFT_API(MPI_Pcontrol);
int PMPI_Pcontrol(const int level, ...)
{
    (void)level;
    return MPI_SUCCESS;
}
