/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_THREAD_MULTIPLE: every pair of actors (stage.h) runs in two threads of each rank at once,
 * then several threads run actors drawn by chance, which meet as they come. The arguments:
 *
 *   thread_pairs [seed [rounds [draws [part]]]]
 *
 * rounds  how often each pair runs; draws: how many actors each of the many threads draws; part:
 *         only one pair in so many runs
 *
 * A failure names the actors and the seed; what runs is also printed when the program is ended from
 * outside (SIGTERM), as it is when it hangs.
 */
#include "../expect.h"
#include "collective_actors.h"
#include "comm_actors.h"
#include "local_actors.h"
#include "message_actors.h"
#include "request_actors.h"

#include <signal.h>
#include <unistd.h>

enum { MOST_ACTORS = 100, MOST_THREADS = 8, LOCAL_ROUNDS = 8 };

static actor_t actors[MOST_ACTORS];
static int actor_count;

static unsigned seed = 1;
static int rounds = 1, draws = 60, part = 1;

static stage_t stages[MOST_THREADS];
static MPI_Comm control; /* between pairs */
static MPI_Comm shared;
static pthread_barrier_t both_over;

static void add_actors(const actor_t *more, size_t bytes)
{
    memcpy(&actors[actor_count], more, bytes);
    actor_count += (int)(bytes / sizeof(*more));
}

static void gather_actors(void)
{
    add_actors(message_actors, sizeof(message_actors));
    add_actors(request_actors, sizeof(request_actors));
    add_actors(collective_actors, sizeof(collective_actors));
    add_actors(comm_actors, sizeof(comm_actors));
    add_actors(local_actors, sizeof(local_actors));
}

/* In a signal handler: no more than write(). */
static void say_what_runs(int signal)
{
    for (int i = 0; i < MOST_THREADS; i++) {
        const char *name = stages[i].name;
        if (name != NULL && write(STDERR_FILENO, name, strlen(name)) > 0 &&
            write(STDERR_FILENO, " was running\n", 13) < 0)
            break;
    }
    _exit(128 + signal);
}

static void open_stage(stage_t *stage, int slot)
{
    *stage = (stage_t){.slot = slot, .first_tag = slot * TAGS_OF_STAGE, .seed = seed};
    stage->rank = expect_rank;
    stage->size = expect_size;
    stage->right = (expect_rank + 1) % expect_size;
    stage->left = (expect_rank + expect_size - 1) % expect_size;
    stage->random = seed * 1000ULL + (unsigned)slot;
    stage->shared = shared;
    stage->out = malloc(MOST_INTS * sizeof(int));
    stage->in = malloc(MOST_INTS * sizeof(int));
    MPI_Comm_dup(MPI_COMM_WORLD, &stage->own);
}

static void close_stage(stage_t *stage)
{
    MPI_Comm_free(&stage->own);
    free(stage->out);
    free(stage->in);
}

static void act(stage_t *stage, const actor_t *actor, const char *others)
{
    stage->name = actor->name;
    stage->others = others;
    actor->act(stage);
    stage->name = NULL;
    stage->round += !actor->is_local; /* values depend on it */
}

/* ---- all pairs ---- */

/* Local actors are short, and so run more often. */
static void run_pair(stage_t *stage, const actor_t *actor, const char *other)
{
    int times = actor->is_local ? LOCAL_ROUNDS * rounds : rounds;
    for (int i = 0; i < times; i++)
        act(stage, actor, other);
    pthread_barrier_wait(&both_over);
    if (stage->slot == 0)
        MPI_Barrier(control);
    pthread_barrier_wait(&both_over);
}

/* Both threads go through the same list, whose order depends on the seed. */
static void *run_pairs(void *argument)
{
    stage_t *stage = argument;
    long long all = (long long)actor_count * actor_count;
    for (int number = 0; number < all; number += part) {
        int pair = (int)((number * 7919LL + seed) % all);
        const actor_t *both[2] = {&actors[pair % actor_count], &actors[pair / actor_count]};
        if (both[0] <= both[1])
            run_pair(stage, both[stage->slot], both[1 - stage->slot]->name);
    }
    return NULL;
}

static void *run_drawn(void *argument)
{
    stage_t *stage = argument;
    for (int i = 0; i < draws; i++)
        act(stage, &actors[stage_draw(stage, actor_count)], "actors drawn by chance");
    return NULL;
}

static void run_threads(int count, void *(*body)(void *))
{
    pthread_t threads[MOST_THREADS];
    for (int i = 0; i < count; i++)
        threads[i] = stage_helper(body, &stages[i]);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

static void read_arguments(int argc, char **argv)
{
    int values[] = {(int)seed, rounds, draws, part};
    for (int i = 1; i < argc && i <= 4; i++)
        values[i - 1] = atoi(argv[i]);
    seed = (unsigned)values[0];
    rounds = values[1];
    draws = values[2];
    part = values[3];
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    expect_begin();
    EXPECT(provided, MPI_THREAD_MULTIPLE);
    EXPECT(expect_size <= MOST_RANKS, 1);
    read_arguments(argc, argv);
    gather_actors();
    signal(SIGTERM, say_what_runs);
    pthread_barrier_init(&both_over, NULL, 2);
    MPI_Comm_dup(MPI_COMM_WORLD, &control);
    MPI_Comm_dup(MPI_COMM_WORLD, &shared);
    for (int i = 0; i < MOST_THREADS; i++)
        open_stage(&stages[i], i);
    run_threads(2, run_pairs);
    run_threads(4 + (int)(seed % 5), run_drawn);
    MPI_Comm_free(&shared);
    for (int i = 0; i < MOST_THREADS; i++)
        close_stage(&stages[i]);
    MPI_Comm_free(&control);
    pthread_barrier_destroy(&both_over);
    expect_failures += atomic_load(&stage_failures);
    return expect_end();
}
