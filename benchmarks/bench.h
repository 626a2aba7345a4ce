/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The harness of the benchmarks: options, warm-up, timing, statistics, output and checking. A
 * program describes itself by one bench_test_t and hands it to bench_main. Any MPI-3 library will
 * do: nothing here or in the programs is Weft's own.
 *
 * For each size: prepare, run (warm-up), run (timed), release; with -c then prepare, run once,
 * check, release.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>

#define BENCH_SIZES_MAX   64
#define BENCH_BUFFERS_MAX 8
#define BENCH_AREAS_MAX   2

/* run returns this on a rank whose time does not count. */
#define BENCH_NO_PART (-1.0)

typedef struct bench_area bench_area_t; /* bench_area.h */

/* What the command line says; see bench_help in bench_options.c. */
typedef struct bench_options {
    size_t sizes[BENCH_SIZES_MAX]; /* bytes of one message */
    int size_count;
    int iterations; /* 0: the test's own number */
    int warmup;     /* -1: a tenth of the iterations */
    int window;     /* messages under way at once, for the bandwidth tests */
    int threads;    /* of each rank, for the tests with threads */
    int depth;      /* other receives or messages, for the tests of queues */
    double limit_s; /* most seconds that one size may take; 0: no limit */
    bool is_full, is_checked, is_json;

    char placement[2];       /* 'H' host, 'D' device, 'M' managed, 'V' virtual memory */
    bool is_staged;          /* device memory goes by way of pinned host memory */
    bool computes_elsewhere; /* what hides communication leaves the processor to others */
    int turns;         /* runs without and with staging, alternately; 0: one, as is_staged says */
    size_t most_bytes; /* of one buffer: larger sizes are left out; 0: no limit */
    size_t block_bytes, stride_bytes; /* of a strided message; block 0: contiguous */
    size_t lead[2]; /* bytes from a page's start to what is sent and received, in host memory */
} bench_options_t;

typedef struct bench {
    int rank, ranks; /* in MPI_COMM_WORLD */
    bench_options_t options;
    void *buffers[BENCH_BUFFERS_MAX]; /* of this size; released by the harness after it */
    int buffer_count;
    bench_area_t *areas[BENCH_AREAS_MAX]; /* likewise */
    int area_count;
    bool is_staged; /* in the run that is being timed */
    int slots; /* staged messages of an area under way at once; set by prepare before the areas */
    void *own; /* the program's, for its own use */
} bench_t;

/* Turns the microseconds of one iteration into what a column shows. */
typedef double (*bench_value_fn_t)(const bench_t *bench, size_t bytes, double us);

typedef struct bench_test {
    const char *name;                   /* as in the output: "weft_latency" */
    const char *column, *second_column; /* heads with their units; the second may be NULL */
    bench_value_fn_t value, second;     /* value NULL: the microseconds themselves */
    size_t min_bytes, max_bytes, unit;  /* if no sizes are given; sizes are multiples of unit */
    bool has_no_size;                   /* one line, without a size: a barrier */
    bool takes_vector;                  /* --vector */
    bool has_blocks;                    /* buffers have room for a message of each rank */
    bool has_threads;                   /* several threads call MPI at the same time */
    int min_ranks;
    int iterations, large_iterations; /* up to 8 KiB, above */

    /* Get and fill the buffers for `bytes`. */
    void (*prepare)(bench_t *bench, size_t bytes);
    /* The microseconds that `iterations` took on this rank, or BENCH_NO_PART. */
    double (*run)(bench_t *bench, size_t bytes, int iterations);
    /* Wrong bytes or elements in this rank's buffers after one iteration. NULL: nothing to
     * check. */
    size_t (*check)(bench_t *bench, size_t bytes);
    /* Gives back what prepare has made beside buffers and areas. NULL: nothing. */
    void (*release)(bench_t *bench);
    void *own; /* becomes bench->own */
} bench_test_t;

/**
 * The whole program: MPI_Init, options, every size of every test, output on rank 0, MPI_Finalize.
 *
 * tests    [count]; the options are the first one's, so several have the same sizes
 * returns  the exit code: 0; 1 if a check failed; 2 if the command line or the number of ranks is
 *          wrong; 77 if there is no device
 */
int bench_main(const bench_test_t *tests, int count, int argc, char **argv);

/**
 * Choose one of several tests of a program: by the first argument, if that is a name (it is then
 * taken out of argv), else by the program's own name (weft_<name>, a link).
 *
 * names    ends with NULL
 * returns  the index; -1 after a line that lists the names
 */
int bench_choose(const char *const names[], int *argc, char ***argv);

/**
 * Read the command line.
 *
 * returns  false, after a line (if is_talkative) that names what is wrong
 */
bool bench_options_parse(const bench_test_t *test, int argc, char **argv, bool is_talkative,
                         bench_options_t *out);

/* A page-aligned buffer of at least one byte whose pages have all been written (`fill`). Freed by
 * the harness. */
void *bench_buffer(bench_t *bench, size_t bytes, unsigned char fill);

/* A value function: half of a round trip. */
double bench_half(const bench_t *bench, size_t bytes, double us);

/* CLOCK_MONOTONIC, so that no library is charged for its MPI_Wtime. */
double bench_now_us(void);

/* The library's name and version: the first line of MPI_Get_library_version up to a comma or
 * bracket, since the text behind it may name the machine that built the library. */
void bench_library(char *out, size_t bytes);

#endif
