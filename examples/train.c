/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data-parallel training on real data: Fisher's irises (data/iris.csv: four measures of 150
 * flowers, three species) and a network with one hidden layer. Rank 0 reads and MPI_Bcast spreads
 * the data; each batch is dealt out to the ranks; MPI_Allreduce adds up the gradients; every rank
 * then makes the same step. So the figures are the same for any number of ranks, but for rounding,
 * and the weights are the same bits on every rank.
 *
 *   mpicc -O2 -o train train.c -lm && mpirun -np 4 ./train data/iris.csv
 */
#include <mpi.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FLOWERS = 150,
    INPUTS = 4,
    HIDDEN = 16,
    SPECIES = 3,
    EPOCHS = 30,
    BATCH = 10,
    TEST_EVERY = 5
};
#define RATE          0.2
#define GOOD_ACCURACY 0.9

typedef struct flower {
    double in[INPUTS];
    int species;
} flower_t;

/* Weights, or their gradients: only doubles, so that one MPI_Allreduce adds them all. The last of a
 * row is the bias. */
typedef struct net {
    double hidden[HIDDEN][INPUTS + 1];
    double out[SPECIES][HIDDEN + 1];
} net_t;
#define NET_DOUBLES ((int)(sizeof(net_t) / sizeof(double)))

/* The same numbers on every machine, unlike rand(). Returns 0 <= x < 1. */
static double next_random(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) / (double)(1 << 24);
}

static int read_flowers(const char *path, flower_t *out)
{
    static const char *const names[SPECIES] = {"setosa", "versicolor", "virginica"};
    FILE *file = fopen(path, "r");
    char line[128], name[32];
    int count = 0;

    while (file != NULL && count < FLOWERS && fgets(line, sizeof(line), file) != NULL) {
        double *in = out[count].in;

        if (sscanf(line, "%lf,%lf,%lf,%lf,%31s", &in[0], &in[1], &in[2], &in[3], name) != 5)
            continue; /* the header line */
        for (int i = 0; i < SPECIES; i++)
            if (strcmp(name, names[i]) == 0)
                out[count].species = i;
        count++;
    }
    if (file != NULL)
        fclose(file);
    return count == FLOWERS;
}

/* Give each input mean 0 and deviation 1, so that all have the same weight. */
static void standardise(flower_t *flowers)
{
    for (int i = 0; i < INPUTS; i++) {
        double sum = 0, squares = 0, mean, deviation;

        for (int f = 0; f < FLOWERS; f++) {
            sum += flowers[f].in[i];
            squares += flowers[f].in[i] * flowers[f].in[i];
        }
        mean = sum / FLOWERS;
        deviation = sqrt(squares / FLOWERS - mean * mean);
        for (int f = 0; f < FLOWERS; f++)
            flowers[f].in[i] = (flowers[f].in[i] - mean) / deviation;
    }
}

static void shuffle(flower_t *flowers, int count, unsigned *state)
{
    for (int i = count - 1; i > 0; i--) {
        int other = (int)(next_random(state) * (i + 1));
        flower_t kept = flowers[i];

        flowers[i] = flowers[other];
        flowers[other] = kept;
    }
}

static void start_weights(net_t *net, unsigned *state)
{
    double *weights = &net->hidden[0][0];

    for (int i = 0; i < NET_DOUBLES; i++)
        weights[i] = next_random(state) - 0.5;
}

/* Probabilities of the species; `hidden` are the values of the hidden layer, which backward
 * needs. */
static void forward(const net_t *net, const double *in, double hidden[HIDDEN], double out[SPECIES])
{
    double sum = 0;

    for (int h = 0; h < HIDDEN; h++) {
        hidden[h] = net->hidden[h][INPUTS];
        for (int i = 0; i < INPUTS; i++)
            hidden[h] += net->hidden[h][i] * in[i];
        hidden[h] = tanh(hidden[h]);
    }
    for (int s = 0; s < SPECIES; s++) {
        out[s] = net->out[s][HIDDEN];
        for (int h = 0; h < HIDDEN; h++)
            out[s] += net->out[s][h] * hidden[h];
        sum += out[s] = exp(out[s]);
    }
    for (int s = 0; s < SPECIES; s++)
        out[s] /= sum;
}

/* Add one flower's gradient (of the cross entropy after softmax) to `gradient`. */
static void backward(const net_t *net, const flower_t *flower, net_t *gradient)
{
    double hidden[HIDDEN], out[SPECIES], to_hidden[HIDDEN] = {0};

    forward(net, flower->in, hidden, out);
    out[flower->species] -= 1;
    for (int s = 0; s < SPECIES; s++) {
        for (int h = 0; h < HIDDEN; h++) {
            gradient->out[s][h] += out[s] * hidden[h];
            to_hidden[h] += out[s] * net->out[s][h];
        }
        gradient->out[s][HIDDEN] += out[s];
    }
    for (int h = 0; h < HIDDEN; h++) {
        double slope = to_hidden[h] * (1 - hidden[h] * hidden[h]);

        for (int i = 0; i < INPUTS; i++)
            gradient->hidden[h][i] += slope * flower->in[i];
        gradient->hidden[h][INPUTS] += slope;
    }
}

/* One step: this rank's flowers of the batch, then the sum over all ranks. All parallel work is
 * here. */
static void train_batch(net_t *net, const flower_t *batch, int count)
{
    net_t gradient = {0};
    double *weights = &net->hidden[0][0], *slopes = &gradient.hidden[0][0];
    int rank, ranks;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = rank; i < count; i += ranks)
        backward(net, &batch[i], &gradient);
    MPI_Allreduce(MPI_IN_PLACE, slopes, NET_DOUBLES, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < NET_DOUBLES; i++)
        weights[i] -= RATE * slopes[i] / count;
}

/* The part of `flowers` that the net names correctly; their mean loss. */
static double accuracy(const net_t *net, const flower_t *flowers, int count, double *loss_out)
{
    double hidden[HIDDEN], out[SPECIES], loss = 0;
    int right = 0;

    for (int f = 0; f < count; f++) {
        int best = 0;

        forward(net, flowers[f].in, hidden, out);
        for (int s = 1; s < SPECIES; s++)
            if (out[s] > out[best])
                best = s;
        right += best == flowers[f].species;
        loss -= log(out[flowers[f].species]) / count;
    }
    *loss_out = loss;
    return (double)right / count;
}

/* Are the weights the same bits as rank 0's, everywhere? */
static int all_agree(const net_t *net)
{
    net_t first = *net;
    int same, all_same;

    MPI_Bcast(&first, NET_DOUBLES, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    same = memcmp(&first, net, sizeof(first)) == 0;
    MPI_Allreduce(&same, &all_same, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    return all_same;
}

static int train(flower_t *flowers, int rank)
{
    const int tests = FLOWERS / TEST_EVERY, trained = FLOWERS - tests;
    unsigned state = 1936; /* the year of Fisher's paper */
    double loss, test_loss, on_trained, on_tests = 0;
    net_t net;
    int agree;

    shuffle(flowers, FLOWERS, &state);
    start_weights(&net, &state);
    for (int epoch = 1; epoch <= EPOCHS; epoch++) {
        shuffle(flowers, trained, &state);
        for (int first = 0; first < trained; first += BATCH)
            train_batch(&net, &flowers[first], trained - first < BATCH ? trained - first : BATCH);
        on_trained = accuracy(&net, flowers, trained, &loss);
        on_tests = accuracy(&net, flowers + trained, tests, &test_loss);
        if (rank == 0)
            printf("epoch %2d  loss %.4f  accuracy %.3f  on flowers never seen %.3f\n", epoch, loss,
                   on_trained, on_tests);
    }
    agree = all_agree(&net);
    if (rank == 0)
        printf("%s, %s\n", agree ? "all ranks hold the same weights" : "RANKS DIFFER",
               on_tests >= GOOD_ACCURACY ? "correct" : "WRONG: it has not learned");
    return agree && on_tests >= GOOD_ACCURACY;
}

int main(int argc, char **argv)
{
    static flower_t flowers[FLOWERS];
    const char *path = argc > 1 ? argv[1] : "examples/data/iris.csv";
    int rank, is_right;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0 && !read_flowers(path, flowers)) {
        fprintf(stderr,
                "train: %s is not the file with %d flowers; name it as the first argument\n", path,
                FLOWERS);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Bcast(flowers, (int)sizeof(flowers), MPI_BYTE, 0, MPI_COMM_WORLD);
    standardise(flowers);
    is_right = train(flowers, rank);
    MPI_Finalize();
    return !is_right;
}
