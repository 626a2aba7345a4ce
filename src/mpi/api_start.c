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

/* For calls that work at any time, and take no lock. */
static int check_output_anytime(const char *function, const void *output, const char *name)
{
    if (output != NULL)
        return MPI_SUCCESS;
    weft_call_t call = weft_call_begin_anytime(function);
    return weft_call_end_anytime(&call, weft_bad_output(name));
}

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

/** Starts MPI for programs in which one thread calls it; MPI_COMM_WORLD and MPI_COMM_SELF exist
 *  from then on (section 11.2.1). All processes of the job call it once, or MPI_Init_thread in its
 *  place.
 *  @error MPI_ERR_OTHER  MPI has been started before, or the start failed: the text says why
 *  @note A program that is started without mpirun, or another launcher with PMIx, is a job of one
 *      process, unless RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT or MPIX_Bootstrap_set say how
 *      to find the others.
 *  @note The thread level is MPI_THREAD_SINGLE, unless WEFT_THREAD_LEVEL raises it.
 *  @see MPI_Init_thread, MPI_Finalize, MPI_Session_init, MPIX_Bootstrap_set */
WEFT_API(MPI_Init);
int PMPI_Init(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return start_mpi("MPI_Init", MPI_THREAD_SINGLE);
}

/** Starts MPI as MPI_Init does, for a program with threads (section 11.2.1).
 *  @copydoc MPI_Init
 *  @param[in] required  MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED (only the thread that makes this
 *      call will call MPI), MPI_THREAD_SERIALIZED (one thread at a time), or MPI_THREAD_MULTIPLE
 *  @param[out] provided  the level that there is; may be NULL
 *  @note Weft provides what is asked for, or more with WEFT_THREAD_LEVEL. With MPI_THREAD_MULTIPLE
 *      each call takes a lock.
 *  @see MPI_Init, MPI_Query_thread */
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
        *provided = weft_world.thread_level;
    return err;
}

/** Tells whether MPI_Init or MPI_Init_thread was called (section 11.2.3). It stays true after
 *  MPI_Finalize, and sessions make no difference. May be called at any time, from any thread.
 *  @see MPI_Finalized */
WEFT_API(MPI_Initialized);
int PMPI_Initialized(int *flag)
{
    int err = check_output_anytime("MPI_Initialized", flag, "flag");
    if (err == MPI_SUCCESS)
        *flag = weft_world.world_model != WEFT_BEFORE_INIT;
    return err;
}

/** Tells whether MPI_Finalize was called (section 11.2.3). May be called at any time, from any
 *  thread.
 *  @see MPI_Initialized */
WEFT_API(MPI_Finalized);
int PMPI_Finalized(int *flag)
{
    int err = check_output_anytime("MPI_Finalized", flag, "flag");
    if (err == MPI_SUCCESS)
        *flag = weft_world.world_model == WEFT_AFTER_FINALIZE;
    return err;
}

/** Ends what MPI_Init has started (section 11.2.2). All processes of the job call it, when their
 *  requests are complete; afterwards only calls work that work at any time, and those with a
 *  session. First the delete callbacks of the attributes of MPI_COMM_SELF run, which may still use
 *  MPI; then the call waits until all that this process has sent is received, and for operations in
 *  streams.
 *  @error MPI_ERR_OTHER  a message that this process has sent will never be received, as its
 *      receiver has called MPI_Finalize too: the text names it
 *  @note A process that ends without this call ends the job with an error.
 *  @see MPI_Init, MPI_Abort, MPI_Session_finalize */
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

/** Ends all processes of the job, and does not return (section 11.4.2).
 *  @param[in] comm  not looked at: Weft ends the whole job, whatever it is
 *  @param[in] errorcode  becomes the exit code of mpirun; 1 in place of 0
 *  @note What the program has left in its stdio streams is written, within a second.
 *  @see MPI_Finalize, MPI_Comm_set_errhandler */
WEFT_API(MPI_Abort);
int PMPI_Abort(MPI_Comm comm, int errorcode)
{
    (void)comm; /* all of the job is ended, which the standard allows */
    char text[96];
    snprintf(text, sizeof(text), "MPI_Abort was called with error code %d", errorcode);
    weft_abort_job(errorcode, text);
}

/** Gives the thread level that MPI_Init_thread has provided (section 11.2).
 *  @param[out] provided  MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED or
 *      MPI_THREAD_MULTIPLE
 *  @see MPI_Init_thread, MPI_Is_thread_main */
WEFT_API(MPI_Query_thread);
int PMPI_Query_thread(int *provided)
{
    weft_call_t call = weft_call_begin("MPI_Query_thread");
    int err = weft_check_output(provided, "provided");
    if (err == MPI_SUCCESS)
        *provided = weft_world.thread_level;
    return weft_call_end(&call, err);
}

/** Tells whether the calling thread is the one that has called MPI_Init or MPI_Init_thread
 *  (section 11.2).
 *  @see MPI_Query_thread */
WEFT_API(MPI_Is_thread_main);
int PMPI_Is_thread_main(int *flag)
{
    weft_call_t call = weft_call_begin("MPI_Is_thread_main");
    int err = weft_check_output(flag, "flag");
    if (err == MPI_SUCCESS)
        *flag = pthread_equal(main_thread, pthread_self());
    return weft_call_end(&call, err);
}

/** Gives the version of the standard that the library implements, 5.0 (section 9.1.1). May be
 *  called at any time.
 *  @see MPI_Get_library_version, MPI_Abi_get_version */
WEFT_API(MPI_Get_version);
int PMPI_Get_version(int *version, int *subversion)
{
    int err = check_output_anytime("MPI_Get_version", version, "version");
    if (err == MPI_SUCCESS)
        err = check_output_anytime("MPI_Get_version", subversion, "subversion");
    if (err != MPI_SUCCESS)
        return err;
    *version = MPI_VERSION;
    *subversion = MPI_SUBVERSION;
    return MPI_SUCCESS;
}

/** Gives the name and the version of the library as a text (section 9.1.1). May be called at any
 *  time.
 *  @param[out] version  room for MPI_MAX_LIBRARY_VERSION_STRING letters
 *  @see MPI_Get_version */
WEFT_API(MPI_Get_library_version);
int PMPI_Get_library_version(char *version, int *resultlen)
{
    int err = check_output_anytime("MPI_Get_library_version", version, "version");
    if (err == MPI_SUCCESS)
        err = check_output_anytime("MPI_Get_library_version", resultlen, "resultlen");
    if (err != MPI_SUCCESS)
        return err;
    *resultlen = snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING,
                          "Weft %d.%d.%d (MPI %d.%d, standard ABI %d.%d)", WEFT_VERSION_MAJOR,
                          WEFT_VERSION_MINOR, WEFT_VERSION_PATCH, MPI_VERSION, MPI_SUBVERSION,
                          MPI_ABI_VERSION, MPI_ABI_SUBVERSION);
    return MPI_SUCCESS;
}

/** Gives the version of the standard ABI that the library implements (section 20.5). May be called
 *  at any time.
 *  @param[out] abi_major  the number before the point
 *  @param[out] abi_minor  the number behind the point
 *  @see MPI_Get_version, MPI_Abi_get_info */
WEFT_API(MPI_Abi_get_version);
int PMPI_Abi_get_version(int *abi_major, int *abi_minor)
{
    int err = check_output_anytime("MPI_Abi_get_version", abi_major, "abi_major");
    if (err == MPI_SUCCESS)
        err = check_output_anytime("MPI_Abi_get_version", abi_minor, "abi_minor");
    if (err != MPI_SUCCESS)
        return err;
    *abi_major = MPI_ABI_VERSION;
    *abi_minor = MPI_ABI_SUBVERSION;
    return MPI_SUCCESS;
}

/** Gives the name of the host (section 9.1.2).
 *  @param[out] name  room for MPI_MAX_PROCESSOR_NAME letters
 *  @see MPI_Comm_split_type, MPI_Get_hw_resource_info */
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

/** Returns the time in seconds since a moment in the past (section 9.6). May be called at any time.
 *  @note All processes of a host have the same clock, which never goes back; those of two hosts
 *      cannot be compared.
 *  @see MPI_Wtick */
WEFT_API(MPI_Wtime);
double PMPI_Wtime(void)
{
    return weft_clock_seconds();
}

/** Returns the resolution of MPI_Wtime in seconds, 1e-9 (section 9.6). May be called at any time.
 *  @see MPI_Wtime */
WEFT_API(MPI_Wtick);
double PMPI_Wtick(void)
{
    return 1e-9;
}

/** Is there for libraries that measure programs, which put their own function in its place; Weft
 *  does nothing (section 15.2).
 *  @param[in] level  means what the measuring library wants */
WEFT_API(MPI_Pcontrol);
int PMPI_Pcontrol(const int level, ...)
{
    (void)level;
    return MPI_SUCCESS;
}
