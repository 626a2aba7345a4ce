/* SPDX-License-Identifier: BSD-3-Clause */
#include "object/errhandler.h"

#include "object/comm.h"
#include "object/error_code.h"
#include "object/returned_error.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/pool.h"

#include <stdio.h>
#include <string.h>

#define PREDEFINED(handle_value)                                                                   \
    {                                                                                              \
        .object = {.kind = WEFT_KIND_ERRHANDLER, .references = 1}, .predefined = handle_value      \
    }

weft_errhandler_t weft_errors_are_fatal = PREDEFINED(MPI_ERRORS_ARE_FATAL);
weft_errhandler_t weft_errors_abort = PREDEFINED(MPI_ERRORS_ABORT);
weft_errhandler_t weft_errors_return = PREDEFINED(MPI_ERRORS_RETURN);

static weft_pool_t handlers = WEFT_POOL(weft_errhandler_t);

weft_errhandler_t *weft_errhandler_of(MPI_Errhandler handle)
{
    if (handle == MPI_ERRORS_ARE_FATAL)
        return &weft_errors_are_fatal;
    if (handle == MPI_ERRORS_ABORT)
        return &weft_errors_abort;
    if (handle == MPI_ERRORS_RETURN)
        return &weft_errors_return;
    weft_errhandler_t *handler = (weft_errhandler_t *)handle;
    return weft_is_predefined(handle) || handler->object.kind != WEFT_KIND_ERRHANDLER ? NULL
                                                                                      : handler;
}

int weft_errhandler_initial(weft_errhandler_t **out)
{
    static const struct {
        const char *name;
        weft_errhandler_t *handler;
    } known[] = {{"mpi_errors_are_fatal", &weft_errors_are_fatal},
                 {"mpi_errors_abort", &weft_errors_abort},
                 {"mpi_errors_return", &weft_errors_return}};
    weft_config_read();
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(weft_config.INITIAL_ERRHANDLER, known[i].name) == 0) {
            *out = known[i].handler;
            return MPI_SUCCESS;
        }
    }
    return weft_fail(MPI_ERR_ARG,
                     "WEFT_INITIAL_ERRHANDLER is \"%s\"; expected is mpi_errors_are_fatal, "
                     "mpi_errors_abort or mpi_errors_return",
                     weft_config.INITIAL_ERRHANDLER);
}

MPI_Errhandler weft_errhandler_handle(weft_errhandler_t *handler)
{
    return handler->predefined != MPI_ERRHANDLER_NULL ? handler->predefined
                                                      : (MPI_Errhandler)handler;
}

static int create_handler(weft_kind_t made_for, weft_errhandler_t **out)
{
    weft_errhandler_t *handler = weft_pool_take(&handlers);
    if (handler == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for an error handler");
    weft_object_init(&handler->object, WEFT_KIND_ERRHANDLER);
    handler->predefined = MPI_ERRHANDLER_NULL;
    handler->made_for = made_for;
    *out = handler;
    return MPI_SUCCESS;
}

int weft_errhandler_create(MPI_Comm_errhandler_function *function, weft_errhandler_t **out)
{
    int err = create_handler(WEFT_KIND_COMM, out);
    if (err == MPI_SUCCESS)
        (*out)->function.comm = function;
    return err;
}

int weft_errhandler_create_for_session(MPI_Session_errhandler_function *function,
                                       weft_errhandler_t **out)
{
    int err = create_handler(WEFT_KIND_SESSION, out);
    if (err == MPI_SUCCESS)
        (*out)->function.session = function;
    return err;
}

static bool is_user_made(const weft_errhandler_t *handler)
{
    return handler->predefined == MPI_ERRHANDLER_NULL;
}

void weft_errhandler_retain(weft_errhandler_t *handler)
{
    if (is_user_made(handler))
        weft_object_retain(&handler->object);
}

void weft_errhandler_release(weft_errhandler_t *handler)
{
    if (!is_user_made(handler) || !weft_object_drop(&handler->object))
        return;
    handler->object.kind = WEFT_FREED;
    weft_pool_give(&handlers, handler);
}

bool weft_errhandlers_close(void)
{
    return weft_pool_close_unused(&handlers);
}

/* The class of our own codes, of which a shell would see the lowest byte; the user's are the
 * user's. */
static int exit_code(int error)
{
    return error > 0 && error <= MPI_ERR_LASTCODE ? weft_error_class(error) : error;
}

/* The handler may call MPI, and fail; MPI_Error_string tells of the error of its caller then. */
static void call_users(weft_errhandler_t *handler, const void *handle, int *error, const char *call)
{
    weft_returned_errors_t returned = *weft_returned_errors();
    MPI_Session session = (MPI_Session)handle;
    MPI_Comm comm = (MPI_Comm)handle;
    if (handler->made_for == WEFT_KIND_SESSION)
        handler->function.session(&session, error, call);
    else
        handler->function.comm(&comm, error, call);
    *weft_returned_errors() = returned;
}

int weft_errhandler_call(weft_errhandler_t *handler, const void *handle, int error,
                         const char *call)
{
    if (handler == &weft_errors_return)
        return error;
    if (is_user_made(handler)) {
        call_users(handler, handle, &error, call);
        return error;
    }
    char text[640];
    const char *cause = weft_fail_text();
    snprintf(text, sizeof(text), "%s: %s", call, cause[0] == '\0' ? "error" : cause);
    weft_world.abort(exit_code(error), text);
}

int weft_error_handle(weft_errhandler_t *handler, const void *handle, int error, const char *call)
{
    weft_returned_error_note(error, call);
    return weft_errhandler_call(handler, handle, error, call);
}

/* The handler before MPI_Init, in an MPI_Init that fails, and after MPI_Finalize. The text of the
 * error stays. */
static weft_errhandler_t *outside_of_mpi(void)
{
    weft_errhandler_t *handler = &weft_errors_are_fatal;
    char text[512];
    snprintf(text, sizeof(text), "%s", weft_fail_text());
    if (weft_errhandler_initial(&handler) != MPI_SUCCESS)
        weft_fail(MPI_ERR_OTHER, "%s", text);
    return handler;
}

/* An error that belongs to no communicator goes to MPI_COMM_SELF's handler (MPI 5.0 section 9.3).
 * Before version 4.0 it went to MPI_COMM_WORLD's, and older programs set only that one. */
static weft_comm_t *comm_for_all_else(void)
{
    bool is_world = weft_comm_world.has_own_errhandler && !weft_comm_self.has_own_errhandler;
    return is_world ? &weft_comm_world : &weft_comm_self;
}

int weft_error_raise(weft_comm_t *comm, int error, const char *call)
{
    comm = comm == NULL ? comm_for_all_else() : weft_comm_known(comm);
    if (comm->errhandler == NULL)
        comm = &weft_comm_self;
    weft_errhandler_t *handler = comm->errhandler != NULL ? comm->errhandler : outside_of_mpi();
    return weft_error_handle(handler, weft_comm_handle(comm), error, call);
}
