/* SPDX-License-Identifier: BSD-3-Clause */
#include "training.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GOOD_PART 0.9 /* of the last epoch's digits */
enum { WARM_UPS = 20, REPEATS = 200 };

digits_t digits;

const layer_size_t net_sizes[LAYERS] = {{PIXELS, 32}, {32, WIDEST}, {WIDEST, 32}, {32, CLASSES}};

static int has_failed;
static double greatest_difference; /* between weights of both trainings */
static int has_other_bits;

/*
 * Sums of doubles depend on their order, and parallel training adds in other orders than one
 * process does. So each term of a sum is rounded to a multiple of 2^-36 first: adding 1.5 * 2^16
 * leaves no room for bits below that. Sums of such multiples are exact while they are below 2^16,
 * and exact sums are the same in any order, for any number of ranks and with any algorithm.
 * The second argument `ordinary` sets this to 0, and sums are rounded as they come.
 */
static double grid = 1.5 * 65536;

static double on_grid(double term)
{
    return (term + grid) - grid;
}

/* A line is a digit, a blank, and PIXELS signs from 0 to 9 and a to g: 0 to 16 dark points. */
static int read_line(const char *line, int *label, double *pixels)
{
    static const char signs[] = "0123456789abcdefg";

    if (strspn(line + 2, signs) != PIXELS || line[0] < '0' || line[0] > '9' || line[1] != ' ')
        return 0;
    *label = line[0] - '0';
    for (int i = 0; i < PIXELS; i++)
        pixels[i] = (double)(strchr(signs, line[2 + i]) - signs) / 16;
    return 1;
}

static int read_digits(const char *path)
{
    FILE *file = fopen(path, "r");
    char line[PIXELS + 8] = "";
    int count = 0;

    while (file != NULL && count < SAMPLES && fgets(line, sizeof(line), file) != NULL &&
           read_line(line, &digits.label[count], digits.pixels[count]))
        count++;
    if (file != NULL)
        fclose(file);
    return count == SAMPLES;
}

MPI_Comm training_begin(int *argc, char ***argv, int most, const char *why)
{
    const char *path;
    MPI_Comm comm;
    int rank, ranks;

    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    path = *argc > 1 ? (*argv)[1] : "examples/data/digits.txt";
    if (*argc > 2 && strcmp((*argv)[2], "ordinary") == 0)
        grid = 0;
    if (rank == 0 && !read_digits(path)) {
        fprintf(stderr, "%s is not the file with %d digits; name it as the first argument\n", path,
                SAMPLES);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Bcast(&digits, (int)sizeof(digits), MPI_BYTE, 0, MPI_COMM_WORLD);
    if (rank == 0 && ranks > most)
        printf("%d ranks do not fit, since %s: ranks 0 to %d train\n", ranks, why, most - 1);
    MPI_Comm_split(MPI_COMM_WORLD, rank < most ? 0 : MPI_UNDEFINED, rank, &comm);
    return comm;
}

int part_begin(int count, int part, int parts)
{
    return (int)((long)count * part / parts);
}

static void *allocate(size_t count)
{
    void *memory = calloc(count, sizeof(double));

    if (memory == NULL) {
        fprintf(stderr, "no memory for %zu numbers\n", count);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return memory;
}

static layer_t layer_empty(int inputs, int outputs)
{
    size_t count = (size_t)inputs * (size_t)outputs;

    return (layer_t){inputs, outputs, allocate(count), allocate(count)};
}

/* The same numbers on every machine, unlike rand(). Returns 0 <= x < 1. */
static double next_random(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) / (double)(1 << 24);
}

layer_t layer_create(int inputs, int outputs, unsigned seed)
{
    layer_t layer = layer_empty(inputs, outputs);
    unsigned state = seed * 2654435761u;

    for (int i = 0; i < inputs * outputs; i++)
        layer.weights[i] = (2 * next_random(&state) - 1) * sqrt(3.0 / inputs);
    return layer;
}

layer_t layer_cut_outputs(const layer_t *layer, int first, int end)
{
    layer_t cut = layer_empty(layer->inputs, end - first);

    memcpy(cut.weights, layer->weights + first * layer->inputs,
           (size_t)(cut.inputs * cut.outputs) * sizeof(double));
    return cut;
}

layer_t layer_cut_inputs(const layer_t *layer, int first, int end)
{
    layer_t cut = layer_empty(end - first, layer->outputs);

    for (int o = 0; o < cut.outputs; o++)
        memcpy(cut.weights + o * cut.inputs, layer->weights + o * layer->inputs + first,
               (size_t)cut.inputs * sizeof(double));
    return cut;
}

void layer_free(layer_t *layer)
{
    free(layer->weights);
    free(layer->gradients);
}

void layer_forward(const layer_t *layer, const double *in, int rows, double *out)
{
    for (int r = 0; r < rows; r++)
        for (int o = 0; o < layer->outputs; o++) {
            const double *weights = layer->weights + o * layer->inputs;
            const double *row = in + r * layer->inputs;
            double sum = 0;

            for (int i = 0; i < layer->inputs; i++)
                sum += on_grid(weights[i] * row[i]);
            out[r * layer->outputs + o] = sum;
        }
}

/* sums[i] += scale * terms[i] */
static void add_scaled(double *restrict sums, double scale, const double *restrict terms, int count)
{
    for (int i = 0; i < count; i++)
        sums[i] += on_grid(scale * terms[i]);
}

void layer_backward(layer_t *layer, const double *in, const double *out_slopes, int rows,
                    double *in_slopes)
{
    const int inputs = layer->inputs;

    if (in_slopes != NULL)
        memset(in_slopes, 0, (size_t)(rows * inputs) * sizeof(double));
    for (int r = 0; r < rows; r++)
        for (int o = 0; o < layer->outputs; o++) {
            double slope = out_slopes[r * layer->outputs + o];

            add_scaled(layer->gradients + o * inputs, slope, in + r * inputs, inputs);
            if (in_slopes != NULL)
                add_scaled(in_slopes + r * inputs, slope, layer->weights + o * inputs, inputs);
        }
}

void layer_step(layer_t *layer)
{
    for (int i = 0; i < layer->inputs * layer->outputs; i++) {
        layer->weights[i] -= RATE / BATCH * layer->gradients[i];
        layer->gradients[i] = 0;
    }
}

void tanh_forward(double *values, int count)
{
    for (int i = 0; i < count; i++)
        values[i] = tanh(values[i]);
}

void tanh_backward(const double *values, double *slopes, int count)
{
    for (int i = 0; i < count; i++)
        slopes[i] *= 1 - values[i] * values[i];
}

int softmax(double *values, int count)
{
    double sum = 0;
    int likeliest = 0;

    for (int i = 0; i < count; i++) {
        sum += values[i] = exp(values[i]);
        if (values[i] > values[likeliest])
            likeliest = i;
    }
    for (int i = 0; i < count; i++)
        values[i] /= sum;
    return likeliest;
}

void loss_backward(const double *out, const int *labels, int rows, double *slopes,
                   outcome_t *outcome)
{
    memcpy(slopes, out, (size_t)(rows * CLASSES) * sizeof(double));
    for (int r = 0; r < rows; r++) {
        double *row = slopes + r * CLASSES;

        outcome->right += softmax(row, CLASSES) == labels[r];
        outcome->loss -= log(row[labels[r]]);
        row[labels[r]] -= 1;
    }
}

void clock_start(comm_clock_t *clock)
{
    clock->begin_s = MPI_Wtime();
}

void clock_stop(comm_clock_t *clock, int doubles)
{
    clock->seconds += MPI_Wtime() - clock->begin_s;
    clock->bytes += doubles * (double)sizeof(double);
    clock->calls++;
}

/* Seconds of one call of many, one after another. */
static double time_alone(operation_fn_t *operation, int count, MPI_Comm comm)
{
    double *values = allocate((size_t)count + 1), begin_s = 0, seconds;

    for (int i = 0; i < WARM_UPS + REPEATS; i++) {
        if (i == WARM_UPS) {
            MPI_Barrier(comm);
            begin_s = MPI_Wtime();
        }
        operation(values, count, comm);
    }
    seconds = (MPI_Wtime() - begin_s) / REPEATS;
    free(values);
    return seconds;
}

void clock_print(const training_t *training, const comm_clock_t *clock, const char *name,
                 double bus_factor, operation_fn_t *operation)
{
    double means[3] = {clock->bytes, clock->seconds, clock->calls};
    double bytes, alone_s;

    MPI_Allreduce(MPI_IN_PLACE, means, 3, MPI_DOUBLE, MPI_SUM, training->comm);
    if (training->ranks == 1)
        return; /* a single rank has nobody to talk to */
    bytes = means[0] / means[2];
    alone_s = time_alone(operation, (int)(bytes / sizeof(double)), training->comm);
    MPI_Allreduce(MPI_IN_PLACE, &alone_s, 1, MPI_DOUBLE, MPI_SUM, training->comm);
    alone_s /= training->ranks;
    if (training->rank == 0)
        printf("  %-20s %4.0f calls of %.0f bytes, %.1f us each in training; "
               "alone %.1f us, algbw %.2f GB/s, busbw %.2f GB/s\n",
               name, means[2] / training->ranks, bytes, means[1] / means[2] * 1e6, alone_s * 1e6,
               bytes / alone_s / 1e9, bytes / alone_s / 1e9 * bus_factor);
}

/* Each byte must leave a rank and come back as a sum, but for the part that the rank adds up. */
double bus_factor_of_allreduce(int ranks)
{
    return 2.0 * (ranks - 1) / ranks;
}

/* All bytes but those for the rank itself must leave it. */
double bus_factor_of_alltoall(int ranks)
{
    return (ranks - 1.0) / ranks;
}

void training_start(training_t *training, MPI_Comm comm, const layer_size_t *sizes, int count)
{
    *training = (training_t){.comm = comm, .layer_count = count};
    MPI_Comm_rank(comm, &training->rank);
    MPI_Comm_size(comm, &training->ranks);
    for (int l = 0; l < count; l++)
        training->layers[l] = layer_create(sizes[l].inputs, sizes[l].outputs, 1998 + (unsigned)l);
}

void training_free(training_t *training)
{
    for (int l = 0; l < training->layer_count; l++)
        layer_free(&training->layers[l]);
}

static void outcome_print(const training_t *training, const char *name)
{
    double all[2] = {training->outcome.loss, training->outcome.right};
    int has_learned;

    MPI_Allreduce(MPI_IN_PLACE, all, 2, MPI_DOUBLE, MPI_SUM, training->comm);
    has_learned = all[1] >= GOOD_PART * SAMPLES;
    has_failed |= !has_learned;
    if (training->rank == 0)
        printf("%-26s %d rank%s %6.1f ms, loss %.6f, %.1f %% right%s\n", name, training->ranks,
               training->ranks == 1 ? " " : "s", training->outcome.seconds * 1e3, all[0] / SAMPLES,
               100 * all[1] / SAMPLES, has_learned ? "" : ": IT HAS LEARNED TOO LITTLE");
}

void training_run(training_t *training, batch_fn_t *batch, const char *name)
{
    const double begin_s = MPI_Wtime();

    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        training->outcome = (outcome_t){0};
        for (int first = 0; first < SAMPLES; first += BATCH)
            batch(training, first);
    }
    training->outcome.seconds = MPI_Wtime() - begin_s;
    outcome_print(training, name);
}

void training_alone(training_t *training, MPI_Comm comm, const layer_size_t *sizes, int count,
                    batch_fn_t *batch)
{
    int rank;

    MPI_Comm_rank(comm, &rank);
    training_start(training, MPI_COMM_SELF, sizes, count);
    if (rank == 0)
        training_run(training, batch, "one process");
    for (int l = 0; l < count; l++)
        MPI_Bcast(training->layers[l].weights, sizes[l].inputs * sizes[l].outputs, MPI_DOUBLE, 0,
                  comm);
}

void compare_weights(const layer_t *ours, const layer_t *alone)
{
    for (int i = 0; i < ours->inputs * ours->outputs; i++) {
        const double difference = fabs(ours->weights[i] - alone->weights[i]);

        has_other_bits |= memcmp(&ours->weights[i], &alone->weights[i], sizeof(double)) != 0;
        if (!(difference <= greatest_difference))
            greatest_difference = difference;
    }
}

/*
 * What ordinary sums may differ by: two orders of adding n terms differ by n * 2 * 2^-53 of the
 * terms' size at most. Terms are smaller than 1 here, n is BATCH, the mean gradient is 1/BATCH of
 * the sum but the terms' size is too, so a step adds RATE * BATCH * DBL_EPSILON; steps against the
 * gradient do not magnify what earlier steps left.
 */
static void compare_print(MPI_Comm comm)
{
    const double steps = (double)EPOCHS * SAMPLES / BATCH;
    const double allowed = grid == 0 ? steps * RATE * BATCH * DBL_EPSILON : 0;
    int rank;

    MPI_Allreduce(MPI_IN_PLACE, &greatest_difference, 1, MPI_DOUBLE, MPI_MAX, comm);
    MPI_Allreduce(MPI_IN_PLACE, &has_other_bits, 1, MPI_INT, MPI_LOR, comm);
    MPI_Comm_rank(comm, &rank);
    has_failed |= has_other_bits && !(greatest_difference <= allowed);
    if (rank == 0 && has_other_bits)
        printf("weights differ from one process by %.2e, allowed is %.2e: %s\n",
               greatest_difference, allowed, has_failed ? "WRONG" : "correct");
    else if (rank == 0)
        printf("the same weights as in one process, bit by bit: %s\n",
               has_failed ? "WRONG" : "correct");
}

int training_end(MPI_Comm comm)
{
    if (comm != MPI_COMM_NULL) {
        compare_print(comm);
        MPI_Comm_free(&comm);
    }
    MPI_Finalize();
    return has_failed;
}
