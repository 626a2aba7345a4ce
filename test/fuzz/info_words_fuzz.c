/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The words of weft_info --explain, or (first byte 'S') the options of --simulate, a line each. The
 * program's objects are in no library, so its sources are included here.
 * fuzz: runs=40000 most=100 of=coll,base
 */
#include "input.h"

#include "info/info_explain.c"
#include "info/info_options.c"
#include "info/info_simulate.c"

enum { WORDS_MOST = 12 };

static int split(char *text, char **words)
{
    int count = 0;
    for (char *next = text; next != NULL && count < WORDS_MOST;)
        words[count++] = strsep(&next, "\n");
    return count;
}

static void read_options(int count, char **words)
{
    request_t request = {.fabric = "net"};
    for (int i = 0; i < count; i += 2) {
        if (!read_option(words[i], i + 1 < count ? words[i + 1] : NULL, &request))
            return;
    }
    fuzz_expect(request.nodes.count <= WEFT_INFO_LIST_MAX, "a list is too long");
    fuzz_expect(request.root <= INT_MAX && request.islands <= INT_MAX, "a number is too large");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static bool is_quiet;
    char *words[WORDS_MOST];
    fuzz_input_t input = {data, bytes};
    bool simulates = fuzz_byte(&input) == 'S';
    char *text = fuzz_text(input.at, input.left);
    int count = split(text, words);
    weft_config.COLL_TUNING = "";
    if (!is_quiet)
        is_quiet = freopen("/dev/null", "w", stdout) != NULL;
    if (simulates) {
        weft_tuning_open();
        read_options(count, words);
        weft_tuning_close();
    } else {
        weft_info_explain(count, words);
    }
    free(text);
    return 0;
}
