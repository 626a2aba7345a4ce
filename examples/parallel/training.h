/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the four programs of this folder share: the handwritten digits, layers of a network, clocks
 * for communication, and the comparison with the training in one process.
 *
 * Matrices are arrays by rows: a batch is [rows][inputs], the weights of a layer are
 * [outputs][inputs]. Layers have no biases, so that they can be cut anywhere.
 */
#ifndef TRAINING_H
#define TRAINING_H

#include <mpi.h>

enum {
    PIXELS = 64,
    CLASSES = 10,
    SAMPLES = 1536,
    BATCH = 96,
    EPOCHS = 4,
    LAYERS = 4,
    WIDEST = 96,
    MOST_LAYERS = 20
};
#define RATE 0.5 /* how far a step goes against the mean gradient of a batch */

typedef struct digits {
    double pixels[SAMPLES][PIXELS]; /* between 0 and 1 */
    int label[SAMPLES];
} digits_t;

extern digits_t digits;

/* Where part `part` of `count` things begins, if they are dealt out to `parts` as evenly as
 * possible; it ends where the next begins. */
int part_begin(int count, int part, int parts);

typedef struct layer {
    int inputs, outputs;
    double *weights, *gradients;
} layer_t;

/* Weights are random numbers that depend on `seed` alone; gradients are 0. */
layer_t layer_create(int inputs, int outputs, unsigned seed);

/* A copy of the outputs and inputs in [first, end) of a layer. */
layer_t layer_cut_outputs(const layer_t *layer, int first, int end);
layer_t layer_cut_inputs(const layer_t *layer, int first, int end);
void layer_free(layer_t *layer);

/* out[rows][outputs] = in[rows][inputs] times the weights. */
void layer_forward(const layer_t *layer, const double *in, int rows, double *out);

/* Add to the gradients of the layer, and set those of its inputs (NULL: nobody needs them). */
void layer_backward(layer_t *layer, const double *in, const double *out_slopes, int rows,
                    double *in_slopes);

/* Go RATE against the gradients of one batch, and set them to 0 for the next. */
void layer_step(layer_t *layer);

void tanh_forward(double *values, int count);
void tanh_backward(const double *values, double *slopes, int count);

/* Make probabilities of numbers. Returns which is the greatest. */
int softmax(double *values, int count);

/* How the last epoch went; the ranks of a communicator add up what they have. */
typedef struct outcome {
    double loss;    /* a sum over digits */
    double right;   /* how many digits were recognised before they were learned */
    double seconds; /* of all epochs */
} outcome_t;

/* The slopes of the loss by the last layer's outputs; the loss goes into `outcome`. */
void loss_backward(const double *out, const int *labels, int rows, double *slopes,
                   outcome_t *outcome);

/* Time in one kind of call, waiting for slower ranks included. */
typedef struct comm_clock {
    double begin_s, seconds, bytes;
    int calls;
} comm_clock_t;

void clock_start(comm_clock_t *clock);
void clock_stop(comm_clock_t *clock, int doubles);

typedef struct layer_size {
    int inputs, outputs;
} layer_size_t;

/* The network that data, tensor and pipeline parallelism train. */
extern const layer_size_t net_sizes[LAYERS];

/* One training of a network, by the ranks of a communicator. */
typedef struct training {
    MPI_Comm comm;
    int rank, ranks;
    layer_t layers[MOST_LAYERS];
    int layer_count;
    comm_clock_t clock, sum_clock; /* the latter where there are two kinds of calls */
    outcome_t outcome;
} training_t;

/* Train with the BATCH digits from `first` on. */
typedef void batch_fn_t(training_t *training, int first);

/* Communication of `count` doubles, as the training does it. */
typedef void operation_fn_t(double *values, int count, MPI_Comm comm);

/* MPI_Init, the digits, and a communicator of the first ranks, `most` of them or fewer: `why` says
 * what there are no more of. MPI_COMM_NULL on ranks that are left over. */
MPI_Comm training_begin(int *argc, char ***argv, int most, const char *why);

/* Compare the outcome of all ranks of `comm`, print the last line, MPI_Finalize. Returns the exit
 * code. */
int training_end(MPI_Comm comm);

/* The same weights at each start. */
void training_start(training_t *training, MPI_Comm comm, const layer_size_t *sizes, int count);
void training_free(training_t *training);

/* All epochs; rank 0 prints a line that begins with `name`. */
void training_run(training_t *training, batch_fn_t *batch, const char *name);

/* The same training by rank 0 alone, on MPI_COMM_SELF; all ranks of `comm` get its weights. */
void training_alone(training_t *training, MPI_Comm comm, const layer_size_t *sizes, int count,
                    batch_fn_t *batch);

/* Rank 0 prints what a clock says of a call in the training. Then the call is repeated alone, with
 * as many bytes, for the bandwidths as nccl-tests define them: bytes by time (algbw), and this
 * times bus_factor, which makes it comparable to the speed of the wire (busbw). */
void clock_print(const training_t *training, const comm_clock_t *clock, const char *name,
                 double bus_factor, operation_fn_t *operation);
double bus_factor_of_allreduce(int ranks);
double bus_factor_of_alltoall(int ranks);

/* Are these the same weights, bit by bit (or, with ordinary sums, nearly)? training_end tells. */
void compare_weights(const layer_t *ours, const layer_t *alone);

#endif
