/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/library_users.h"

#include "mpi/leaks.h"
#include "mpi/start.h"
#include "object/comm.h"
#include "object/info_env.h"
#include "runtime/lock.h"
#include "runtime/world.h"
#include "base/config.h"
#include "base/fail.h"
#include "mpi.h"

#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

/* Held while a user comes or goes; before the library's lock. */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static int users;
static bool rests;        /* nobody uses it, but it can go on */
static bool has_sessions; /* or had some */
static pid_t process;     /* that has started it: a child after fork has the memory only */

static int add_user(int thread_level)
{
    int err = MPI_SUCCESS;
    if (users == 0 && rests)
        weft_resume();
    else if (users == 0)
        err = weft_start(thread_level);
    if (err != MPI_SUCCESS)
        return err;
    rests = false;
    process = getpid();
    if (users++ == 0) /* else threads of other users read it */
        weft_world_set_stage(WEFT_RUNNING);
    return MPI_SUCCESS;
}

/* Does the process keep its connections for its next session? With WEFT_REJOIN that one is to meet
 * other processes than before. */
static bool can_rest(void)
{
    return has_sessions && !weft_config.REJOIN;
}

/* The last user goes for good. */
static int remove_last_user(void)
{
    weft_world_set_stage(WEFT_AFTER_FINALIZE);
    users = 0;
    if (!can_rest())
        return weft_stop();
    rests = true;
    weft_rest();
    return MPI_SUCCESS;
}

/* For programs whose threads do more than what was asked for. */
static int raise_thread_level(int *level)
{
    int least;
    if (!weft_thread_level_read(weft_config.THREAD_LEVEL, &least))
        return weft_fail(MPI_ERR_ARG,
                         "WEFT_THREAD_LEVEL is \"%s\"; expected is MPI_THREAD_SINGLE, "
                         "MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE",
                         weft_config.THREAD_LEVEL);
    if (*level < least)
        *level = least;
    return MPI_SUCCESS;
}

int weft_library_enter_world(int thread_level)
{
    weft_errhandler_t *handler;
    int err = weft_errhandler_initial(&handler); /* before the others rely on this process */
    if (err == MPI_SUCCESS)
        err = raise_thread_level(&thread_level);
    if (err != MPI_SUCCESS)
        return err;
    pthread_mutex_lock(&gate);
    weft_world.begins_alone = false;
    err = add_user(thread_level);
    if (err == MPI_SUCCESS) {
        weft_world.thread_level = thread_level;
        weft_world.world_model = WEFT_RUNNING;
        weft_lock();
        err = weft_comm_lend_world();
        weft_unlock();
    }
    pthread_mutex_unlock(&gate);
    return err;
}

int weft_library_end_world(void)
{
    pthread_mutex_lock(&gate);
    weft_report_world_end();
    int err = users > 1 ? MPI_SUCCESS : weft_stop_sending(!can_rest());
    weft_lock();
    weft_leaks_list(users == 1 && !can_rest());
    weft_unlock();
    return err;
}

int weft_library_leave_world(void)
{
    weft_part_in_order(users == 1 && !can_rest());
    weft_world.world_model = WEFT_AFTER_FINALIZE;
    weft_lock();
    weft_comm_take_world();
    weft_unlock();
    int err = MPI_SUCCESS;
    if (users == 1)
        err = remove_last_user();
    else
        users--;
    pthread_mutex_unlock(&gate);
    return err;
}

/* Sessions may be used by several threads, whatever was asked for: each thread, its own. */
int weft_library_enter_session(void)
{
    pthread_mutex_lock(&gate);
    weft_world.begins_alone = users == 0;
    int err = add_user(MPI_THREAD_MULTIPLE);
    if (err == MPI_SUCCESS && !weft_world.has_many_callers)
        weft_world_set_threaded(true);
    if (err == MPI_SUCCESS)
        has_sessions = true;
    pthread_mutex_unlock(&gate);
    return err;
}

int weft_library_leave_session(void)
{
    int unreceived = MPI_SUCCESS, err = MPI_SUCCESS;
    pthread_mutex_lock(&gate);
    if (users == 1) {
        unreceived = weft_stop_sending(!can_rest());
        if (!can_rest())
            weft_part_in_order(true);
        err = remove_last_user();
    } else {
        users--;
    }
    pthread_mutex_unlock(&gate);
    return err == MPI_SUCCESS ? unreceived : err;
}

static void __attribute__((destructor)) end_process(void)
{
    if (rests && process == getpid())
        weft_end_rest();
}
