/* SPDX-License-Identifier: BSD-3-Clause */
#include "strict.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static strict_options_t options = {.seed = 1,
                                   .inject = SIZE_MAX,
                                   .iov = SIZE_MAX,
                                   .max_msg = SIZE_MAX,
                                   .tx = 64,
                                   .rx = 64,
                                   .reg_max = SIZE_MAX,
                                   .over = "tcp;ofi_rxm"};

static const struct {
    const char *word;
    bool *flag;
    size_t *number;
} words[] = {
    {"mr_local", &options.mr_local, NULL},
    {"prov_key", &options.prov_key, NULL},
    {"virt_addr", &options.virt_addr, NULL},
    {"mr_endpoint", &options.mr_endpoint, NULL},
    {"mr_allocated", &options.mr_allocated, NULL},
    {"context", &options.context, NULL},
    {"context2", &options.context2, NULL},
    {"reorder", &options.reorder, NULL},
    {"late_inject", &options.late_inject, NULL},
    {"no_rma", &options.no_rma, NULL},
    {"no_multi_recv", &options.no_multi_recv, NULL},
    {"no_wait", &options.no_wait, NULL},
    {"tell", &options.tell, NULL},
    {"hmem", &options.hmem, NULL},
    {"eagain", NULL, &options.eagain},
    {"inject", NULL, &options.inject},
    {"iov", NULL, &options.iov},
    {"max_msg", NULL, &options.max_msg},
    {"tx", NULL, &options.tx},
    {"rx", NULL, &options.rx},
    {"reg_max", NULL, &options.reg_max},
    {"reg_fail", NULL, &options.reg_fail},
    {"seed", NULL, &options.seed},
    {"nics", NULL, &options.nics},
    {"fail_send", NULL, &options.fail[STRICT_SEND]},
    {"fail_inject", NULL, &options.fail[STRICT_INJECT]},
    {"fail_read", NULL, &options.fail[STRICT_READ]},
    {"fail_recv", NULL, &options.fail[STRICT_RECV]},
    {"fail_cq", NULL, &options.fail_cq},
    {"deny_send", NULL, &options.deny[STRICT_SEND]},
    {"deny_inject", NULL, &options.deny[STRICT_INJECT]},
    {"deny_read", NULL, &options.deny[STRICT_READ]},
    {"deny_recv", NULL, &options.deny[STRICT_RECV]},
    {"deny_reg", NULL, &options.deny_reg},
    {"deny_av", NULL, &options.deny_av},
    {"hmem_fail", NULL, &options.hmem_fail},
};

void strict_die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "weft_strict: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    abort();
}

static size_t parse_size(const char *word, const char *text)
{
    char *end;
    size_t value = strtoull(text, &end, 10);
    if (*end == 'K' || *end == 'M')
        value <<= *end++ == 'K' ? 10 : 20;
    if (end == text || *end != '\0')
        strict_die("FI_WEFT_STRICT: %s=%s: expected a number", word, text);
    return value;
}

static void take_word(char *word)
{
    char *value = strchr(word, '=');
    if (value != NULL)
        *value++ = '\0';
    if (value != NULL && strcmp(word, "over") == 0) {
        snprintf(options.over, sizeof(options.over), "%s", value);
        return;
    }
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(word, words[i].word) != 0 || (value == NULL) != (words[i].flag != NULL))
            continue;
        if (value == NULL)
            *words[i].flag = true;
        else
            *words[i].number = parse_size(word, value);
        return;
    }
    strict_die("FI_WEFT_STRICT: %s is none of the words in test/fake/fabric/README.md", word);
}

const strict_options_t *strict_options(void)
{
    if (options.is_read)
        return &options;
    options.is_read = true;
    const char *text = getenv("FI_WEFT_STRICT");
    char *copy = strdup(text == NULL ? "" : text), *rest = copy, *word;
    while (copy != NULL && (word = strsep(&rest, ",")) != NULL) {
        if (*word != '\0')
            take_word(word);
    }
    free(copy);
    return &options;
}

unsigned strict_pick(unsigned below)
{
    static uint64_t state;
    if (state == 0)
        state = strict_options()->seed * 2862933555777941757ULL + 3037000493ULL;
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)(state >> 33) % below;
}
