/* SPDX-License-Identifier: BSD-3-Clause */
#include "info/info_explain.h"

#include "info/info_options.h"
#include "devcoll/devcoll.h"
#include "devcoll/method.h"
#include "simulator/simulator.h"
#include "base/config.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static void print_choice(const weft_choice_t *choice)
{
    printf("%s", choice->algorithm->name);
    if ((choice->algorithm->has & WEFT_HAS_RADIX) != 0)
        printf(",radix=%d", choice->radix);
    if (choice->segment_bytes > 0)
        printf(",segment=%zu", choice->segment_bytes);
}

static void print_line(const char *where, const weft_tuning_query_t *query)
{
    weft_choice_t choice = weft_tuning_choose(query);
    printf("%-23s ", where);
    print_choice(&choice);
    printf(": %s\n%-23s line %d of %s%s\n", choice.algorithm->cost, "", choice.line,
           weft_tuning_table(), choice.is_modelled ? ", which leaves it to the model" : "");
}

static void print_model(const weft_tuning_query_t *query, const char *fabric)
{
    printf("\nThe model, for %s:\n", fabric[0] == '\0' ? "net" : fabric);
    for (const weft_algorithm_t *its = weft_coll_algorithms(query->coll); its->name != NULL;
         its++) {
        weft_choice_t choice = weft_tuning_tune(query, its);
        if (its->cost_us == NULL)
            continue;
        printf("%12.2f us  ", choice.estimate_us);
        print_choice(&choice);
        printf("%s\n", (its->needs & ~query->has) != 0 ? "  (does not do here)" : "");
    }
}

/* The methods that are possible where no method before `first` is. */
static unsigned methods_from(int first, weft_coll_t coll)
{
    weft_method_scope_t scope = weft_device_methods[first]->scope;
    unsigned possible = 0;
    for (int i = first; i < WEFT_METHODS; i++) {
        const weft_device_method_t *its = weft_device_methods[i];
        if ((its->scope == scope || its->scope == WEFT_SCOPE_ANY) && its->knows(coll))
            possible |= 1u << i;
    }
    return possible;
}

/* The choice also depends on where the ranks are, and on what the others bring. */
static int explain_device(char **words)
{
    size_t ranks, bytes;
    weft_coll_t coll;
    if (!weft_info_coll(words[0], &coll) || !weft_info_number("RANKS", words[1], INT_MAX, &ranks) ||
        !weft_info_number("BYTES", words[2], SIZE_MAX / 2, &bytes))
        return 2;
    weft_devcoll_open();
    weft_tuning_open();
    for (int i = 0; i < WEFT_METHODS; i++) {
        int line;
        weft_method_index_t taken =
            weft_device_method_choose(coll, (int)ranks, bytes, methods_from(i, coll), &line);
        printf("%s:%*s %s: line %d\n", weft_device_methods[i]->where,
               31 - (int)strlen(weft_device_methods[i]->where), "",
               weft_device_methods[taken]->name, line);
    }
    weft_tuning_close();
    weft_devcoll_close();
    return 0;
}

/* A blocking call may use a wall. */
static void explain_one_host(weft_tuning_query_t query)
{
    weft_tuning_query_t blocking = query;
    blocking.has |= WEFT_NEEDS_WALL;
    print_line("blocking, enough cores:", &blocking);
    blocking.is_oversubscribed = true;
    print_line("blocking, cores short:", &blocking);
    print_line("others, enough cores:", &query);
    query.is_oversubscribed = true;
    print_line("others, cores short:", &query);
}

int weft_info_explain(int count, char **words)
{
    size_t ranks, bytes, nodes = 1;
    if (count == 4 && strcmp(words[3], "device") == 0)
        return explain_device(words);
    weft_simulation_t its = {.commutes = true, .fabric = count > 4 ? words[4] : ""};
    if (count < 3 || count > 5) {
        fprintf(stderr, "weft_info: --explain COLLECTIVE RANKS BYTES [NODES [FABRIC]]\n"
                        "           --explain COLLECTIVE RANKS BYTES device\n");
        return 2;
    }
    if (!weft_info_coll(words[0], &its.coll) ||
        !weft_info_number("RANKS", words[1], INT_MAX, &ranks) ||
        !weft_info_number("BYTES", words[2], SIZE_MAX / 2, &bytes) ||
        (count > 3 && !weft_info_number("NODES", words[3], INT_MAX, &nodes)))
        return 2;
    if (ranks == 0 || nodes == 0 || ranks % nodes != 0) {
        fprintf(stderr, "weft_info: RANKS is %zu and NODES %zu; expected is a multiple of NODES\n",
                ranks, nodes);
        return 2;
    }
    weft_shape_t shape = weft_shape_blocks((int)nodes, (int)(ranks / nodes));
    weft_tuning_open();
    its.shape = &shape;
    its.bytes = bytes;
    weft_tuning_query_t query = weft_sim_query(&its);
    if (nodes == 1) {
        explain_one_host(query);
    } else {
        print_line("several nodes:", &query);
        query.any_is_oversubscribed = true;
        print_line("oversubscribed:", &query);
        print_model(&query, its.fabric);
    }
    weft_tuning_close();
    return 0;
}
