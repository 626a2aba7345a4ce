/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/call_check.h"

#include "coll/tuning.h"
#include "pt2pt/pt2pt.h"
#include "runtime/failures.h"
#include "runtime/progress.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/list.h"
#include "base/pool.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool weft_checks_collectives;

/* Of the collective context: the last one of the persistent collectives (engine.c), who never come
 * to it. The messages of two ranks are received in their order, so all calls have the same. */
enum { CHECK_TAG = 0x3fffffff };

enum { CALL_TEXT = 160 };

/* What a rank says of its call. */
typedef struct call_record {
    int32_t coll, form, root, op, machine;
    uint32_t number; /* of the call, on this communicator */
    uint64_t bytes;
} call_record_t;

/* A check under way. */
typedef struct call_check {
    weft_link_t link;
    weft_comm_t *comm;       /* retained */
    weft_request_t *request; /* the record of the left neighbour */
    call_record_t own, left;
} call_check_t;

static weft_pool_t call_checks = WEFT_POOL(call_check_t);
static weft_list_t under_way = {&under_way, &under_way};
static bool are_over, is_ending;

void weft_call_check_open(void)
{
    weft_checks_collectives = (weft_config.CHECK & WEFT_CHECK_COLLECTIVES) != 0;
}

void weft_call_check_close(void)
{
    weft_pool_close(&call_checks);
}

/* ---- texts ---- */

static const char *const form_names[] = {
    [WEFT_CALL_BLOCKING] = "blocking",
    [WEFT_CALL_NONBLOCKING] = "nonblocking",
    [WEFT_CALL_PERSISTENT] = "persistent",
};

/* "I32" for MPI_INT and all types that are the same to the operation. */
static const char *const machine_names[] = {
#define WEFT_ENUMERATE(name, ...) [WEFT_MACHINE_##name] = #name,
    WEFT_MACHINES(WEFT_ENUMERATE)
#undef WEFT_ENUMERATE
};

static const char *name_of_op(int kind)
{
    for (int i = 0; i < WEFT_OP_HANDLES; i++) {
        if (weft_op_table[i] != NULL && weft_op_table[i]->kind == kind)
            return weft_op_table[i]->name;
    }
    return "an operation of the program's";
}

/* "a blocking reduce of 8 bytes, root 0, MPI_SUM on I32" */
static void describe_record(const call_record_t *record, char out[CALL_TEXT])
{
    int used = snprintf(out, CALL_TEXT, "a %s %s", form_names[record->form],
                        weft_coll_name((weft_coll_t)record->coll));
    if (record->bytes > 0)
        used +=
            snprintf(out + used, CALL_TEXT - (size_t)used, " of %" PRIu64 " bytes", record->bytes);
    if (record->root >= 0)
        used += snprintf(out + used, CALL_TEXT - (size_t)used, ", root %d", record->root);
    if (record->op >= 0)
        used += snprintf(out + used, CALL_TEXT - (size_t)used, ", %s", name_of_op(record->op));
    if (record->machine >= 0)
        snprintf(out + used, CALL_TEXT - (size_t)used, " on %s", machine_names[record->machine]);
}

static int left_of(const weft_comm_t *comm)
{
    return (comm->rank + comm->size - 1) % comm->size;
}

static void abort_job(const call_check_t *check, const char *own, const char *left)
{
    char text[2 * CALL_TEXT + 512];
    const weft_comm_t *comm = check->comm;
    snprintf(text, sizeof(text),
             "collectives disagree on %s: rank %d calls %s, but %s (call %" PRIu32
             " of the communicator)",
             comm->name[0] != '\0' ? comm->name : "a communicator", comm->rank, own, left,
             check->own.number);
    weft_world.abort(MPI_ERR_OTHER, text);
}

/* Another build may send anything, but all ranks of a job have the same. */
static void compare_records(const call_check_t *check)
{
    char own[CALL_TEXT], call[CALL_TEXT], left[CALL_TEXT + 64];
    if (memcmp(&check->own, &check->left, sizeof(check->own)) == 0)
        return;
    describe_record(&check->own, own);
    describe_record(&check->left, call);
    snprintf(left, sizeof(left), "rank %d calls %s", left_of(check->comm), call);
    abort_job(check, own, left);
}

/* At the end, of a call that did not need the neighbour. After a failure, which the program may
 * have handled, ranks need not have made the same calls. */
static void tell_missing(const call_check_t *check)
{
    char own[CALL_TEXT];
    const weft_request_t *request = check->request;
    if (request->status.MPI_ERROR != MPI_ERR_OTHER || request->why == NULL ||
        weft_failures.count > 0)
        return;
    describe_record(&check->own, own);
    abort_job(check, own, request->why);
}

/* ---- records ---- */

static bool has_one_root(weft_coll_t coll)
{
    return coll == WEFT_BCAST || coll == WEFT_GATHER || coll == WEFT_GATHERV ||
           coll == WEFT_SCATTER || coll == WEFT_SCATTERV || coll == WEFT_REDUCE;
}

static call_record_t record_of(weft_coll_t coll, const weft_coll_args_t *args,
                               weft_call_form_t form, size_t bytes)
{
    bool is_alike = args->inter == NULL; /* the groups of an intercommunicator differ */
    bool reduces = is_alike && args->op != NULL && coll >= WEFT_REDUCE && coll < WEFT_COLLS;
    call_record_t record;
    memset(&record, 0, sizeof(record)); /* it is compared as bytes */
    record.coll = (int32_t)coll;
    record.form = (int32_t)form;
    record.root = is_alike && has_one_root(coll) ? args->root : -1;
    record.op = reduces ? args->op->kind : -1;
    record.machine =
        reduces && args->recv_type->machine != WEFT_NO_MACHINE ? args->recv_type->machine : -1;
    record.number = args->comm->checked_calls++;
    record.bytes = bytes;
    return record;
}

/* ---- messages ---- */

static void forget_check(call_check_t *check)
{
    weft_list_remove(&check->link);
    are_over = weft_list_is_empty(&under_way);
    weft_comm_release(check->comm);
    weft_pool_give(&call_checks, check);
}

static void check_is_over(weft_request_t *request, void *owner)
{
    call_check_t *check = owner;
    if (request->status.MPI_ERROR == MPI_SUCCESS)
        compare_records(check);
    else if (is_ending)
        tell_missing(check);
    weft_request_release(request);
    forget_check(check);
}

static int tell_right(const call_check_t *check)
{
    weft_comm_t *comm = check->comm;
    weft_send_args_t args = {.buf = &check->own,
                             .count = sizeof(check->own),
                             .type = weft_type_of(MPI_BYTE),
                             .comm = comm,
                             .context = comm->context | 1,
                             .dest = (comm->rank + 1) % comm->size,
                             .tag = CHECK_TAG,
                             .where = WEFT_WHERE_HOST};
    return weft_send(&args);
}

static int hear_left(call_check_t *check)
{
    weft_comm_t *comm = check->comm;
    weft_recv_args_t args = {.buf = &check->left,
                             .count = sizeof(check->left),
                             .type = weft_type_of(MPI_BYTE),
                             .comm = comm,
                             .context = comm->context | 1,
                             .source = left_of(comm),
                             .tag = CHECK_TAG,
                             .where = WEFT_WHERE_HOST};
    return weft_recv_begin(&args, &check->request);
}

int weft_call_check(weft_coll_t coll, const weft_coll_args_t *args, weft_call_form_t form,
                    size_t bytes)
{
    call_check_t *check = weft_pool_take(&call_checks);
    if (check == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for the check of a collective");
    weft_comm_retain(args->comm);
    check->comm = args->comm;
    check->own = record_of(coll, args, form, bytes);
    weft_list_append(&under_way, &check->link);
    int err = hear_left(check);
    if (err != MPI_SUCCESS) {
        forget_check(check);
        return err;
    }
    err = tell_right(check);
    if (err == MPI_SUCCESS && form == WEFT_CALL_BLOCKING)
        weft_request_wait(check->request);
    weft_request_watch(check->request, check_is_over, check);
    return err;
}

void weft_call_checks_end(void)
{
    is_ending = true;
    are_over = weft_list_is_empty(&under_way);
    weft_progress_until(&are_over);
    is_ending = false;
}
