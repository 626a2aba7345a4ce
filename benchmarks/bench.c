/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench.h"
#include "bench_area.h"
#include "bench_device.h"
#include "bench_method.h"

#include <mpi.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* One size's outcome on rank 0: microseconds of an iteration, over the ranks that took part. */
typedef struct outcome {
    double mean_us, min_us, max_us;
    int iterations;
    long wrong;
    char method[128]; /* of collectives on device memory; "": not known, or none */
} outcome_t;

double bench_now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

double bench_half(const bench_t *bench, size_t bytes, double us)
{
    (void)bench;
    (void)bytes;
    return us / 2;
}

void *bench_buffer(bench_t *bench, size_t bytes, unsigned char fill)
{
    void *buffer = NULL;
    size_t length = bytes > 0 ? bytes : 1;

    if (bench->buffer_count == BENCH_BUFFERS_MAX ||
        posix_memalign(&buffer, (size_t)sysconf(_SC_PAGESIZE), length) != 0) {
        fprintf(stderr, "rank %d: no buffer of %zu bytes\n", bench->rank, bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    memset(buffer, fill, length);
    bench->buffers[bench->buffer_count++] = buffer;
    return buffer;
}

static void free_buffers(bench_t *bench)
{
    while (bench->buffer_count > 0)
        free(bench->buffers[--bench->buffer_count]);
    while (bench->area_count > 0)
        bench_area_release(bench->areas[--bench->area_count]);
}

void bench_library(char *out, size_t bytes)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING], *details;
    size_t used = 0;
    int length;

    MPI_Get_library_version(text, &length);
    text[strcspn(text, ",\n\r\"\\")] = '\0';
    details = strstr(text, " (");
    if (details != NULL)
        *details = '\0';
    for (const char *at = text; *at != '\0' && used + 1 < bytes; at++) {
        char next = *at == '\t' ? ' ' : *at;

        if (next != ' ' || (used > 0 && out[used - 1] != ' ')) /* no two blanks */
            out[used++] = next;
    }
    out[used] = '\0';
}

static int index_of(const char *const names[], const char *name)
{
    for (int i = 0; names[i] != NULL; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

int bench_choose(const char *const names[], int *argc, char ***argv)
{
    const char *slash = strrchr((*argv)[0], '/');
    const char *base = slash != NULL ? slash + 1 : (*argv)[0];
    int chosen = *argc > 1 ? index_of(names, (*argv)[1]) : -1;

    if (chosen >= 0) {
        (*argc)--;
        (*argv)++;
        return chosen;
    }
    if (strncmp(base, "weft_", 5) == 0)
        chosen = index_of(names, base + 5);
    if (chosen >= 0)
        return chosen;
    fprintf(stderr, "usage: %s NAME [OPTION...], where NAME is one of", base);
    for (int i = 0; names[i] != NULL; i++)
        fprintf(stderr, " %s", names[i]);
    fprintf(stderr, "\n");
    return -1;
}

/* "D H, staged, blocks of 8 B every 64 B" */
static void memory_in_words(const bench_t *bench, char *out, size_t bytes)
{
    const bench_options_t *options = &bench->options;
    int used = snprintf(out, bytes, "%c %c%s", options->placement[0], options->placement[1],
                        options->is_staged ? ", staged" : "");

    if (options->block_bytes > 0)
        snprintf(out + used, bytes - (size_t)used, ", blocks of %zu B every %zu B",
                 options->block_bytes, options->stride_bytes);
}

static void print_head(const bench_t *bench, const bench_test_t *test)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING], memory[64];

    bench_library(library, sizeof(library));
    memory_in_words(bench, memory, sizeof(memory));
    if (bench->options.is_json) {
        printf("{\"benchmark\": \"%s\", \"ranks\": %d, \"library\": \"%s\", \"memory\": \"%s\"}\n",
               test->name, bench->ranks, library, memory);
        return;
    }
    printf("# %s, %d ranks, %s, %s\n", test->name, bench->ranks, library, memory);
    printf(test->has_no_size ? "#%*s" : "# Size    %*s", 20, test->column);
    if (test->second_column != NULL)
        printf("%20s", test->second_column);
    if (bench->options.is_full)
        printf("%20s%20s%12s", "Min", "Max", "Iterations");
    printf("%s\n", bench->options.is_checked ? "  Check" : "");
}

static double in_column(const bench_t *bench, const bench_test_t *test, size_t bytes, double us)
{
    return test->value != NULL ? test->value(bench, bytes, us) : us;
}

static void print_json(const bench_t *bench, const bench_test_t *test, size_t bytes,
                       const outcome_t *outcome)
{
    printf("{\"bytes\": %zu, \"value\": %.4f, \"unit\": \"%s\"", bytes,
           in_column(bench, test, bytes, outcome->mean_us), test->column);
    if (test->second != NULL)
        printf(", \"second\": %.4f, \"second_unit\": \"%s\"",
               test->second(bench, bytes, outcome->mean_us), test->second_column);
    printf(", \"us\": %.4f, \"min_us\": %.4f, \"max_us\": %.4f, \"iterations\": %d",
           outcome->mean_us, outcome->min_us, outcome->max_us, outcome->iterations);
    if (bench->options.is_checked)
        printf(", \"wrong\": %ld", outcome->wrong);
    printf(", \"staged\": %s", bench->is_staged ? "true" : "false");
    if (outcome->method[0] != '\0')
        printf(", \"method\": \"%s\"", outcome->method);
    printf("}\n");
}

static void print_line(const bench_t *bench, const bench_test_t *test, size_t bytes,
                       const outcome_t *outcome)
{
    if (test->has_no_size)
        printf(" %20.2f", in_column(bench, test, bytes, outcome->mean_us));
    else
        printf("%-10zu%20.2f", bytes, in_column(bench, test, bytes, outcome->mean_us));
    if (test->second != NULL)
        printf("%20.2f", test->second(bench, bytes, outcome->mean_us));
    if (bench->options.is_full)
        printf("%20.2f%20.2f%12d", in_column(bench, test, bytes, outcome->min_us),
               in_column(bench, test, bytes, outcome->max_us), outcome->iterations);
    if (bench->options.is_checked)
        printf(outcome->wrong == 0 ? "  pass" : "  FAIL (%ld wrong)", outcome->wrong);
    if (outcome->method[0] != '\0')
        printf("  %s", outcome->method);
    printf(bench->is_staged ? "  staged\n" : "\n");
}

/* The shortest of three iterations on this rank. One iteration is enough if it uses up the
 * limit. */
static double probe_us(bench_t *bench, const bench_test_t *test, size_t bytes)
{
    double least_us = 1e300, limit_us = bench->options.limit_s * 1e6;
    int goes_on = 1;

    /* The first iteration meets cold caches, and any may be interrupted. */
    for (int i = 0; i < 3 && goes_on; i++) {
        double begin_us = bench_now_us(), us;

        test->run(bench, bytes, 1);
        us = bench_now_us() - begin_us;
        least_us = us < least_us ? us : least_us;
        goes_on = us < limit_us;
        MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    return least_us;
}

/* Every rank must do the same number of iterations, so rank 0 says how many fit into the limit. */
static int fit_limit(bench_t *bench, const bench_test_t *test, size_t bytes, int iterations)
{
    double limit_us = bench->options.limit_s * 1e6, least_us;
    int fitting = iterations;

    if (limit_us <= 0)
        return iterations;
    least_us = probe_us(bench, test, bytes);
    if (least_us * iterations > limit_us)
        fitting = (int)(limit_us / least_us);
    fitting = fitting > 0 ? fitting : 1;
    MPI_Bcast(&fitting, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return fitting;
}

/* Mean, least and greatest of the ranks that took part, on rank 0. */
static void gather_times(double us, outcome_t *out)
{
    bool took_part = us >= 0;
    double sums[2] = {took_part ? us : 0, took_part}, total[2] = {0, 0};
    double bounds[2] = {took_part ? us : 0, took_part ? -us : -1e300}, greatest[2] = {0, 0};

    MPI_Reduce(sums, total, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(bounds, greatest, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    out->mean_us = total[0] / total[1];
    out->max_us = greatest[0];
    out->min_us = -greatest[1];
}

static void release(bench_t *bench, const bench_test_t *test)
{
    if (test->release != NULL)
        test->release(bench);
    free_buffers(bench);
}

static long count_wrong(bench_t *bench, const bench_test_t *test, size_t bytes)
{
    long mine, total = 0;

    release(bench, test);
    test->prepare(bench, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    test->run(bench, bytes, 1);
    mine = (long)test->check(bench, bytes);
    MPI_Allreduce(&mine, &total, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    return total;
}

static void stage(bench_t *bench, bool is_staged)
{
    bench->is_staged = is_staged;
    for (int i = 0; i < bench->area_count; i++)
        bench_area_use(bench->areas[i], is_staged);
}

static int warmup_for(const bench_t *bench, int iterations)
{
    if (bench->options.warmup >= 0)
        return bench->options.warmup;
    return iterations == 1 && bench->options.limit_s > 0 ? 0 : (iterations + 9) / 10;
}

/* Uses the buffers that prepare has made. Where one iteration fills the limit, the probe of
 * fit_limit is the only warm-up. */
static void measure(bench_t *bench, const bench_test_t *test, size_t bytes, outcome_t *out)
{
    const bench_options_t *options = &bench->options;
    int own = bytes > 8192 ? test->large_iterations : test->iterations;
    int iterations = options->iterations > 0 ? options->iterations : own;
    double us;

    MPI_Barrier(MPI_COMM_WORLD);
    iterations = fit_limit(bench, test, bytes, iterations);
    test->run(bench, bytes, warmup_for(bench, iterations));
    MPI_Barrier(MPI_COMM_WORLD);
    bench_method_begin();
    us = test->run(bench, bytes, iterations);
    *out = (outcome_t){.iterations = iterations};
    bench_method_end(out->method, sizeof(out->method));
    gather_times(us >= 0 ? us / iterations : us, out);
    if (options->is_checked && test->check != NULL)
        out->wrong = count_wrong(bench, test, bytes);
}

/* Measure and print; false if the result is wrong. */
static bool measure_way(bench_t *bench, const bench_test_t *test, size_t bytes, bool is_staged)
{
    outcome_t outcome;

    stage(bench, is_staged);
    measure(bench, test, bytes, &outcome);
    if (bench->rank == 0)
        (bench->options.is_json ? print_json : print_line)(bench, test, bytes, &outcome);
    fflush(stdout);
    return outcome.wrong == 0;
}

static bool measure_size(bench_t *bench, const bench_test_t *test, size_t bytes)
{
    bool is_right = true;

    stage(bench, bench->options.is_staged);
    test->prepare(bench, bytes);
    for (int i = 0; i < bench->options.turns; i++) {
        is_right &= measure_way(bench, test, bytes, false);
        is_right &= measure_way(bench, test, bytes, true);
    }
    if (bench->options.turns == 0)
        is_right = measure_way(bench, test, bytes, bench->options.is_staged);
    release(bench, test);
    return is_right;
}

/* All ranks have the same options, so all leave the same sizes out. */
static bool is_too_large(const bench_t *bench, const bench_test_t *test, size_t bytes)
{
    size_t blocks = test->has_blocks ? (size_t)bench->ranks : 1, most = bench->options.most_bytes;

    return most > 0 && bytes > most / blocks;
}

static int run_sizes(bench_t *bench, const bench_test_t *test)
{
    int code = 0, sizes = test->has_no_size ? 1 : bench->options.size_count;

    bench->own = test->own;
    if (bench->rank == 0)
        print_head(bench, test);
    for (int i = 0; i < sizes; i++) {
        size_t bytes = test->has_no_size ? 0 : bench->options.sizes[i];

        if (!is_too_large(bench, test, bytes) && !measure_size(bench, test, bytes))
            code = 1;
    }
    return code;
}

static int run_tests(bench_t *bench, const bench_test_t *tests, int count)
{
    int code = 0;

    for (int i = 0; i < count; i++)
        code |= run_sizes(bench, &tests[i]);
    return code;
}

/* This rank's number among the ranks of its host: from the launcher's variables, else from MPI. */
static int local_rank(void)
{
    static const char *const names[] = {"MPI_LOCALRANKID",           "OMPI_COMM_WORLD_LOCAL_RANK",
                                        "MV2_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID",
                                        "PALS_LOCAL_RANKID",         "LOCAL_RANK"};
    MPI_Comm host;
    int rank;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *text = getenv(names[i]);

        if (text != NULL && *text >= '0' && *text <= '9')
            return (int)strtol(text, NULL, 10);
    }
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &rank);
    MPI_Comm_free(&host);
    return rank;
}

/* The same result on all ranks: false if one of them has no device. */
static bool open_device(const bench_options_t *options)
{
    int is_open = 1, all_open;

    if (options->placement[0] == 'H' && options->placement[1] == 'H')
        return true;
    is_open = bench_device_open(local_rank());
    bench_method_open();
    MPI_Allreduce(&is_open, &all_open, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all_open;
}

static void init(bool has_threads, int *argc, char ***argv)
{
    int provided = MPI_THREAD_SINGLE;

    if (!has_threads) {
        MPI_Init(argc, argv);
        return;
    }
    MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE) {
        fprintf(stderr, "this library has no MPI_THREAD_MULTIPLE\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

int bench_main(const bench_test_t *tests, int count, int argc, char **argv)
{
    bench_t bench = {.slots = 1};
    int code = 2;

    init(tests->has_threads, &argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &bench.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &bench.ranks);
    if (!bench_options_parse(tests, argc, argv, bench.rank == 0, &bench.options))
        code = 2;
    else if (bench.ranks < tests->min_ranks && bench.rank == 0)
        fprintf(stderr, "%s needs %d ranks or more\n", tests->name, tests->min_ranks);
    else if (bench.ranks >= tests->min_ranks)
        code = open_device(&bench.options) ? run_tests(&bench, tests, count) : 77;
    bench_method_close();
    MPI_Finalize();
    return code;
}
