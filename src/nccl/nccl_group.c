/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups of calls: each thread has its own. */
#include "nccl/nccl_private.h"

#include "base/fail.h"
#include "base/memory.h"
#include "mpi.h"

typedef struct nccl_group {
    int depth;           /* 0: no group */
    ncclResult_t spoilt; /* the first error of its calls */
    weft_list_t *calls;  /* NULL: none; nccl_call_t */
    nccl_init_t *inits;
} nccl_group_t;

static _Thread_local nccl_group_t group;

bool wefti_nccl_in_group(void)
{
    return group.depth > 0;
}

void wefti_nccl_spoil_group(ncclResult_t result)
{
    if (group.depth > 0 && group.spoilt == ncclSuccess)
        group.spoilt = result;
}

/* ---- collecting ---- */

static weft_list_t *calls_of_group(void)
{
    if (group.calls != NULL)
        return group.calls;
    group.calls = weft_alloc(sizeof(*group.calls));
    if (group.calls != NULL)
        weft_list_init(group.calls);
    return group.calls;
}

static int collect(const nccl_call_t *call)
{
    weft_list_t *calls = calls_of_group();
    nccl_call_t *kept = calls == NULL ? NULL : weft_alloc(sizeof(*kept));
    if (kept == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a call in a group");
    *kept = *call;
    weft_list_append(calls, &kept->link);
    return MPI_SUCCESS;
}

int wefti_nccl_enter(const nccl_call_t *call)
{
    weft_list_t alone;
    nccl_call_t copy = *call;
    if (group.depth > 0)
        return collect(call);
    weft_list_init(&alone);
    weft_list_append(&alone, &copy.link);
    return wefti_nccl_run(&alone);
}

static int check_other_id(const nccl_init_t *init, const nccl_init_t *other)
{
    if (other->id.number[0] != init->id.number[0] || other->id.number[1] != init->id.number[1])
        return MPI_SUCCESS;
    return weft_fail(MPI_ERR_UNSUPPORTED_OPERATION,
                     "rank is %d, but the group has rank %d with the same commId already, and a "
                     "process can be one rank of a communicator: start a process for each device",
                     init->rank, other->rank);
}

int wefti_nccl_enter_init(const nccl_init_t *init)
{
    for (const nccl_init_t *other = group.inits; other != NULL; other = other->next) {
        int err = check_other_id(init, other);
        if (err != MPI_SUCCESS)
            return err;
    }
    nccl_init_t *kept = weft_alloc(sizeof(*kept));
    if (kept == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a call in a group");
    *kept = *init;
    kept->next = NULL;
    nccl_init_t **end = &group.inits;
    while (*end != NULL)
        end = &(*end)->next;
    *end = kept;
    return MPI_SUCCESS;
}

/* ---- begin and end ---- */

ncclResult_t weft_nccl_group_start(void)
{
    group.depth++;
    return ncclSuccess;
}

static void drop_calls(weft_list_t *calls)
{
    for (weft_link_t *link; calls != NULL && (link = weft_list_pop(calls)) != NULL;)
        weft_free(WEFT_ELEMENT(link, nccl_call_t, link));
    weft_free(calls);
}

/* Communicators are made in the order of the calls. After an error the rest is dropped. */
static ncclResult_t make_comms(nccl_init_t *init, ncclResult_t result)
{
    for (nccl_init_t *next; init != NULL; init = next) {
        next = init->next;
        if (result == ncclSuccess)
            result = wefti_nccl_result(init->name, wefti_nccl_init(init));
        weft_free(init);
    }
    return result;
}

static ncclResult_t run_calls(weft_list_t *calls)
{
    int begun = wefti_nccl_begin();
    int err = begun == MPI_SUCCESS ? wefti_nccl_run(calls) : begun;
    return wefti_nccl_end("ncclGroupEnd", begun, err);
}

ncclResult_t weft_nccl_group_end(void)
{
    if (group.depth == 0) {
        weft_fail(MPI_ERR_UNSUPPORTED_OPERATION, "there is no group: expected is a call of "
                                                 "ncclGroupStart before");
        return wefti_nccl_result("ncclGroupEnd", MPI_ERR_UNSUPPORTED_OPERATION);
    }
    if (--group.depth > 0)
        return group.spoilt;
    nccl_group_t whole = group;
    group = (nccl_group_t){.depth = 0};
    ncclResult_t result = make_comms(whole.inits, whole.spoilt);
    if (result == ncclSuccess && whole.calls != NULL)
        result = run_calls(whole.calls);
    drop_calls(whole.calls);
    return result;
}
