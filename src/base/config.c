/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/config.h"

#include "base/log.h"
#include "base/memory.h"
#include "base/nearest.h"
#include "mpi.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

extern char **environ;

weft_config_t weft_config;

typedef bool (*parse_fn_t)(const char *text, void *out);

static bool parse_BOOL(const char *text, void *out)
{
    static const char *const yes[] = {"yes", "on", "true", "1"};
    static const char *const no[] = {"no", "off", "false", "0"};
    for (int i = 0; i < 4; i++) {
        if (strcasecmp(text, yes[i]) == 0 || strcasecmp(text, no[i]) == 0) {
            *(bool *)out = strcasecmp(text, yes[i]) == 0;
            return true;
        }
    }
    return false;
}

static bool parse_INT(const char *text, void *out)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value != (int)value)
        return false;
    *(int *)out = (int)value;
    return true;
}

static bool parse_COUNT(const char *text, void *out)
{
    enum { MOST = INT_MAX / 1000 };
    int value;
    if (!parse_INT(text, &value) || value < 1 || value > MOST)
        return false;
    *(int *)out = value;
    return true;
}

static bool parse_SECONDS(const char *text, void *out)
{
    return parse_COUNT(text, out);
}

static bool parse_SIZE(const char *text, void *out)
{
    static const char suffixes[] = "KMGT";
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (end == text || text[0] == '-' || errno != 0)
        return false;
    const char *suffix = *end == '\0' ? NULL : strchr(suffixes, *end & ~0x20);
    if (*end != '\0' && (suffix == NULL || end[1] != '\0'))
        return false;
    int shift = suffix == NULL ? 0 : 10 * (int)(suffix - suffixes + 1);
    if (value > (unsigned long long)SIZE_MAX >> shift)
        return false;
    *(size_t *)out = (size_t)value << shift;
    return true;
}

static bool parse_TEXT(const char *text, void *out)
{
    *(const char **)out = text;
    return true;
}

/* The bit of a name of `length` bytes; 0: there is no such check. */
static unsigned check_named(const char *name, size_t length)
{
    static const struct {
        const char *name;
        unsigned bits;
    } checks[] = {{"collectives", WEFT_CHECK_COLLECTIVES},
                  {"leaks", WEFT_CHECK_LEAKS},
                  {"all", WEFT_CHECK_COLLECTIVES | WEFT_CHECK_LEAKS}};
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        if (strlen(checks[i].name) == length && strncmp(name, checks[i].name, length) == 0)
            return checks[i].bits;
    }
    return 0;
}

static bool parse_CHECKS(const char *text, void *out)
{
    unsigned wanted = 0;
    while (*text != '\0') {
        size_t length = strcspn(text, ",");
        unsigned bits = check_named(text, length);
        if (bits == 0)
            return false;
        wanted |= bits;
        text += length + (text[length] == ',');
    }
    *(unsigned *)out = wanted;
    return true;
}

typedef struct variable {
    const char *name, *fallback, *unit, *help, *area;
    const char *text; /* in force */
    char *own_text;   /* `text`, where weft_config_set() has given it; else NULL */
    parse_fn_t parse;
    void *field;
    weft_config_kind_t kind;
    weft_config_change_t change;
    bool is_set;
} variable_t;

static variable_t variables[] = {
#define VAR(known_as, of_kind, value, units, belongs_to, changes, text_of_help)                    \
    {.name = #known_as,                                                                            \
     .fallback = (value),                                                                          \
     .unit = (units),                                                                              \
     .help = (text_of_help),                                                                       \
     .area = #belongs_to,                                                                          \
     .text = (value),                                                                              \
     .parse = parse_##of_kind,                                                                     \
     .field = &weft_config.known_as,                                                               \
     .kind = WEFT_CONFIG_##of_kind,                                                                \
     .change = WEFT_CHANGE_##changes},
#include "base/config_vars.def"
#undef VAR
};
enum { VARIABLES = sizeof(variables) / sizeof(variables[0]) };

/* The names that we have warned of: ",FOO,BAR,". What has no room may be warned of again. */
static char warned[1024] = ",";

/* Names that Weft sets for processes that it starts (WEFT_WARNED here, the others are read in
 * src/pmi); users do not. */
static bool is_internal(const char *name)
{
    static const char *const names[] = {"WARNED", "NOTES", "RANK_PROCESS", "NO_SERVER"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    return false;
}

static bool has_warned(const char *name, const char *list)
{
    char wanted[72];
    snprintf(wanted, sizeof(wanted), ",%s,", name);
    return list != NULL && strstr(list, wanted) != NULL;
}

/* One rank warns, not all, and mpirun in its place: the environment is the job's. */
static bool may_warn(const char *name)
{
    const char *rank = getenv("PMIX_RANK");
    if (rank == NULL)
        rank = getenv("RANK");
    if ((rank != NULL && strcmp(rank, "0") != 0) || has_warned(name, getenv("WEFT_WARNED")))
        return false;
    size_t used = strlen(warned);
    if (used + strlen(name) + 2 <= sizeof(warned))
        snprintf(warned + used, sizeof(warned) - used, "%s,", name);
    return true;
}

void weft_config_export_warnings(void)
{
    if (warned[1] != '\0')
        setenv("WEFT_WARNED", warned, 1);
}

static void set_from_environment(const char *entry)
{
    const char *value = strchr(entry, '=');
    if (strncmp(entry, "WEFT_", 5) != 0 || value == NULL)
        return;
    char name[64];
    snprintf(name, sizeof(name), "%.*s", (int)(value - entry - 5), entry + 5);
    if (is_internal(name))
        return;
    const char *names[VARIABLES];
    for (int i = 0; i < VARIABLES; i++) {
        names[i] = variables[i].name;
        if (strcmp(name, names[i]) != 0)
            continue;
        if (variables[i].parse(value + 1, variables[i].field)) {
            variables[i].text = value + 1;
            variables[i].is_set = true;
        } else if (may_warn(name)) {
            fprintf(stderr, "weft: WEFT_%s is \"%s\", which is not a value it can take; using %s\n",
                    name, value + 1,
                    variables[i].fallback[0] != '\0' ? variables[i].fallback : "none");
        }
        return;
    }
    if (may_warn(name))
        fprintf(stderr, "weft: there is no variable WEFT_%s; the nearest is WEFT_%s\n", name,
                weft_nearest(name, names, VARIABLES));
}

void weft_config_read(void)
{
    static bool is_read;
    if (is_read)
        return;
    is_read = true;
    for (int i = 0; i < VARIABLES; i++)
        variables[i].parse(variables[i].fallback, variables[i].field);
    for (char **entry = environ; *entry != NULL; entry++)
        set_from_environment(*entry);
}

int weft_config_rows(void)
{
    return VARIABLES;
}

weft_config_row_t weft_config_row(int index)
{
    const variable_t *v = &variables[index];
    return (weft_config_row_t){.name = v->name,
                               .value = v->text,
                               .fallback = v->fallback,
                               .unit = v->unit,
                               .help = v->help,
                               .area = v->area,
                               .kind = v->kind,
                               .change = v->change,
                               .field = v->field,
                               .is_set = v->is_set};
}

int weft_config_set(int index, const char *text)
{
    variable_t *v = &variables[index];
    char *copy = weft_alloc(strlen(text) + 1);
    if (copy == NULL)
        return MPI_ERR_NO_MEM;
    memcpy(copy, text, strlen(text) + 1);
    if (!v->parse(copy, v->field)) {
        weft_free(copy);
        return MPI_ERR_ARG;
    }
    weft_free(v->own_text);
    v->text = v->own_text = copy;
    if (v->field == (void *)&weft_config.LOG)
        weft_log_reopen();
    return MPI_SUCCESS;
}

const char *weft_environment(const char *name)
{
    return getenv(name);
}

void weft_environment_set(const char *name, const char *value)
{
    if (value != NULL)
        setenv(name, value, 1);
    else
        unsetenv(name);
}
