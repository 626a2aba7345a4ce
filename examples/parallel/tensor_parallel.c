/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tensor-parallel training: every rank has all digits, and a part of two layers. Layer 1 is cut by
 * its outputs (columns), layer 2 by the same units as inputs (rows), so that between the two
 * nothing need be sent. What comes out of layer 2 is a sum over all units: an allreduce of
 * activations. Backwards, the slopes of layer 1's inputs are such a sum. The small layers 0 and 3
 * are whole on every rank.
 *
 *     rank 0    layer 0 --> layer 1, units 0-47  --> layer 2, from units 0-47  --+--> layer 3
 *                       |                                                        |
 *     rank 1    layer 0 --> layer 1, units 48-95 --> layer 2, from units 48-95 --+--> layer 3
 *                       |                                                        |
 *             allreduce backwards                                       allreduce forwards
 *
 *   mpicc -O2 -o tensor_parallel tensor_parallel.c training.c -lm
 *   mpirun -np 4 ./tensor_parallel ../data/digits.txt
 */
#include "training.h"

#include <stddef.h>

static double values[LAYERS + 1][BATCH * WIDEST], slopes[LAYERS + 1][BATCH * WIDEST];

static void add_up(double *activations, int count, MPI_Comm comm)
{
    MPI_Allreduce(MPI_IN_PLACE, activations, count, MPI_DOUBLE, MPI_SUM, comm);
}

/* Keep a rank's part of a whole network. */
static void cut(training_t *training, int rank, int ranks)
{
    const int first = part_begin(WIDEST, rank, ranks), end = part_begin(WIDEST, rank + 1, ranks);
    const layer_t columns = layer_cut_outputs(&training->layers[1], first, end);
    const layer_t rows = layer_cut_inputs(&training->layers[2], first, end);

    layer_free(&training->layers[1]);
    layer_free(&training->layers[2]);
    training->layers[1] = columns;
    training->layers[2] = rows;
}

static void add_up_in_time(training_t *training, double *activations, int count)
{
    clock_start(&training->clock);
    add_up(activations, count, training->comm);
    clock_stop(&training->clock, count);
}

static void forward(training_t *training, const double *pixels)
{
    for (int l = 0; l < LAYERS; l++) {
        const layer_t *layer = &training->layers[l];

        layer_forward(layer, l == 0 ? pixels : values[l], BATCH, values[l + 1]);
        if (l == 2)
            add_up_in_time(training, values[l + 1], BATCH * layer->outputs);
        if (l < LAYERS - 1)
            tanh_forward(values[l + 1], BATCH * layer->outputs);
    }
}

static void backward(training_t *training, const double *pixels)
{
    for (int l = LAYERS - 1; l > 0; l--) {
        layer_t *layer = &training->layers[l];

        layer_backward(layer, values[l], slopes[l + 1], BATCH, slopes[l]);
        if (l == 1)
            add_up_in_time(training, slopes[l], BATCH * layer->inputs);
        tanh_backward(values[l], slopes[l], BATCH * layer->inputs);
    }
    layer_backward(&training->layers[0], pixels, slopes[1], BATCH, NULL);
}

static void train_batch(training_t *training, int first)
{
    outcome_t counted_by_rank_0;

    forward(training, digits.pixels[first]);
    loss_backward(values[LAYERS], &digits.label[first], BATCH, slopes[LAYERS],
                  training->rank == 0 ? &training->outcome : &counted_by_rank_0);
    backward(training, digits.pixels[first]);
    for (int l = 0; l < LAYERS; l++)
        layer_step(&training->layers[l]);
}

int main(int argc, char **argv)
{
    MPI_Comm comm = training_begin(&argc, &argv, WIDEST, "the layers that are cut have 96 units");
    training_t alone, ours;

    if (comm != MPI_COMM_NULL) {
        training_alone(&alone, comm, net_sizes, LAYERS, train_batch);
        training_start(&ours, comm, net_sizes, LAYERS);
        cut(&ours, ours.rank, ours.ranks);
        training_run(&ours, train_batch, "layers 1 and 2 cut");
        clock_print(&ours, &ours.clock, "allreduce", bus_factor_of_allreduce(ours.ranks), add_up);
        cut(&alone, ours.rank, ours.ranks);
        for (int l = 0; l < LAYERS; l++)
            compare_weights(&ours.layers[l], &alone.layers[l]);
        training_free(&ours);
        training_free(&alone);
    }
    return training_end(comm);
}
