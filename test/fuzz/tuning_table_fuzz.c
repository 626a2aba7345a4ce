/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines of a tuning table, and choices by it. Whatever it says, each collective gets an algorithm.
 * fuzz: runs=40000 most=400 of=coll,base
 */
#include "input.h"

#include "base/config.h"
#include "base/log.h"
#include "coll/tuning.h"

static void choose(weft_coll_t coll, int ranks, size_t bytes, int nodes)
{
    const weft_tuning_query_t query = {.coll = coll,
                                       .ranks = ranks,
                                       .bytes = bytes,
                                       .nodes = nodes,
                                       .least = ranks / nodes,
                                       .most = ranks / nodes,
                                       .fabric = nodes > 1 ? "net" : NULL};
    weft_choice_t choice = weft_tuning_choose(&query);
    fuzz_expect(choice.algorithm != NULL && choice.algorithm->name != NULL, "no algorithm");
    fuzz_expect((choice.algorithm->needs & ~query.has) == 0, "an algorithm that cannot run");
}

/* The path of a table with these lines, and the built-in ones behind them unless the first byte is
 * '!'. */
static const char *make_table(const uint8_t *data, size_t bytes)
{
    size_t rest = bytes > 0 && data[0] == '!' ? 0 : strlen(weft_tuning_text);
    char *text = malloc(bytes + 1 + rest);
    if (bytes > 0)
        memcpy(text, data, bytes);
    text[bytes] = '\n';
    memcpy(text + bytes + 1, weft_tuning_text, rest);
    const char *path = fuzz_file(text, bytes + 1 + rest);
    free(text);
    return path;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    weft_choice_t choice;
    weft_log_threshold = -1;
    weft_config.COLL_TUNING = make_table(data, bytes);
    weft_tuning_open();
    for (int coll = 0; coll < WEFT_COLLS; coll++) {
        choose((weft_coll_t)coll, 4, 100, 1);
        choose((weft_coll_t)coll, 48, 1 << 20, 3);
        weft_tuning_choose_method((weft_coll_t)coll, 4, 1000, 7);
    }
    weft_tuning_close();
    char *word = fuzz_text(data, bytes);
    weft_tuning_parse((weft_coll_t)(bytes % WEFT_COLLS), word, &choice);
    free(word);
    return 0;
}
