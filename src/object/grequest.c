/* SPDX-License-Identifier: BSD-3-Clause */
#include "object/grequest.h"

#include "object/error_code.h"
#include "runtime/lock.h"
#include "base/fail.h"
#include "base/pool.h"

typedef struct grequest {
    weft_request_t request; /* first */
    weft_grequest_args_t args;
} grequest_t;

static weft_pool_t grequests = WEFT_POOL(grequest_t);

static void grequest_release(weft_request_t *request)
{
    weft_pool_give(&grequests, request);
}

static const weft_request_ops_t grequest_ops = {.name = "generalised request",
                                                .release = grequest_release};

int weft_grequest_create(const weft_grequest_args_t *args, weft_request_t **out)
{
    grequest_t *grequest = weft_pool_take(&grequests);
    if (grequest == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a generalised request");
    weft_request_init(&grequest->request, &grequest_ops, NULL);
    grequest->request.is_generalised = true;
    grequest->args = *args;
    *out = &grequest->request;
    return MPI_SUCCESS;
}

static const weft_grequest_args_t *args_of(const weft_request_t *request)
{
    return &((const grequest_t *)request)->args;
}

/* What a function of the program has returned: an error class or code of its choice. */
static int program_error(int error, const char *function)
{
    const char *text = weft_error_text(error);
    return error == MPI_SUCCESS
               ? MPI_SUCCESS
               : weft_fail(error, "the %s of a generalised request returned %d (%s)", function,
                           error, text == NULL ? "unknown" : text);
}

int weft_grequest_query(const weft_request_t *request, MPI_Status *status)
{
    weft_grequest_args_t args = *args_of(request);
    MPI_Status ignored = weft_status_empty(), empty = ignored;
    weft_status_copy(status, &empty); /* so that what the program leaves out is defined */
    weft_unlock();
    int error = args.query(args.extra_state, status == MPI_STATUS_IGNORE ? &ignored : status);
    weft_lock();
    return program_error(error, "query_fn");
}

int weft_grequest_free(weft_request_t *request)
{
    weft_grequest_args_t args = *args_of(request);
    weft_unlock();
    int error = args.free(args.extra_state);
    weft_lock();
    weft_request_release(request);
    return program_error(error, "free_fn");
}

int weft_grequest_collect(weft_request_t *request, MPI_Status *status)
{
    int error = weft_grequest_query(request, status);
    int later = weft_grequest_free(request);
    if (later != MPI_SUCCESS)
        return later;
    return program_error(error, "query_fn"); /* again, as other calls may have changed the text */
}

int weft_grequest_cancel(const weft_request_t *request)
{
    weft_grequest_args_t args = *args_of(request);
    bool is_complete = request->is_complete;
    weft_unlock();
    int error = args.cancel(args.extra_state, is_complete);
    weft_lock();
    return program_error(error, "cancel_fn");
}

int weft_grequest_complete(weft_request_t *request)
{
    if (request->is_detached) {
        request->is_complete = true;
        return weft_grequest_free(request);
    }
    weft_request_complete(request);
    return MPI_SUCCESS;
}

void weft_grequests_close(void)
{
    weft_pool_close(&grequests);
}
