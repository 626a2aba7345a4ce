/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CONNECTIONS_OF_CLIENT = 2 /* of MPS, by default */
};

static sim_options_t options = {.devices = 1,
                                .late_ms = 2,
                                .seed = 1,
                                .capability = 90,
                                .version = CUDA_VERSION,
                                .memory = (size_t)16 << 30,
                                .peers = "all"};

static const struct {
    const char *word;
    bool *flag;
    unsigned *number;
    char *text;
    size_t text_bytes;
} words[] = {
    {"devices", NULL, &options.devices, NULL, 0},
    {"late", NULL, &options.late_ms, NULL, 0},
    {"seed", NULL, &options.seed, NULL, 0},
    {"per_task", NULL, &options.per_task, NULL, 0},
    {"capability", NULL, &options.capability, NULL, 0},
    {"multicast", NULL, &options.multicast, NULL, 0},
    {"version", NULL, &options.version, NULL, 0},
    {"fault", NULL, &options.fault, NULL, 0},
    {"strict", NULL, &options.strict, NULL, 0},
    {"depth", NULL, &options.depth, NULL, 0},
    {"connections", NULL, &options.connections, NULL, 0},
    {"mps", NULL, &options.mps, NULL, 0},
    {"turns", NULL, &options.turns, NULL, 0},
    {"fabric", &options.fabric, NULL, NULL, 0},
    {"watchdog", &options.watchdog, NULL, NULL, 0},
    {"lazy", &options.lazy, NULL, NULL, 0},
    {"tell", &options.tell, NULL, NULL, 0},
    {"count", &options.count, NULL, NULL, 0},
    {"peers", NULL, NULL, options.peers, sizeof(options.peers)},
    {"peers_lie", NULL, NULL, options.peers_lie, sizeof(options.peers_lie)},
    {"kernels", NULL, NULL, options.kernels, sizeof(options.kernels)},
};

static unsigned long long parse_number(const char *word, const char *text, char **end)
{
    unsigned long long value = strtoull(text, end, 10);
    if (*end == text)
        sim_die("SIMCUDA: %s=%s: expected a number", word, text);
    return value;
}

static unsigned whole_number(const char *word, const char *text)
{
    char *end;
    unsigned long long value = parse_number(word, text, &end);
    if (*end != '\0' || value > UINT32_MAX)
        sim_die("SIMCUDA: %s=%s: expected a number", word, text);
    return (unsigned)value;
}

static size_t parse_bytes(const char *word, const char *text)
{
    char *end;
    size_t value = parse_number(word, text, &end);
    const char *units = "KMGT", *unit = *end == '\0' ? NULL : strchr(units, *end);
    if (*end != '\0' && (unit == NULL || end[1] != '\0'))
        sim_die("SIMCUDA: %s=%s: expected bytes, like 512M", word, text);
    return unit == NULL ? value : value << 10 * (unit - units + 1);
}

/* Parses NAME:N[+][:CODE][@RANK], but leaves CODE, if there is one, to the caller. */
static sim_failure_t *take_failure(const char *word, char *text, char **code_out)
{
    if (options.failure_count == sizeof(options.failures) / sizeof(options.failures[0]))
        sim_die("SIMCUDA: %s=%s: there are too many failures", word, text);
    sim_failure_t *failure = &options.failures[options.failure_count++];
    *failure = (sim_failure_t){.code = CUDA_ERROR_UNKNOWN, .rank = -1};
    char *rank = strchr(text, '@'), *end;
    if (rank != NULL) {
        *rank++ = '\0';
        failure->rank = (int)whole_number(word, rank);
    }
    const char *name = strsep(&text, ":");
    const char *nth = strsep(&text, ":");
    if (nth == NULL)
        sim_die("SIMCUDA: %s=%s: expected the call's NAME:N, as in the README.md", word, name);
    snprintf(failure->name, sizeof(failure->name), "%s", name);
    failure->nth = (unsigned)parse_number(word, nth, &end);
    failure->is_lasting = *end == '+';
    *code_out = text;
    return failure;
}

static void take_fail(char *text)
{
    char *code;
    sim_failure_t *failure = take_failure("fail", text, &code);
    if (code != NULL)
        failure->code = whole_number("fail", code);
}

static void take_kill(char *text)
{
    char *signal;
    sim_failure_t *failure = take_failure("kill", text, &signal);
    failure->signal = signal == NULL ? SIGKILL : (int)whole_number("kill", signal);
}

static bool take_known(const char *word, const char *value)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(word, words[i].word) != 0 || (value == NULL) != (words[i].flag != NULL))
            continue;
        if (words[i].flag != NULL)
            *words[i].flag = true;
        else if (words[i].number != NULL)
            *words[i].number = whole_number(word, value);
        else
            snprintf(words[i].text, words[i].text_bytes, "%s", value);
        return true;
    }
    return false;
}

static void take_word(char *word)
{
    char *value = strchr(word, '=');
    if (value != NULL)
        *value++ = '\0';
    if (value != NULL && strcmp(word, "fail") == 0)
        take_fail(value);
    else if (value != NULL && strcmp(word, "kill") == 0)
        take_kill(value);
    else if (value != NULL && strcmp(word, "memory") == 0)
        options.memory = parse_bytes(word, value);
    else if (value != NULL && strcmp(word, "bar") == 0)
        options.bar = parse_bytes(word, value);
    else if (!take_known(word, value))
        sim_die("SIMCUDA: %s is none of the words in simcuda/README.md", word);
}

static void read_options(void)
{
    const char *text = getenv("SIMCUDA");
    char *copy = strdup(text == NULL ? "" : text), *rest = copy, *word;
    while (copy != NULL && (word = strsep(&rest, ",;")) != NULL) {
        if (*word != '\0')
            take_word(word);
    }
    free(copy);
    if (options.devices > SIM_DEVICES_MAX)
        sim_die("SIMCUDA: devices=%u: at most %d", options.devices, SIM_DEVICES_MAX);
    if (options.mps && options.connections == 0)
        options.connections = CONNECTIONS_OF_CLIENT;
    const char *connections = getenv("CUDA_DEVICE_MAX_CONNECTIONS");
    if (options.connections > 0 && connections != NULL)
        options.connections = whole_number("CUDA_DEVICE_MAX_CONNECTIONS", connections);
    if (options.connections > SIM_CONNECTIONS_MAX)
        sim_die("SIMCUDA: connections=%u: at most %d", options.connections, SIM_CONNECTIONS_MAX);
}

const sim_options_t *sim_options(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_options);
    return &options;
}

unsigned sim_rank(void)
{
    const char *text = getenv("PMIX_RANK");
    if (text == NULL)
        text = getenv("SLURM_PROCID");
    return text == NULL ? 0 : (unsigned)strtoul(text, NULL, 10);
}

/* Whether `call` (perhaps cuMemAlloc_v2) is the call `name` (cuMemAlloc). */
static bool is_call(const char *call, const char *name)
{
    size_t length = strlen(name);
    return strncmp(call, name, length) == 0 &&
           (call[length] == '\0' ||
            (strncmp(call + length, "_v", 2) == 0 && call[length + 3] == '\0'));
}

/* Ends the process even if the program or a sanitizer has a handler for the signal. */
static void end_by(int number)
{
    signal(number, SIG_DFL);
    raise(number);
}

CUresult sim_planned_failure(const char *name)
{
    CUresult result = CUDA_SUCCESS;
    for (unsigned i = 0; i < options.failure_count; i++) {
        sim_failure_t *failure = &options.failures[i];
        if (!is_call(name, failure->name) ||
            (failure->rank >= 0 && failure->rank != (int)sim_rank()))
            continue;
        failure->calls++;
        bool is_now = failure->calls == failure->nth ||
                      (failure->is_lasting && failure->calls > failure->nth);
        if (is_now && failure->signal != 0)
            end_by(failure->signal);
        if (is_now)
            result = (CUresult)failure->code;
    }
    return result;
}

/* splitmix64; each rank has its own sequence, so that ranks are not delayed alike. */
uint64_t sim_random(void)
{
    static uint64_t state;
    if (state == 0)
        state = ((uint64_t)sim_options()->seed << 32) + sim_rank() + 1;
    uint64_t mixed = state += 0x9e3779b97f4a7c15;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
    return mixed ^ mixed >> 31;
}
