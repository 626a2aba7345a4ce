/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench.h"

#include <mpi.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char bench_help[] =
    "options:\n"
    "  -m MIN:MAX  sizes from MIN to MAX bytes, doubling (K, M and G are understood; :MAX and MIN: "
    "too)\n"
    "  -s LIST     these sizes: 0,8,1K,64K\n"
    "  -i N        timed iterations          -x N  untimed ones before them\n"
    "  -W N        messages in a window      -t S  at most about S seconds a size\n"
    "  -f          also least, greatest, iterations\n"
    "  -c          check the results         --json, -j  a JSON object a line\n";

/* One size's outcome on rank 0: microseconds of an iteration, over the ranks that took part. */
typedef struct outcome {
    double mean_us, min_us, max_us;
    int iterations;
    long wrong;
} outcome_t;

double bench_now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
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
}

/* Neighbouring streams and neighbouring bytes differ, so that a shifted or swapped block shows. */
static unsigned char stream_byte(unsigned seed, size_t at)
{
    return (unsigned char)(seed * 37 + at * 11 + (at >> 8) * 5 + 1);
}

void bench_fill(void *buffer, size_t bytes, unsigned seed)
{
    unsigned char *to = buffer;

    for (size_t i = 0; i < bytes; i++)
        to[i] = stream_byte(seed, i);
}

size_t bench_wrong(const void *buffer, size_t bytes, unsigned seed)
{
    const unsigned char *from = buffer;
    size_t wrong = 0;

    for (size_t i = 0; i < bytes; i++)
        wrong += from[i] != stream_byte(seed, i);
    return wrong;
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

/* "64K" in bytes; false if it is no size or something stands behind it. */
static bool parse_size(const char *text, char stop, size_t *out, const char **rest)
{
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    const char *suffix = *end != '\0' ? strchr("KMG", *end) : NULL;

    if (end == text)
        return false;
    if (suffix != NULL) {
        value <<= 10 * (suffix - "KMG" + 1);
        end++;
    }
    if (*end != stop && *end != '\0')
        return false;
    *out = (size_t)value;
    *rest = *end == '\0' ? end : end + 1;
    return true;
}

static bool parse_list(const char *text, bench_options_t *out)
{
    out->size_count = 0;
    while (*text != '\0' && out->size_count < BENCH_SIZES_MAX)
        if (!parse_size(text, ',', &out->sizes[out->size_count++], &text))
            return false;
    return out->size_count > 0 && *text == '\0';
}

static bool parse_range(const char *text, size_t *min, size_t *max)
{
    if (*text == ':')
        text++;
    else if (!parse_size(text, ':', min, &text))
        return false;
    return *text == '\0' || (parse_size(text, '\0', max, &text) && *text == '\0');
}

static void double_sizes(const bench_test_t *test, size_t min, size_t max, bench_options_t *out)
{
    size_t bytes = min;

    out->size_count = 0;
    do {
        out->sizes[out->size_count++] = bytes;
        bytes = bytes > 0 ? 2 * bytes : test->unit;
    } while (bytes <= max && out->size_count < BENCH_SIZES_MAX);
}

static bool parse_count(const char *text, int least, int *out)
{
    char *end;
    long value = strtol(text, &end, 10);

    if (end == text || *end != '\0' || value < least || value > INT32_MAX)
        return false;
    *out = (int)value;
    return true;
}

static bool parse_seconds(const char *text, double *out)
{
    char *end;

    *out = strtod(text, &end);
    return end != text && *end == '\0' && *out >= 0;
}

static bool parse_option(int letter, const char *text, bench_options_t *out, size_t range[2])
{
    switch (letter) {
    case 'm':
        out->size_count = 0;
        return parse_range(text, &range[0], &range[1]);
    case 's':
        return parse_list(text, out);
    case 'i':
        return parse_count(text, 1, &out->iterations);
    case 'x':
        return parse_count(text, 0, &out->warmup);
    case 'W':
        return parse_count(text, 1, &out->window);
    case 't':
        return parse_seconds(text, &out->limit_s);
    case 'f':
        return out->is_full = true;
    case 'c':
        return out->is_checked = true;
    case 'j':
        return out->is_json = true;
    default:
        return false;
    }
}

static bool parse_options(const bench_test_t *test, int argc, char **argv, bench_options_t *out)
{
    size_t range[2] = {test->min_bytes, test->max_bytes};
    int letter;

    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--json") == 0)
            argv[i] = "-j";
    *out = (bench_options_t){.warmup = -1, .window = 64};
    while ((letter = getopt(argc, argv, "m:s:i:x:W:t:fcj")) != -1)
        if (!parse_option(letter, optarg, out, range))
            return false;
    if (test->has_no_size)
        range[0] = range[1] = out->size_count = 0;
    if (out->size_count == 0)
        double_sizes(test, range[0], range[1], out);
    return optind == argc;
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

static void print_head(const bench_t *bench, const bench_test_t *test)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING];

    bench_library(library, sizeof(library));
    if (bench->options.is_json) {
        printf("{\"benchmark\": \"%s\", \"ranks\": %d, \"library\": \"%s\"}\n", test->name,
               bench->ranks, library);
        return;
    }
    printf("# %s, %d ranks, %s\n", test->name, bench->ranks, library);
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
    printf("\n");
}

/* Every rank must do the same number of iterations, so rank 0 says how many fit into the limit. */
static int fit_limit(bench_t *bench, const bench_test_t *test, size_t bytes, int iterations)
{
    double least_us = 1e300;
    int fitting = iterations;

    if (bench->options.limit_s <= 0)
        return iterations;
    for (int i = 0; i < 3; i++) { /* the first meets cold caches, any may be interrupted */
        double begin_us = bench_now_us();

        test->run(bench, bytes, 1);
        if (bench_now_us() - begin_us < least_us)
            least_us = bench_now_us() - begin_us;
    }
    if (least_us * iterations > bench->options.limit_s * 1e6)
        fitting = (int)(bench->options.limit_s * 1e6 / least_us);
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

static long count_wrong(bench_t *bench, const bench_test_t *test, size_t bytes)
{
    long mine, total = 0;

    free_buffers(bench);
    test->prepare(bench, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    test->run(bench, bytes, 1);
    mine = (long)test->check(bench, bytes);
    MPI_Allreduce(&mine, &total, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    return total;
}

static void measure(bench_t *bench, const bench_test_t *test, size_t bytes, outcome_t *out)
{
    const bench_options_t *options = &bench->options;
    int own = bytes > 8192 ? test->large_iterations : test->iterations;
    int iterations = options->iterations > 0 ? options->iterations : own;
    double us;

    test->prepare(bench, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    iterations = fit_limit(bench, test, bytes, iterations);
    test->run(bench, bytes, options->warmup >= 0 ? options->warmup : (iterations + 9) / 10);
    MPI_Barrier(MPI_COMM_WORLD);
    us = test->run(bench, bytes, iterations);
    *out = (outcome_t){.iterations = iterations};
    gather_times(us >= 0 ? us / iterations : us, out);
    if (options->is_checked && test->check != NULL)
        out->wrong = count_wrong(bench, test, bytes);
    free_buffers(bench);
}

static int run_sizes(bench_t *bench, const bench_test_t *test)
{
    int code = 0;

    if (bench->rank == 0)
        print_head(bench, test);
    for (int i = 0; i < bench->options.size_count; i++) {
        size_t bytes = bench->options.sizes[i];
        outcome_t outcome;

        measure(bench, test, bytes, &outcome);
        if (bench->rank == 0)
            (bench->options.is_json ? print_json : print_line)(bench, test, bytes, &outcome);
        fflush(stdout);
        if (outcome.wrong > 0)
            code = 1;
    }
    return code;
}

int bench_main(const bench_test_t *test, void *own, int argc, char **argv)
{
    bench_t bench = {.own = own};
    int code = 2;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &bench.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &bench.ranks);
    opterr = bench.rank == 0;
    if (!parse_options(test, argc, argv, &bench.options)) {
        if (bench.rank == 0)
            fprintf(stderr, "usage: %s [OPTION...]\n%s", test->name, bench_help);
    } else if (bench.ranks < test->min_ranks) {
        if (bench.rank == 0)
            fprintf(stderr, "%s needs %d ranks or more\n", test->name, test->min_ranks);
    } else {
        code = run_sizes(&bench, test);
    }
    MPI_Finalize();
    return code;
}
