/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the ranks of a communicator find each other. They know a unique id alone, and their numbers
 * in the communicator; the id names a rank of the job, its server, which need not be a member.
 *
 *   member                                     server (any process; it only has to be in MPI)
 *     join: id, size, number    ------------->   notes who has which number; when all are there:
 *     ranks in the job          <-------------   answers all, or says what does not fit
 *
 * The server has a receive from any rank under way, and does the rest when that completes, in
 * whatever MPI call makes progress. The messages are those of weft_comm_job's own context, which
 * nothing else uses.
 */
#include "nccl/nccl_private.h"

#include "pt2pt/pt2pt.h"
#include "runtime/process.h"
#include "runtime/world.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/random.h"
#include "mpi.h"

#include <string.h>

enum { JOIN_TAG = 1, FIRST_ANSWER_TAG = 2, ANSWER_TAGS = 1 << 20 };

static const char magic[8] = "weft-id";

/* ---- ids ---- */

/* Before MPI runs a process does not know its rank; rank 0 is always there. */
int wefti_nccl_id_make(ncclUniqueId *out)
{
    nccl_id_t id = {.server = weft_world.stage == WEFT_RUNNING ? weft_world.rank : 0};
    memcpy(id.magic, magic, sizeof(magic));
    int err = weft_random(id.number, sizeof(id.number));
    if (err != MPI_SUCCESS)
        return err;
    memset(out, 0, sizeof(*out));
    memcpy(out->internal, &id, sizeof(id));
    return MPI_SUCCESS;
}

int wefti_nccl_id_read(const ncclUniqueId *id, nccl_id_t *out)
{
    memcpy(out, id->internal, sizeof(*out));
    if (memcmp(out->magic, magic, sizeof(magic)) != 0)
        return weft_fail(MPI_ERR_ARG, "commId is not an id that ncclGetUniqueId of Weft has made");
    return MPI_SUCCESS;
}

/* ---- what is sent ---- */

typedef struct join {
    uint64_t number[2];
    int32_t nranks, rank, answer_tag, unused;
} join_t;

typedef enum trouble {
    NO_TROUBLE,
    OTHER_SIZE,   /* the first has said `one`, another one `two` */
    SAME_RANK,    /* rank `one` of the communicator is both `two` and `three` of the job */
    SAME_PROCESS, /* rank `one` of the job is both `two` and `three` of the communicator */
} trouble_t;

/* The ranks in the job follow it if there is no trouble. */
typedef struct answer {
    int32_t trouble, one, two, three;
} nccl_answer_t;

/* ---- the server ---- */

/* Members that have come. */
typedef struct gathering {
    weft_link_t link;
    uint64_t number[2];
    int nranks, arrived;
    nccl_answer_t verdict; /* with trouble it stays, for those that come later */
    int32_t *places;       /* [nranks] ranks in the job; -1: has not come */
    int32_t *tags;         /* [nranks] of the answers */
} gathering_t;

static weft_list_t gatherings = {&gatherings, &gatherings};
static join_t heard;
static bool is_serving, is_listening, is_in_loop;

static void release_gathering(gathering_t *gathering)
{
    weft_list_remove(&gathering->link);
    weft_free(gathering->places);
    weft_free(gathering->tags);
    weft_free(gathering);
}

static void nccl_answer_sent(weft_request_t *request, void *owner)
{
    weft_request_release(request);
    weft_free(owner);
}

/* Without memory the member waits for ever, as it does if this process ends. */
static void send_answer(const gathering_t *gathering, int to, int tag)
{
    size_t ranks = gathering->verdict.trouble == NO_TROUBLE ? (size_t)gathering->nranks : 0;
    size_t bytes = sizeof(nccl_answer_t) + ranks * sizeof(int32_t);
    char *text = weft_alloc(bytes);
    weft_request_t *request;
    if (text == NULL)
        return;
    memcpy(text, &gathering->verdict, sizeof(nccl_answer_t));
    if (ranks > 0)
        memcpy(text + sizeof(nccl_answer_t), gathering->places, ranks * sizeof(int32_t));
    weft_send_args_t args = {.buf = text,
                             .count = bytes,
                             .type = weft_type_of(MPI_BYTE),
                             .comm = &weft_comm_job,
                             .context = weft_comm_job.context,
                             .dest = to,
                             .tag = tag,
                             .where = WEFT_WHERE_HOST};
    if (weft_send_begin(&args, &request) == MPI_SUCCESS)
        weft_request_watch(request, nccl_answer_sent, text);
    else
        weft_free(text);
}

static void answer_all(const gathering_t *gathering)
{
    for (int i = 0; i < gathering->nranks; i++) {
        if (gathering->places[i] >= 0)
            send_answer(gathering, gathering->places[i], gathering->tags[i]);
    }
}

static gathering_t *find_gathering(const uint64_t number[2])
{
    for (weft_link_t *link = gatherings.next; link != &gatherings; link = link->next) {
        gathering_t *gathering = WEFT_ELEMENT(link, gathering_t, link);
        if (memcmp(gathering->number, number, sizeof(gathering->number)) == 0)
            return gathering;
    }
    return NULL;
}

static gathering_t *begin_gathering(const join_t *join)
{
    gathering_t *gathering = weft_alloc_zeroed(1, sizeof(*gathering));
    if (gathering == NULL)
        return NULL;
    weft_list_append(&gatherings, &gathering->link);
    memcpy(gathering->number, join->number, sizeof(gathering->number));
    gathering->nranks = join->nranks;
    gathering->places = weft_alloc_array((size_t)join->nranks, sizeof(int32_t));
    gathering->tags = weft_alloc_array((size_t)join->nranks, sizeof(int32_t));
    if (gathering->places == NULL || gathering->tags == NULL) {
        release_gathering(gathering);
        return NULL;
    }
    memset(gathering->places, -1, (size_t)join->nranks * sizeof(int32_t));
    return gathering;
}

/* Does it fit to what the others have said? */
static nccl_answer_t judge(const gathering_t *gathering, const join_t *join, int from)
{
    if (join->nranks != gathering->nranks)
        return (nccl_answer_t){OTHER_SIZE, gathering->nranks, join->nranks, 0};
    if (gathering->places[join->rank] >= 0)
        return (nccl_answer_t){SAME_RANK, join->rank, gathering->places[join->rank], from};
    for (int i = 0; i < gathering->nranks; i++) {
        if (gathering->places[i] == from)
            return (nccl_answer_t){SAME_PROCESS, from, i, join->rank};
    }
    return (nccl_answer_t){.trouble = NO_TROUBLE};
}

static void take_join(const join_t *join, int from)
{
    gathering_t *gathering = find_gathering(join->number);
    if (gathering == NULL)
        gathering = begin_gathering(join);
    if (gathering == NULL)
        return;
    bool is_spoilt = gathering->verdict.trouble != NO_TROUBLE;
    if (!is_spoilt)
        gathering->verdict = judge(gathering, join, from);
    if (gathering->verdict.trouble != NO_TROUBLE) {
        if (!is_spoilt)
            answer_all(gathering);
        send_answer(gathering, from, join->answer_tag);
        return;
    }
    gathering->places[join->rank] = from;
    gathering->tags[join->rank] = join->answer_tag;
    if (++gathering->arrived < gathering->nranks)
        return;
    answer_all(gathering);
    release_gathering(gathering);
}

static void listen_on(void);

/* After an error (ranks have failed) the next call that makes a communicator listens again. */
static void nccl_join_heard(weft_request_t *request, void *unused)
{
    int from = request->status.MPI_SOURCE, err = weft_request_result(request);
    join_t join = heard;
    (void)unused;
    weft_request_release(request);
    is_listening = false;
    is_serving = is_serving && err == MPI_SUCCESS;
    if (err == MPI_SUCCESS)
        take_join(&join, from);
    listen_on();
}

/* A receive may be complete at once: then this goes round. */
static void listen_on(void)
{
    if (is_in_loop)
        return;
    is_in_loop = true;
    while (is_serving && !is_listening) {
        weft_request_t *request;
        weft_recv_args_t args = {.buf = &heard,
                                 .count = sizeof(heard),
                                 .type = weft_type_of(MPI_BYTE),
                                 .comm = &weft_comm_job,
                                 .context = weft_comm_job.context,
                                 .source = MPI_ANY_SOURCE,
                                 .tag = JOIN_TAG,
                                 .where = WEFT_WHERE_HOST};
        if (weft_recv_begin(&args, &request) != MPI_SUCCESS) {
            is_serving = false;
            break;
        }
        is_listening = true;
        weft_request_watch(request, nccl_join_heard, NULL);
    }
    is_in_loop = false;
}

int wefti_nccl_serve(void)
{
    int err = wefti_nccl_open();
    is_serving = err == MPI_SUCCESS;
    listen_on();
    return err;
}

void wefti_nccl_serve_no_more(void)
{
    while (!weft_list_is_empty(&gatherings))
        release_gathering(WEFT_ELEMENT(gatherings.next, gathering_t, link));
    is_serving = is_listening = false;
}

/* ---- a member ---- */

static int fail_by(const nccl_answer_t *answer)
{
    switch (answer->trouble) {
    case OTHER_SIZE:
        return weft_fail(MPI_ERR_ARG,
                         "nranks is %d at one rank and %d at another one with the same commId, but "
                         "must be the same",
                         answer->one, answer->two);
    case SAME_RANK:
        return weft_fail(MPI_ERR_ARG,
                         "rank is %d at rank %d of the job and at rank %d of the job, with the "
                         "same commId, but each must have a rank of its own",
                         answer->one, answer->two, answer->three);
    default:
        return weft_fail(MPI_ERR_ARG,
                         "rank %d of the job has called with rank %d and with rank %d and the same "
                         "commId, but a process can be one rank of a communicator: start a "
                         "process for each device",
                         answer->one, answer->two, answer->three);
    }
}

static int ask(const nccl_id_t *id, const join_t *join, void *answer, size_t bytes)
{
    weft_request_t *request;
    weft_recv_args_t recv = {.buf = answer,
                             .count = bytes,
                             .type = weft_type_of(MPI_BYTE),
                             .comm = &weft_comm_job,
                             .context = weft_comm_job.context,
                             .source = id->server,
                             .tag = join->answer_tag,
                             .where = WEFT_WHERE_HOST};
    weft_send_args_t send = {.buf = join,
                             .count = sizeof(*join),
                             .type = recv.type,
                             .comm = recv.comm,
                             .context = recv.context,
                             .dest = id->server,
                             .tag = JOIN_TAG,
                             .where = WEFT_WHERE_HOST};
    int err = weft_send(&send);
    if (err == MPI_SUCCESS)
        err = weft_recv_begin(&recv, &request);
    return err == MPI_SUCCESS ? weft_request_finish(request, MPI_STATUS_IGNORE) : err;
}

int wefti_nccl_meet(const nccl_id_t *id, int nranks, int rank, int **ranks_out)
{
    static int calls;
    size_t bytes = sizeof(nccl_answer_t) + (size_t)nranks * sizeof(int32_t);
    join_t join = {.number = {id->number[0], id->number[1]},
                   .nranks = nranks,
                   .rank = rank,
                   .answer_tag = FIRST_ANSWER_TAG + calls++ % ANSWER_TAGS};
    if (id->server < 0 || id->server >= weft_world.size)
        return weft_fail(MPI_ERR_ARG,
                         "commId is one of rank %d of a job, but this job has %d ranks", id->server,
                         weft_world.size);
    nccl_answer_t *answer = weft_alloc(bytes);
    if (answer == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for the numbers of %d ranks", nranks);
    int err = wefti_nccl_serve();
    if (err == MPI_SUCCESS)
        err = ask(id, &join, answer, bytes);
    if (err == MPI_SUCCESS && answer->trouble != NO_TROUBLE)
        err = fail_by(answer);
    if (err != MPI_SUCCESS) {
        weft_free(answer);
        return err;
    }
    int *ranks = (int *)(void *)answer;
    memmove(ranks, answer + 1, (size_t)nranks * sizeof(*ranks));
    *ranks_out = ranks;
    return MPI_SUCCESS;
}
