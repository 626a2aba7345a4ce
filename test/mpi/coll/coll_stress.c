/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random collectives: coll_stress [seed [rounds [threads]]].
 *
 * The seed gives all ranks the same sequence of collectives on several communicators (among them
 * duplicates that the program makes), blocking and not. Each rank completes the nonblocking ones in
 * another order, amid messages received with MPI_ANY_SOURCE on the same communicators. Reductions
 * use a user's operation that does not commute.
 */
#include "coll/elements.h"

#include <pthread.h>

enum { TASKS_MAX = 24, ROUNDS = 60, THREADS_MAX = 8, LANES = 4, MOST_RANKS = 64 };

typedef struct dice {
    uint64_t state;
} dice_t;

static unsigned roll(dice_t *dice, unsigned limit)
{
    uint64_t z = dice->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (unsigned)((z ^ z >> 31) % limit);
}

/* ---- the operation: x -> a x + b, applied one after the other ---- */

static MPI_Op chain_op;

static element_t chain(element_t first, element_t second)
{
    return (element_t){first.a * second.a, second.a * first.b + second.b};
}

static void chain_all(void *in, void *inout, int *count, MPI_Datatype *type)
{
    const kind_t *kind = &kinds[0];
    while (kind->type != *type)
        kind++;
    for (int i = 0; i < *count; i++) {
        char *to = (char *)inout + i * kind->extent;
        store(to, kind, chain(load((char *)in + i * kind->extent, kind), load(to, kind)));
    }
}

/* Element `at` of block `block`, combined over ranks [0, last]. */
static element_t chained(int last, int block, size_t at)
{
    element_t result = content(0, block, at);
    for (int i = 1; i <= last; i++)
        result = chain(result, content(i, block, at));
    return result;
}

/* ---- tasks ---- */

typedef struct task {
    MPI_Comm comm;
    int rank, size, root, salt;
    size_t count;
    bool is_blocking;
    const kind_t *in_kind, *out_kind;
    area_t in, out;
    int counts[MOST_RANKS], displs[MOST_RANKS];
    MPI_Request request;
} task_t;

/* The number of elements from `from` to `to` in the collectives with arrays. */
static size_t between(const task_t *task, int from, int to)
{
    return task->count == 0 ? 0
                            : (task->count + 5 * (size_t)from + 3 * (size_t)to) % (task->count + 1);
}

#define BEGIN(task, name, lower, ...)                                                              \
    ((task)->is_blocking ? MPI_##name(__VA_ARGS__, (task)->comm)                                   \
                         : MPI_I##lower(__VA_ARGS__, (task)->comm, &(task)->request))

static void make_areas(task_t *task, size_t in, size_t out)
{
    task->in = area_make(task->in_kind, in);
    task->out = area_make(task->out_kind, out);
}

static int begin_barrier(task_t *t)
{
    make_areas(t, 0, 0);
    return t->is_blocking ? MPI_Barrier(t->comm) : MPI_Ibarrier(t->comm, &t->request);
}

static int begin_bcast(task_t *t)
{
    make_areas(t, t->count, 0);
    if (t->rank == t->root)
        area_fill(&t->in, 0, t->count, t->root, t->salt);
    else
        area_expect(&t->in, 0, t->count, t->root, t->salt);
    return BEGIN(t, Bcast, bcast, t->in.at, (int)t->count, t->in_kind->type, t->root);
}

static int begin_gather(task_t *t)
{
    make_areas(t, t->count, t->count * (size_t)t->size);
    area_fill(&t->in, 0, t->count, t->rank, t->salt);
    for (int i = 0; t->rank == t->root && i < t->size; i++)
        area_expect(&t->out, (MPI_Aint)t->count * i, t->count, i, t->salt);
    return BEGIN(t, Gather, gather, t->in.at, (int)t->count, t->in_kind->type, t->out.at,
                 (int)t->count, t->out_kind->type, t->root);
}

static int begin_scatterv(task_t *t)
{
    int total = 0;
    for (int i = 0; i < t->size; i++) {
        t->counts[i] = (int)between(t, i, i);
        t->displs[i] = total;
        total += t->counts[i];
    }
    make_areas(t, (size_t)total, between(t, t->rank, t->rank));
    for (int i = 0; t->rank == t->root && i < t->size; i++)
        area_fill(&t->in, t->displs[i], (size_t)t->counts[i], i, t->salt);
    area_expect(&t->out, 0, between(t, t->rank, t->rank), t->rank, t->salt);
    return BEGIN(t, Scatterv, scatterv, t->in.at, t->counts, t->displs, t->in_kind->type, t->out.at,
                 t->counts[t->rank], t->out_kind->type, t->root);
}

static int begin_allgather(task_t *t)
{
    make_areas(t, t->count, t->count * (size_t)t->size);
    area_fill(&t->in, 0, t->count, t->rank, t->salt);
    for (int i = 0; i < t->size; i++)
        area_expect(&t->out, (MPI_Aint)t->count * i, t->count, i, t->salt);
    return BEGIN(t, Allgather, allgather, t->in.at, (int)t->count, t->in_kind->type, t->out.at,
                 (int)t->count, t->out_kind->type);
}

static int begin_alltoallv(task_t *t)
{
    int *out_counts = t->counts + MOST_RANKS / 2, *out_displs = t->displs + MOST_RANKS / 2;
    int sent = 0, got = 0;
    for (int i = 0; i < t->size; i++) {
        t->counts[i] = (int)between(t, t->rank, i);
        t->displs[i] = sent;
        sent += t->counts[i];
        out_counts[i] = (int)between(t, i, t->rank);
        out_displs[i] = got;
        got += out_counts[i];
    }
    make_areas(t, (size_t)sent, (size_t)got);
    for (int i = 0; i < t->size; i++) {
        area_fill(&t->in, t->displs[i], (size_t)t->counts[i], t->rank, t->salt + i);
        area_expect(&t->out, out_displs[i], (size_t)out_counts[i], i, t->salt + t->rank);
    }
    return BEGIN(t, Alltoallv, alltoallv, t->in.at, t->counts, t->displs, t->in_kind->type,
                 t->out.at, out_counts, out_displs, t->out_kind->type);
}

/* The buffers of a reduction: `out` must get the combined operands of ranks up to `last`; -1:
 * nothing. */
static void make_operands(task_t *t, int last)
{
    t->out_kind = t->in_kind;
    make_areas(t, t->count, t->count);
    area_fill(&t->in, 0, t->count, t->rank, t->salt);
    for (size_t i = 0; last >= 0 && i < t->count; i++)
        area_expect_element(&t->out, i, chained(last, t->salt, i));
}

static int begin_reduce(task_t *t)
{
    make_operands(t, t->rank == t->root ? t->size - 1 : -1);
    return BEGIN(t, Reduce, reduce, t->in.at, t->out.at, (int)t->count, t->in_kind->type, chain_op,
                 t->root);
}

static int begin_allreduce(task_t *t)
{
    make_operands(t, t->size - 1);
    return BEGIN(t, Allreduce, allreduce, t->in.at, t->out.at, (int)t->count, t->in_kind->type,
                 chain_op);
}

static int begin_scan(task_t *t)
{
    make_operands(t, t->rank);
    return BEGIN(t, Scan, scan, t->in.at, t->out.at, (int)t->count, t->in_kind->type, chain_op);
}

static int begin_exscan(task_t *t)
{
    make_operands(t, t->rank - 1);
    return BEGIN(t, Exscan, exscan, t->in.at, t->out.at, (int)t->count, t->in_kind->type, chain_op);
}

static int (*const begin_ways[])(task_t *) = {
    begin_barrier,   begin_bcast,  begin_gather,    begin_scatterv, begin_allgather,
    begin_alltoallv, begin_reduce, begin_allreduce, begin_scan,     begin_exscan,
};
enum { WAYS = sizeof(begin_ways) / sizeof(begin_ways[0]) };

/* ---- a thread ---- */

typedef struct player {
    int seed, rounds, thread;
    dice_t shared, own; /* shared: what is done; own: the order in which this rank completes it */
    MPI_Comm comms[LANES];
    task_t tasks[TASKS_MAX];
} player_t;

static size_t roll_count(dice_t *dice)
{
    static const unsigned limits[] = {2, 8, 8, 70, 700, 5000};
    return roll(dice, limits[roll(dice, sizeof(limits) / sizeof(limits[0]))]);
}

static void begin_task(player_t *player, task_t *task)
{
    dice_t *dice = &player->shared;
    *task = (task_t){.comm = player->comms[roll(dice, LANES)], .request = MPI_REQUEST_NULL};
    MPI_Comm_rank(task->comm, &task->rank);
    MPI_Comm_size(task->comm, &task->size);
    task->root = (int)roll(dice, 1000) % task->size;
    task->count = roll_count(dice);
    task->salt = (int)roll(dice, 100000);
    task->is_blocking = roll(dice, 3) == 0;
    task->in_kind = task->out_kind = &kinds[roll(dice, KINDS)];
    unsigned way = roll(dice, WAYS);
    EXPECT(begin_ways[way](task), MPI_SUCCESS);
}

/* Sends a message to the right, and receives one with MPI_ANY_SOURCE. */
static void exchange(player_t *player, MPI_Comm comm, int number)
{
    int rank, size, got = -1, is_over = 0;
    MPI_Status status;
    MPI_Request requests[2];
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, number, comm, &requests[0]);
    int value = rank * 1000 + number;
    MPI_Issend(&value, 1, MPI_INT, (rank + 1) % size, number, comm, &requests[1]);
    while (roll(&player->own, 2) == 0 && !is_over)
        MPI_Test(&requests[0], &is_over, &status);
    if (!is_over)
        MPI_Wait(&requests[0], &status);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    EXPECT(status.MPI_SOURCE, (rank - 1 + size) % size);
    EXPECT(got, status.MPI_SOURCE * 1000 + number);
}

/* Completes the tasks in another order on each rank. */
static void end_tasks(player_t *player, int count)
{
    MPI_Request requests[TASKS_MAX];
    int at = 0, indices[TASKS_MAX], left = 0;
    for (int i = 0; i < count; i++)
        requests[i] = player->tasks[i].request;
    for (int i = 0; i < 4; i++)
        MPI_Wait(&requests[roll(&player->own, (unsigned)count)], MPI_STATUS_IGNORE);
    if (roll(&player->own, 2) == 0)
        while (at != MPI_UNDEFINED)
            MPI_Waitany(count, requests, &at, MPI_STATUS_IGNORE);
    while (left != MPI_UNDEFINED)
        MPI_Testsome(count, requests, &left, indices, MPI_STATUSES_IGNORE);
    for (int i = 0; i < count; i++) {
        area_end(&player->tasks[i].in, "sendbuf");
        area_end(&player->tasks[i].out, "recvbuf");
    }
}

/* Replaces the last communicator by a duplicate of another one, while collectives on both are under
 * way. */
static void renew_comm(player_t *player)
{
    MPI_Comm copy;
    MPI_Request request;
    int from = (int)roll(&player->shared, LANES);
    MPI_Comm_idup(player->comms[from], &copy, &request);
    exchange(player, player->comms[from], 99);
    MPI_Comm_free(&player->comms[LANES - 1]);
    if (from == LANES - 1)
        player->comms[from] = MPI_COMM_NULL;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    player->comms[LANES - 1] = copy;
}

static void play_round(player_t *player)
{
    int count = 4 + (int)roll(&player->shared, TASKS_MAX - 4);
    for (int i = 0; i < count; i++) {
        begin_task(player, &player->tasks[i]);
        if (roll(&player->shared, 4) == 0)
            exchange(player, player->tasks[i].comm, i);
    }
    if (roll(&player->shared, 4) == 0)
        renew_comm(player);
    end_tasks(player, count);
}

static void *play(void *argument)
{
    player_t *player = argument;
    uint64_t seed = (uint64_t)player->seed * 1000 + (uint64_t)player->thread;
    player->shared = (dice_t){seed};
    player->own = (dice_t){seed * 7919 + (uint64_t)expect_rank + 1};
    for (int round = 0; round < player->rounds; round++)
        play_round(player);
    return NULL;
}

static void open_lanes(player_t *player)
{
    MPI_Comm_dup(MPI_COMM_WORLD, &player->comms[0]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -expect_rank, &player->comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, expect_rank % 2, &player->comms[2]);
    MPI_Comm_dup(MPI_COMM_WORLD, &player->comms[3]);
}

static void close_lanes(player_t *player)
{
    for (int i = 0; i < LANES; i++)
        MPI_Comm_free(&player->comms[i]);
}

static int argument_at(int argc, char **argv, int at, int otherwise)
{
    return argc > at ? (int)strtol(argv[at], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
    int threads = argument_at(argc, argv, 3, 1), provided;
    static player_t players[THREADS_MAX];
    pthread_t handles[THREADS_MAX];
    MPI_Init_thread(&argc, &argv, threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    expect_begin();
    memory_begin(expect_rank);
    make_kinds();
    MPI_Op_create(chain_all, 0, &chain_op);
    for (int i = 0; i < threads && i < THREADS_MAX; i++) {
        players[i].seed = argument_at(argc, argv, 1, 1);
        players[i].rounds = argument_at(argc, argv, 2, ROUNDS);
        players[i].thread = i;
        open_lanes(&players[i]);
    }
    for (int i = 1; i < threads && i < THREADS_MAX; i++)
        pthread_create(&handles[i], NULL, play, &players[i]);
    play(&players[0]);
    for (int i = 0; i < threads && i < THREADS_MAX; i++) {
        if (i > 0)
            pthread_join(handles[i], NULL);
        close_lanes(&players[i]);
    }
    MPI_Op_free(&chain_op);
    free_kinds();
    return expect_end();
}
