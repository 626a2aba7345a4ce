/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Expert-parallel training: between the first and the last layer stand eight experts, small
 * networks, each on one rank. A gate chooses one expert for each token (here a digit), so a token
 * costs as much as with one expert. MPI_Alltoallv takes tokens to the ranks of their experts and
 * results back; slopes go the same ways. Entry, gate and exit are on every rank, for a part of
 * each batch: their gradients are added up by allreduce, while an expert has seen all its tokens.
 *
 *     rank 0   entry, gate --+   +--> experts 0-3 --+   +--> + --> exit
 *                             \ /                    \ /
 *                          alltoallv              alltoallv
 *                             / \                    / \
 *     rank 1   entry, gate --+   +--> experts 4-7 --+   +--> + --> exit
 *
 * What comes out for token x is x + p * expert(x), where p is the gate's probability of the expert:
 * so the gate learns, too. Nothing here makes the gate use all experts alike.
 *
 *   mpicc -O2 -o expert_parallel expert_parallel.c training.c -lm
 *   mpirun -np 4 ./expert_parallel ../data/digits.txt
 */
#include "training.h"

#include <stddef.h>
#include <string.h>

enum { /* layers of the network; expert e has layers EXPERT + 2 e and the next */
       ENTRY,
       GATE,
       EXIT,
       EXPERT
};
enum {
    EXPERTS = 8,
    WIDTH = 32, /* numbers of a token */
    HIDDEN = 24
};

typedef double tokens_t[BATCH][WIDTH];

/* How many doubles go to or come from each rank, and where they begin. */
typedef struct shares {
    int counts[EXPERTS], offsets[EXPERTS];
} shares_t;

/* Who goes where. Tokens to send stand by expert; received, by rank and then by expert. */
static struct route {
    int expert[BATCH], place[BATCH]; /* of each token of this rank */
    int chosen[EXPERTS][EXPERTS];    /* [rank][expert]: how many tokens */
    int first_expert[EXPERTS + 1];   /* of each rank */
    shares_t at_home, at_experts;
} route;

static double chances[BATCH][EXPERTS], chance_slopes[BATCH][EXPERTS];
static double outputs[BATCH][CLASSES], output_slopes[BATCH][CLASSES];
static double hidden[BATCH][HIDDEN], hidden_slopes[BATCH][HIDDEN];
static tokens_t tokens, sent, received, results, returned, mixed;
static tokens_t token_slopes, received_slopes, result_slopes, returned_slopes, mixed_slopes;

/* How many doubles the tokens have that rank `from` has for the experts of rank `to`. */
static int doubles_between(int from, int to)
{
    int count = 0;

    for (int e = route.first_expert[to]; e < route.first_expert[to + 1]; e++)
        count += WIDTH * route.chosen[from][e];
    return count;
}

static void add_share(shares_t *shares, int rank, int count)
{
    shares->counts[rank] = count;
    shares->offsets[rank] = rank > 0 ? shares->offsets[rank - 1] + shares->counts[rank - 1] : 0;
}

/* All ranks learn how many tokens there are for each expert, and so where they stand. */
static void plan(const training_t *training, int rows)
{
    int mine[EXPERTS] = {0}, next[EXPERTS] = {0};

    for (int r = 0; r < rows; r++)
        mine[route.expert[r]]++;
    MPI_Allgather(mine, EXPERTS, MPI_INT, route.chosen, EXPERTS, MPI_INT, training->comm);
    for (int e = 1; e < EXPERTS; e++)
        next[e] = next[e - 1] + mine[e - 1];
    for (int r = 0; r < rows; r++)
        route.place[r] = next[route.expert[r]]++;
    for (int q = 0; q < training->ranks; q++) {
        route.first_expert[q + 1] = part_begin(EXPERTS, q + 1, training->ranks);
        add_share(&route.at_home, q, doubles_between(training->rank, q));
    }
    for (int q = 0; q < training->ranks; q++)
        add_share(&route.at_experts, q, doubles_between(q, training->rank));
}

static void exchange(training_t *training, tokens_t out, const shares_t *from, tokens_t in,
                     const shares_t *to)
{
    const int last = training->ranks - 1;

    clock_start(&training->clock);
    MPI_Alltoallv(out, from->counts, from->offsets, MPI_DOUBLE, in, to->counts, to->offsets,
                  MPI_DOUBLE, training->comm);
    clock_stop(&training->clock, from->offsets[last] + from->counts[last]);
}

static void expert_forward(layer_t *expert, int at, int rows)
{
    layer_forward(&expert[0], received[at], rows, hidden[at]);
    tanh_forward(hidden[at], rows * HIDDEN);
    layer_forward(&expert[1], hidden[at], rows, results[at]);
}

static void expert_backward(layer_t *expert, int at, int rows)
{
    layer_backward(&expert[1], hidden[at], result_slopes[at], rows, hidden_slopes[at]);
    tanh_backward(hidden[at], hidden_slopes[at], rows * HIDDEN);
    layer_backward(&expert[0], received[at], hidden_slopes[at], rows, received_slopes[at]);
}

/* This rank's experts, with the tokens of all ranks. */
static void run_experts(training_t *training, void (*run)(layer_t *expert, int at, int rows))
{
    int at = 0;

    for (int q = 0; q < training->ranks; q++)
        for (int e = route.first_expert[training->rank]; e < route.first_expert[training->rank + 1];
             e++) {
            run(&training->layers[EXPERT + 2 * e], at, route.chosen[q][e]);
            at += route.chosen[q][e];
        }
}

static void forward(training_t *training, const double *pixels, int rows)
{
    layer_forward(&training->layers[ENTRY], pixels, rows, tokens[0]);
    tanh_forward(tokens[0], rows * WIDTH);
    layer_forward(&training->layers[GATE], tokens[0], rows, chances[0]);
    for (int r = 0; r < rows; r++)
        route.expert[r] = softmax(chances[r], EXPERTS);
    plan(training, rows);
    for (int r = 0; r < rows; r++)
        memcpy(sent[route.place[r]], tokens[r], sizeof(tokens[r]));
    exchange(training, sent, &route.at_home, received, &route.at_experts);
    run_experts(training, expert_forward);
    exchange(training, results, &route.at_experts, returned, &route.at_home);
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < WIDTH; i++)
            mixed[r][i] = tokens[r][i] + chances[r][route.expert[r]] * returned[route.place[r]][i];
    layer_forward(&training->layers[EXIT], mixed[0], rows, outputs[0]);
}

/* The slopes of one token: what its expert needs, and what the gate does. */
static void split_slopes(int r)
{
    const int expert = route.expert[r], place = route.place[r];
    double chance = chances[r][expert], slope = 0;

    for (int i = 0; i < WIDTH; i++) {
        sent[place][i] = chance * mixed_slopes[r][i];
        slope += mixed_slopes[r][i] * returned[place][i];
    }
    for (int e = 0; e < EXPERTS; e++)
        chance_slopes[r][e] = slope * chance * ((e == expert) - chances[r][e]);
}

static void backward(training_t *training, const double *pixels, int rows)
{
    layer_t *layers = training->layers;

    layer_backward(&layers[EXIT], mixed[0], output_slopes[0], rows, mixed_slopes[0]);
    for (int r = 0; r < rows; r++)
        split_slopes(r);
    exchange(training, sent, &route.at_home, result_slopes, &route.at_experts);
    run_experts(training, expert_backward);
    exchange(training, received_slopes, &route.at_experts, returned_slopes, &route.at_home);
    layer_backward(&layers[GATE], tokens[0], chance_slopes[0], rows, token_slopes[0]);
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < WIDTH; i++)
            token_slopes[r][i] += mixed_slopes[r][i] + returned_slopes[route.place[r]][i];
    tanh_backward(tokens[0], token_slopes[0], rows * WIDTH);
    layer_backward(&layers[ENTRY], pixels, token_slopes[0], rows, NULL);
}

static void add_up(double *gradients, int count, MPI_Comm comm)
{
    MPI_Allreduce(MPI_IN_PLACE, gradients, count, MPI_DOUBLE, MPI_SUM, comm);
}

static void train_batch(training_t *training, int batch)
{
    const int first = batch + part_begin(BATCH, training->rank, training->ranks);
    const int rows = batch + part_begin(BATCH, training->rank + 1, training->ranks) - first;

    forward(training, digits.pixels[first], rows);
    loss_backward(outputs[0], &digits.label[first], rows, output_slopes[0], &training->outcome);
    backward(training, digits.pixels[first], rows);
    for (int l = 0; l < training->layer_count; l++) {
        const int count = training->layers[l].inputs * training->layers[l].outputs;

        if (l < EXPERT) {
            clock_start(&training->sum_clock);
            add_up(training->layers[l].gradients, count, training->comm);
            clock_stop(&training->sum_clock, count);
        }
        layer_step(&training->layers[l]);
    }
}

/* The way out of the last batch's tokens. */
static void exchange_again(double *values, int count, MPI_Comm comm)
{
    (void)values, (void)count;
    MPI_Alltoallv(sent, route.at_home.counts, route.at_home.offsets, MPI_DOUBLE, received,
                  route.at_experts.counts, route.at_experts.offsets, MPI_DOUBLE, comm);
}

int main(int argc, char **argv)
{
    MPI_Comm comm = training_begin(&argc, &argv, EXPERTS, "there are 8 experts");
    layer_size_t sizes[EXPERT + 2 * EXPERTS] = {
        {PIXELS, WIDTH}, {WIDTH, EXPERTS}, {WIDTH, CLASSES}};
    training_t alone, ours;

    for (int l = EXPERT; l < EXPERT + 2 * EXPERTS; l += 2) {
        sizes[l] = (layer_size_t){WIDTH, HIDDEN};
        sizes[l + 1] = (layer_size_t){HIDDEN, WIDTH};
    }
    if (comm != MPI_COMM_NULL) {
        training_alone(&alone, comm, sizes, EXPERT + 2 * EXPERTS, train_batch);
        training_start(&ours, comm, sizes, EXPERT + 2 * EXPERTS);
        training_run(&ours, train_batch, "experts on their ranks");
        clock_print(&ours, &ours.clock, "alltoallv of tokens", bus_factor_of_alltoall(ours.ranks),
                    exchange_again);
        clock_print(&ours, &ours.sum_clock, "allreduce", bus_factor_of_allreduce(ours.ranks),
                    add_up);
        for (int l = 0; l < EXPERT; l++)
            compare_weights(&ours.layers[l], &alone.layers[l]);
        for (int l = EXPERT + 2 * route.first_expert[ours.rank];
             l < EXPERT + 2 * route.first_expert[ours.rank + 1]; l++)
            compare_weights(&ours.layers[l], &alone.layers[l]);
        training_free(&ours);
        training_free(&alone);
    }
    return training_end(comm);
}
