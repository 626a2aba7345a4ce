/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Training whose ranks die and are started again (mpirun --enable-recovery --max-restarts):
 *
 *     rejoin CHECKPOINT SEED DEATHS [fatal]
 *
 * The i-th digit of DEATHS says how often rank i kills itself, each time at a random moment after a
 * random step. Those that live end their session; the next one has all ranks again, which go on
 * from the last checkpoint. In the end rank 0 compares with an undisturbed run, and prints one line
 * that says in how many sessions it has trained. With "fatal" the first error ends each process.
 */
#include "dying.h"

#include <math.h>
#include <mpi.h>
#include <mpix.h>
#include <string.h>
#include <unistd.h>

enum { WEIGHTS = 8, STEPS = 400, SAMPLES = 24, CHECKPOINT_STEPS = 7, MOMENT_US = 3000 };

typedef struct state {
    double weights[WEIGHTS], loss;
    int step;
} state_t;

static const char *checkpoint;
static int last_step; /* from which on this process may die */
static int must_die, is_dying;
static unsigned moment_us;
static MPI_Errhandler handler = MPI_ERRORS_RETURN;

static unsigned draw(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* Does this process die, and when? */
static void plan_death(unsigned seed, const char *deaths)
{
    const char *text = getenv("TORCHELASTIC_RESTART_COUNT");
    int restarts = text == NULL ? 0 : atoi(text);
    seed = seed * 7919u + (unsigned)world_rank * 104729u + (unsigned)restarts * 1299709u;
    if (world_rank >= (int)strlen(deaths) || restarts >= deaths[world_rank] - '0')
        return;
    must_die = 1;
    last_step = (int)(draw(&seed) % STEPS);
    moment_us = draw(&seed) % MOMENT_US;
}

/* ---- training ---- */

/* Add the loss and the slopes of one sample of a step. */
static void learn(const state_t *state, int sample, double slopes[WEIGHTS + 1])
{
    unsigned seed = (unsigned)(state->step * SAMPLES + sample);
    double in[WEIGHTS], error = 0;
    for (int i = 0; i < WEIGHTS; i++) {
        in[i] = draw(&seed) % 1000 / 1000.0 - 0.5;
        error += in[i] * (state->weights[i] - i);
    }
    for (int i = 0; i < WEIGHTS; i++)
        slopes[i] += 2 * error * in[i] / SAMPLES;
    slopes[WEIGHTS] += error * error / SAMPLES;
}

static void apply(state_t *state, const double slopes[WEIGHTS + 1])
{
    for (int i = 0; i < WEIGHTS; i++)
        state->weights[i] -= 0.3 * slopes[i];
    state->loss = slopes[WEIGHTS];
    state->step++;
}

static int train_step(MPI_Comm comm, state_t *state)
{
    double slopes[WEIGHTS + 1] = {0};
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int sample = rank; sample < SAMPLES; sample += size)
        learn(state, sample, slopes);
    int err = MPI_Allreduce(MPI_IN_PLACE, slopes, WEIGHTS + 1, MPI_DOUBLE, MPI_SUM, comm);
    if (err == MPI_SUCCESS)
        apply(state, slopes);
    return err;
}

static void check_loss(double loss)
{
    state_t state = {.step = 0};
    while (state.step < STEPS) {
        double slopes[WEIGHTS + 1] = {0};
        for (int sample = 0; sample < SAMPLES; sample++)
            learn(&state, sample, slopes);
        apply(&state, slopes);
    }
    check(fabs(loss - state.loss) <= 1e-9 * state.loss, "the loss is %.17g, undisturbed %.17g",
          loss, state.loss);
}

/* ---- checkpoints: whole or not at all ---- */

static void save(const state_t *state)
{
    char fresh[1024];
    snprintf(fresh, sizeof(fresh), "%s.new", checkpoint);
    FILE *file = fopen(fresh, "w");
    check(file != NULL && fwrite(state, sizeof(*state), 1, file) == 1 && fclose(file) == 0 &&
              rename(fresh, checkpoint) == 0,
          "%s cannot be written", checkpoint);
}

static int load(MPI_Comm comm, state_t *state)
{
    FILE *file = world_rank == 0 ? fopen(checkpoint, "r") : NULL;
    *state = (state_t){.step = 0};
    if (file != NULL) {
        check(fread(state, sizeof(*state), 1, file) == 1, "%s cannot be read", checkpoint);
        fclose(file);
    }
    return MPI_Bcast(state, sizeof(*state), MPI_BYTE, 0, comm);
}

/* ---- sessions ---- */

static void plan_death_in(int step)
{
    if (must_die && !is_dying && step >= last_step)
        die_soon(moment_us);
    is_dying = is_dying || step >= last_step;
}

static int train(MPI_Comm comm, state_t *state)
{
    int err = load(comm, state);
    while (err == MPI_SUCCESS && state->step < STEPS) {
        plan_death_in(state->step);
        if (world_rank == 0 && state->step % CHECKPOINT_STEPS == 0)
            save(state);
        err = train_step(comm, state);
    }
    plan_death_in(STEPS);
    while (err == MPI_SUCCESS && must_die)
        pause();
    return err;
}

/* All that live come to the same end, or begin again together. */
static int have_all_trained(MPI_Comm comm, int err)
{
    int flag = err == MPI_SUCCESS;
    if (err != MPI_SUCCESS)
        MPIX_Comm_revoke(comm);
    return MPIX_Comm_agree(comm, &flag) == MPI_SUCCESS && flag;
}

static int run_session(int size, state_t *state)
{
    MPI_Session session;
    MPI_Group world;
    MPI_Comm comm;
    int is_over = 0, found;
    char why[MPI_MAX_ERROR_STRING];
    int length, err = MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Error_string(err, why, &length);
    check(err == MPI_SUCCESS, "no session: %s", why);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &world);
    MPI_Group_size(world, &found);
    check(found == size, "%d ranks, not %d", found, size);
    MPI_Group_rank(world, &found);
    check(found == world_rank, "this is rank %d, not %d", found, world_rank);
    err = MPI_Comm_create_from_group(world, "training", MPI_INFO_NULL, handler, &comm);
    if (err == MPI_SUCCESS) {
        is_over = have_all_trained(comm, train(comm, state));
        MPI_Comm_free(&comm);
    }
    MPI_Group_free(&world);
    MPI_Session_finalize(&session);
    return is_over;
}

int main(int argc, char **argv)
{
    state_t state;
    int sessions = 1;
    check(argc == 4 || (argc == 5 && strcmp(argv[4], "fatal") == 0),
          "usage: rejoin CHECKPOINT SEED DEATHS [fatal]");
    if (argc == 5)
        handler = MPI_ERRORS_ARE_FATAL;
    checkpoint = argv[1];
    world_rank = atoi(getenv("RANK"));
    plan_death((unsigned)atoi(argv[2]), argv[3]);
    while (!run_session(atoi(getenv("WORLD_SIZE")), &state))
        sessions++;
    if (world_rank == 0) {
        check_loss(state.loss);
        printf("trained in %d sessions\n", sessions);
    }
    return 0;
}
