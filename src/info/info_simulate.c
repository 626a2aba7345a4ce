/* SPDX-License-Identifier: BSD-3-Clause */
#include "info/info_simulate.h"

#include "info/info_options.h"
#include "simulator/simulator.h"
#include "base/memory.h"
#include "base/nearest.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { RANKS_MAX = 1 << 24 };

typedef enum placement {
    IN_BLOCKS,
    IN_CYCLES,
    AT_RANDOM, /* the same number of nodes, each rank on a random one */
} placement_t;

typedef struct request {
    weft_coll_t coll;
    weft_info_list_t nodes, per_node, bytes;
    const char *fabric, *algorithm;
    placement_t placement;
    size_t root, islands, memory_bytes;
    bool is_in_place;
} request_t;

/* ---- the command line ---- */

typedef struct option {
    const char *name;
    bool (*read)(const char *name, const char *word, request_t *out);
    const char *help;
} option_t;

static bool read_nodes(const char *name, const char *word, request_t *out)
{
    return weft_info_numbers(name, word, RANKS_MAX, &out->nodes);
}

static bool read_per_node(const char *name, const char *word, request_t *out)
{
    return weft_info_numbers(name, word, 4096, &out->per_node);
}

static bool read_bytes(const char *name, const char *word, request_t *out)
{
    return weft_info_numbers(name, word, (size_t)1 << 40, &out->bytes);
}

static bool read_fabric(const char *name, const char *word, request_t *out)
{
    const char *names[64];
    int count = 0;
    for (; count < 64 && weft_fabric_name(count) != NULL; count++)
        names[count] = weft_fabric_name(count);
    out->fabric = word;
    if (weft_fabric_is_known(word))
        return true;
    fprintf(stderr, "weft_info: %s is %s, of which the table has no constants; the nearest is %s\n",
            name, word, weft_nearest(word, names, count));
    return false;
}

static bool read_algorithm(const char *name, const char *word, request_t *out)
{
    (void)name;
    out->algorithm = word;
    return true;
}

static bool simulate_read_placement(const char *name, const char *word, request_t *out)
{
    static const char *const words[] = {"blocks", "cyclic", "random"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(word, words[i]) == 0) {
            out->placement = (placement_t)i;
            return true;
        }
    }
    fprintf(stderr, "weft_info: %s is %s; expected is blocks, cyclic or random\n", name, word);
    return false;
}

static bool read_root(const char *name, const char *word, request_t *out)
{
    return weft_info_number(name, word, INT_MAX, &out->root);
}

static bool read_islands(const char *name, const char *word, request_t *out)
{
    return weft_info_number(name, word, INT_MAX, &out->islands);
}

static bool read_memory(const char *name, const char *word, request_t *out)
{
    return weft_info_number(name, word, (size_t)1 << 50, &out->memory_bytes);
}

static const option_t options[] = {
    {"--nodes", read_nodes, "N,...        numbers of nodes [2]"},
    {"--ppn", read_per_node, "N,...          ranks on each [1]"},
    {"--bytes", read_bytes, "N,...        of one rank, or of the vector; 8, 64K, 1M [8]"},
    {"--fabric", read_fabric, "NAME        provider: a row of the tuning table [net]"},
    {"--algorithm", read_algorithm,
     "NAME     perhaps with ,radix=K ,segment=N; or all [the choice]"},
    {"--placement", simulate_read_placement,
     "HOW      of ranks: blocks, cyclic or random [blocks]"},
    {"--root", read_root, "RANK          [0]"},
    {"--islands", read_islands, "N          nodes that are near each other: count bytes between"},
    {"--memory", read_memory, "BYTES       that a simulation may take [4096M]"},
};
enum { OPTIONS = sizeof(options) / sizeof(options[0]) };

static int simulate_print_help(void)
{
    puts("Usage: weft_info --simulate COLLECTIVE [OPTION VALUE]...\n"
         "Run the plans of all ranks of a collective in the time of the cost model, and prove the "
         "result.\n");
    for (int i = 0; i < OPTIONS; i++)
        printf("  %s %s\n", options[i].name, options[i].help);
    return 0;
}

static bool read_option(const char *name, const char *word, request_t *out)
{
    const char *names[OPTIONS];
    for (int i = 0; i < OPTIONS; i++) {
        names[i] = options[i].name;
        if (strcmp(name, names[i]) != 0)
            continue;
        if (word != NULL)
            return options[i].read(name, word, out);
        fprintf(stderr, "weft_info: %s needs a value\n", name);
        return false;
    }
    fprintf(stderr, "weft_info: --simulate has no option %s; the nearest is %s\n", name,
            weft_nearest(name, names, OPTIONS));
    return false;
}

/* ---- shapes ---- */

/* Puts each rank on a random node. The numbers are the same in every run. */
static int open_random(size_t nodes, size_t ranks, weft_shape_t *out)
{
    uint64_t seed = 1;
    int *hosts = weft_alloc_array(ranks, sizeof(*hosts));
    if (hosts == NULL)
        return MPI_ERR_NO_MEM;
    for (size_t i = 0; i < ranks; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        hosts[i] = (int)((seed >> 33) % nodes);
    }
    int err = weft_shape_open(hosts, (int)ranks, (int)nodes, out);
    weft_free(hosts);
    return err;
}

static int open_shape(const request_t *request, size_t nodes, size_t per_node, weft_shape_t *out)
{
    if (request->placement == AT_RANDOM)
        return open_random(nodes, nodes * per_node, out);
    *out = request->placement == IN_CYCLES ? weft_shape_cyclic((int)nodes, (int)per_node)
                                           : weft_shape_blocks((int)nodes, (int)per_node);
    return MPI_SUCCESS;
}

/* ---- output ---- */

static void print_head(const request_t *request)
{
    printf("# %s over %s; bytes: %s\n", weft_coll_name(request->coll), request->fabric,
           request->coll == WEFT_BCAST || request->coll >= WEFT_REDUCE ? "the vector"
                                                                       : "of one rank");
    printf("# rounds: messages of the longest chain (between nodes); messages, bytes: most sent by "
           "a rank\n"
           "# net: all between nodes; bound: no algorithm is faster in this model; model: the "
           "formula\n");
    printf("%6s %4s %8s  %-34s %11s %9s %11s %11s%s %11s %11s %11s  %s\n", "nodes", "ppn", "bytes",
           "algorithm", "rounds", "messages", "bytes", "net bytes",
           request->islands > 0 ? "    far %" : "", "time us", "model us", "bound us", "result");
}

static void print_row(const request_t *request, const weft_simulation_t *its, size_t per_node,
                      const weft_sim_result_t *result)
{
    static const char *const depths[] = {"proved", "run, too large to prove",
                                         "too large: only counted, time by the formula", "WRONG: "};
    char name[64], rounds[32];
    int at = snprintf(name, sizeof(name), "%s", its->choice.algorithm->name);
    if ((its->choice.algorithm->has & WEFT_HAS_RADIX) != 0)
        at += snprintf(name + at, sizeof(name) - (size_t)at, ",radix=%d", its->choice.radix);
    if (its->choice.segment_bytes > 0)
        snprintf(name + at, sizeof(name) - (size_t)at, ",segment=%zu", its->choice.segment_bytes);
    snprintf(rounds, sizeof(rounds), "%d (%d)", result->rounds, result->net_rounds);
    bool is_counted = result->depth == WEFT_SIM_SAMPLED;
    printf("%6d %4zu %8zu  %-34s %11s %9.0f %11.4g ", its->shape->nodes, per_node, its->bytes, name,
           is_counted ? "-" : rounds, result->most_messages, result->most_bytes);
    if (is_counted)
        printf("%11s", "-");
    else
        printf("%11.4g", result->net_bytes);
    if (request->islands > 0)
        printf(" %8.1f", result->net_bytes > 0 ? 100 * result->far_bytes / result->net_bytes : 0);
    printf(" %11.2f %11.2f %11.2f  %s%s\n", result->time_us, its->choice.estimate_us,
           result->bound_us, depths[result->depth], result->complaint);
    fflush(stdout);
}

/* ---- simulating ---- */

static int simulate(const request_t *request, weft_simulation_t *its, size_t per_node)
{
    weft_sim_result_t result;
    if (weft_simulate(its, &result) != MPI_SUCCESS) {
        fprintf(stderr, "weft_info: no memory to simulate %d ranks\n", its->shape->ranks);
        return 1;
    }
    print_row(request, its, per_node, &result);
    return result.depth == WEFT_SIM_WRONG;
}

/* Simulates all algorithms that can do the call, each with the options that the model finds
 * best. */
static int simulate_all(const request_t *request, weft_simulation_t *its, size_t per_node)
{
    weft_tuning_query_t query = weft_sim_query(its);
    int code = 0;
    for (const weft_algorithm_t *algorithm = weft_coll_algorithms(its->coll);
         algorithm->name != NULL; algorithm++) {
        its->choice = weft_tuning_tune(&query, algorithm);
        if ((algorithm->needs & ~query.has) == 0 && simulate(request, its, per_node) != 0)
            code = 1;
    }
    return code;
}

static int simulate_named(const request_t *request, weft_simulation_t *its, size_t per_node)
{
    weft_tuning_query_t query = weft_sim_query(its);
    if (request->algorithm == NULL) {
        its->choice = weft_tuning_choose(&query);
    } else if (!weft_tuning_parse(its->coll, request->algorithm, &its->choice)) {
        fprintf(stderr, "weft_info: --algorithm is %s, which is none of %s\n", request->algorithm,
                weft_coll_name(its->coll));
        return 2;
    } else if (strchr(request->algorithm, ',') == NULL) {
        its->choice = weft_tuning_tune(&query, its->choice.algorithm);
    }
    if ((its->choice.algorithm->needs & ~query.has) == 0)
        return simulate(request, its, per_node);
    fprintf(stderr, "weft_info: %s does not do with this placement or number of bytes\n",
            its->choice.algorithm->name);
    return 2;
}

static int simulate_shape(const request_t *request, size_t nodes, size_t per_node, size_t bytes)
{
    weft_shape_t shape;
    if (nodes == 0 || per_node == 0 || nodes * per_node > RANKS_MAX ||
        request->root >= nodes * per_node) {
        fprintf(stderr, "weft_info: %zu nodes of %zu ranks, root %zu; expected are 1 to %d ranks\n",
                nodes, per_node, request->root, RANKS_MAX);
        return 2;
    }
    if (open_shape(request, nodes, per_node, &shape) != MPI_SUCCESS) {
        fprintf(stderr, "weft_info: no memory for %zu ranks\n", nodes * per_node);
        return 1;
    }
    weft_simulation_t its = {.coll = request->coll,
                             .shape = &shape,
                             .bytes = bytes,
                             .root = (int)request->root,
                             .fabric = request->fabric,
                             .island_nodes = (int)request->islands,
                             .memory_bytes = request->memory_bytes,
                             .commutes = true};
    bool all = request->algorithm != NULL && strcmp(request->algorithm, "all") == 0;
    int code =
        all ? simulate_all(request, &its, per_node) : simulate_named(request, &its, per_node);
    weft_shape_close(&shape);
    return code;
}

static int simulate_table(const request_t *request)
{
    int worst = 0;
    print_head(request);
    for (int i = 0; i < request->nodes.count; i++) {
        for (int j = 0; j < request->per_node.count; j++) {
            for (int k = 0; k < request->bytes.count; k++) {
                int code = simulate_shape(request, request->nodes.values[i],
                                          request->per_node.values[j], request->bytes.values[k]);
                worst = code > worst ? code : worst;
            }
        }
    }
    return worst;
}

int weft_info_simulate(int count, char **words)
{
    request_t request = {.nodes = {{2}, 1},
                         .per_node = {{1}, 1},
                         .bytes = {{8}, 1},
                         .fabric = "net",
                         .memory_bytes = (size_t)4 << 30};
    if (count == 0 || strcmp(words[0], "--help") == 0)
        return simulate_print_help();
    weft_tuning_open();
    int code = weft_info_coll(words[0], &request.coll) ? 0 : 2;
    for (int i = 1; code == 0 && i < count; i += 2)
        code = read_option(words[i], i + 1 < count ? words[i + 1] : NULL, &request) ? 0 : 2;
    if (code == 0)
        code = simulate_table(&request);
    weft_tuning_close();
    return code;
}
