/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench.h"

#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char bench_help[] =
    "options:\n"
    "  -m MIN:MAX  sizes from MIN to MAX bytes, doubling (K, M and G are understood; :MAX and MIN: "
    "too)\n"
    "  -s LIST     these sizes: 0,8,1K,64K\n"
    "  -i N        timed iterations          -x N  untimed ones before them\n"
    "  -W N        messages in a window      -t S  at most about S seconds a size\n"
    "  -T N        threads of a rank         --depth N  receives or messages in a queue\n"
    "  -f          also least, greatest, iterations\n"
    "  -c          check the results         --json, -j  a JSON object a line\n"
    "  -d TYPE     cuda: buffers in device memory; managed: in managed memory; virtual: of "
    "cuMemCreate\n"
    "  D H         in device, managed (M), virtual (V) and host memory: rank 0's and the other's; "
    "of collectives\n"
    "              the send and the receive buffer\n"
    "  --staged    the program copies device memory to pinned host memory and back itself\n"
    "  --turns N   each size N times without and with staging, in turns\n"
    "  -M BYTES    leave out sizes that need larger buffers\n"
    "  --vector BLOCK:STRIDE  messages are blocks of BLOCK bytes, one every STRIDE bytes\n"
    "  --lead SEND:RECEIVE    host memory begins so many bytes into a page; malloc's 16:16\n"
    "  --elsewhere  what hides communication computes elsewhere, as on a GPU: the rank sleeps\n";

enum { STAGED = 256, TURNS, VECTOR, LEAD, DEPTH, ELSEWHERE };

/* "64K" in bytes; false if the text is no size, or a character other than `stop` follows it. */
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

static bool parse_device(const char *text, bench_options_t *out)
{
    static const struct {
        const char *name;
        char place;
    } kinds[] = {{"cuda", 'D'}, {"managed", 'M'}, {"virtual", 'V'}};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        memset(out->placement, kinds[i].place, sizeof(out->placement));
        if (strcmp(text, kinds[i].name) == 0)
            return true;
    }
    return false;
}

static bool parse_vector(const char *text, bench_options_t *out)
{
    return parse_size(text, ':', &out->block_bytes, &text) && out->block_bytes > 0 &&
           parse_size(text, '\0', &out->stride_bytes, &text) && *text == '\0' &&
           out->stride_bytes >= out->block_bytes && out->stride_bytes <= INT32_MAX;
}

static bool parse_lead(const char *text, bench_options_t *out)
{
    return parse_size(text, ':', &out->lead[0], &text) &&
           parse_size(text, '\0', &out->lead[1], &text) && *text == '\0';
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
    case 'T':
        return parse_count(text, 1, &out->threads);
    case DEPTH:
        return parse_count(text, 1, &out->depth);
    case 't':
        return parse_seconds(text, &out->limit_s);
    case 'f':
        return out->is_full = true;
    case 'c':
        return out->is_checked = true;
    case 'j':
        return out->is_json = true;
    case 'd':
        return parse_device(text, out);
    case STAGED:
        return out->is_staged = true;
    case TURNS:
        return parse_count(text, 1, &out->turns);
    case 'M':
        return parse_size(text, '\0', &out->most_bytes, &text) && *text == '\0';
    case VECTOR:
        return parse_vector(text, out);
    case LEAD:
        return parse_lead(text, out);
    case ELSEWHERE:
        return out->computes_elsewhere = true;
    default:
        return false;
    }
}

static bool complain(bool is_talkative, const char *what, const char *value)
{
    if (is_talkative)
        fprintf(stderr, "%s %s\n", what, value);
    return false;
}

/* "D H", after the options. */
static bool parse_placement(char **words, int count, bench_options_t *out)
{
    for (int i = 0; i < count && i < 2; i++) {
        if (strlen(words[i]) != 1 || strchr("HDMV", words[i][0]) == NULL)
            return false;
        out->placement[i] = words[i][0];
    }
    return count == 0 || count == 2;
}

/* Each size must be a multiple of a block. */
static bool has_whole_blocks(const bench_options_t *options)
{
    for (int i = 0; i < options->size_count && options->block_bytes > 0; i++)
        if (options->sizes[i] % options->block_bytes != 0)
            return false;
    return true;
}

static bool parse_words(int argc, char **argv, bench_options_t *out, size_t range[2])
{
    static const struct option longer[] = {{"json", no_argument, NULL, 'j'},
                                           {"staged", no_argument, NULL, STAGED},
                                           {"turns", required_argument, NULL, TURNS},
                                           {"vector", required_argument, NULL, VECTOR},
                                           {"lead", required_argument, NULL, LEAD},
                                           {"depth", required_argument, NULL, DEPTH},
                                           {"elsewhere", no_argument, NULL, ELSEWHERE},
                                           {NULL, 0, NULL, 0}};
    int letter;

    while ((letter = getopt_long(argc, argv, "m:s:i:x:W:T:t:fcjd:M:", longer, NULL)) != -1)
        if (!parse_option(letter, optarg, out, range))
            return false;
    return parse_placement(argv + optind, argc - optind, out);
}

bool bench_options_parse(const bench_test_t *test, int argc, char **argv, bool is_talkative,
                         bench_options_t *out)
{
    size_t range[2] = {test->min_bytes, test->max_bytes};

    opterr = is_talkative;
    *out = (bench_options_t){
        .warmup = -1, .window = 64, .threads = 4, .depth = 1000, .placement = {'H', 'H'}};
    if (!parse_words(argc, argv, out, range)) {
        if (is_talkative)
            fprintf(stderr, "usage: %s [OPTION...] [D H]\n%s", test->name, bench_help);
        return false;
    }
    if (out->block_bytes > 0 && !test->takes_vector)
        return complain(is_talkative, "--vector is not known to", test->name);
    if (out->block_bytes > range[0] && out->size_count == 0)
        range[0] = out->block_bytes;
    if (out->size_count == 0)
        double_sizes(test, range[0], range[1], out);
    if (!has_whole_blocks(out))
        return complain(is_talkative, "--vector: sizes must be multiples of the block in",
                        test->name);
    return true;
}
