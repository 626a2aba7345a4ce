/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data-parallel training: every rank has the whole network and a part of each batch. Gradients are
 * sums over the batch, so one allreduce a layer makes them complete, and all ranks take the same
 * step. The gradients of the last layer are ready first: MPI_Iallreduce adds them up while those
 * of the layers before are computed.
 *
 *       rank 0            rank 1
 *     48 digits         48 digits
 *     layers 0-3        layers 0-3
 *     gradients  <----> gradients        MPI_Iallreduce, layer 3 first
 *     step              step             the same on both
 *
 *   mpicc -O2 -o data_parallel data_parallel.c training.c -lm
 *   mpirun -np 4 ./data_parallel ../data/digits.txt
 */
#include "training.h"

#include <stdbool.h>
#include <stddef.h>

static double values[LAYERS + 1][BATCH * WIDEST], slopes[LAYERS + 1][BATCH * WIDEST];

static void add_up(double *gradients, int count, MPI_Comm comm)
{
    MPI_Allreduce(MPI_IN_PLACE, gradients, count, MPI_DOUBLE, MPI_SUM, comm);
}

static void forward(const layer_t *layers, const double *pixels, int rows)
{
    for (int l = 0; l < LAYERS; l++) {
        layer_forward(&layers[l], l == 0 ? pixels : values[l], rows, values[l + 1]);
        if (l < LAYERS - 1)
            tanh_forward(values[l + 1], rows * layers[l].outputs);
    }
}

/* The gradients of layer l of this rank's digits, and the slopes of what went into it. */
static void backward(layer_t *layers, int l, const double *pixels, int rows)
{
    if (l == 0) {
        layer_backward(&layers[0], pixels, slopes[1], rows, NULL);
        return;
    }
    layer_backward(&layers[l], values[l], slopes[l + 1], rows, slopes[l]);
    tanh_backward(values[l], slopes[l], rows * layers[l].inputs);
}

static void train_batch(training_t *training, int batch, bool is_overlapped)
{
    const int first = batch + part_begin(BATCH, training->rank, training->ranks);
    const int rows = batch + part_begin(BATCH, training->rank + 1, training->ranks) - first;
    const double *pixels = digits.pixels[first];
    layer_t *layers = training->layers;
    MPI_Request requests[LAYERS];

    forward(layers, pixels, rows);
    loss_backward(values[LAYERS], &digits.label[first], rows, slopes[LAYERS], &training->outcome);
    for (int l = LAYERS - 1; l >= 0; l--) {
        backward(layers, l, pixels, rows);
        if (is_overlapped)
            MPI_Iallreduce(MPI_IN_PLACE, layers[l].gradients, layers[l].inputs * layers[l].outputs,
                           MPI_DOUBLE, MPI_SUM, training->comm, &requests[l]);
    }
    for (int l = LAYERS - 1; l >= 0; l--) {
        const int count = layers[l].inputs * layers[l].outputs;

        clock_start(&training->clock);
        if (is_overlapped)
            MPI_Wait(&requests[l], MPI_STATUS_IGNORE);
        else
            add_up(layers[l].gradients, count, training->comm);
        clock_stop(&training->clock, count);
        layer_step(&layers[l]);
    }
}

static void add_up_afterwards(training_t *training, int batch)
{
    train_batch(training, batch, false);
}

static void add_up_by_layer(training_t *training, int batch)
{
    train_batch(training, batch, true);
}

/* Train on all ranks, and compare the weights with those of one process. */
static void train_together(const training_t *alone, MPI_Comm comm, bool is_overlapped)
{
    training_t ours;

    training_start(&ours, comm, net_sizes, LAYERS);
    training_run(&ours, is_overlapped ? add_up_by_layer : add_up_afterwards,
                 is_overlapped ? "iallreduce by layer" : "allreduce after backward");
    clock_print(&ours, &ours.clock, is_overlapped ? "left of allreduce" : "allreduce",
                bus_factor_of_allreduce(ours.ranks), add_up);
    for (int l = 0; l < LAYERS; l++)
        compare_weights(&ours.layers[l], &alone->layers[l]);
    training_free(&ours);
}

int main(int argc, char **argv)
{
    MPI_Comm comm = training_begin(&argc, &argv, BATCH, "a batch has 96 digits");
    training_t alone;

    if (comm != MPI_COMM_NULL) {
        training_alone(&alone, comm, net_sizes, LAYERS, add_up_afterwards);
        train_together(&alone, comm, false);
        train_together(&alone, comm, true);
        training_free(&alone);
    }
    return training_end(comm);
}
