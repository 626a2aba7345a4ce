/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weft_info prints what this Weft is, how it was built, and the value of every WEFT_ variable. All
 * of it is rows of three kinds of facts; a format is a table of functions that print them.
 */
#include "info/info_algorithms.h"
#include "info/info_cuda.h"
#include "info/info_explain.h"
#include "info/info_format.h"
#include "info/info_mpit.h"
#include "info/info_simulate.h"
#include "base/config.h"
#include "base/nearest.h"

#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const weft_fact_t version_facts[] = {
    {"version", "Weft", PACKAGE_VERSION},
    {"mpi_standard", "MPI standard", "5.0"},
    {"abi", "binary interface", "libmpi_abi.so.1 (MPI 5.0, chapter 20)"},
    {NULL, NULL, NULL},
};

static const weft_fact_t build_facts[] = {
    {"commit", "commit", WEFT_BUILD_COMMIT},
    {"host", "machine", WEFT_BUILD_HOST},
    {"prefix", "prefix", WEFT_PREFIX},
    {"cc", "C compiler", WEFT_BUILD_CC},
    {"cxx", "C++ compiler", WEFT_BUILD_CXX},
    {"cflags", "flags", WEFT_BUILD_CFLAGS},
    {"debug", "assertions", WEFT_BUILD_DEBUG},
    {"pmix", "PMIx", WEFT_FOUND_PMIX},
    {"hwloc", "hwloc", WEFT_FOUND_HWLOC},
    {"libfabric", "libfabric", WEFT_FOUND_LIBFABRIC},
    {"jansson", "jansson", WEFT_FOUND_JANSSON},
    {"cuda", "CUDA", WEFT_FOUND_CUDA},
    {NULL, NULL, NULL},
};

static void print_nothing(void)
{
}

/* Text, for people to read. */

static void text_facts(const char *section, const weft_fact_t *report)
{
    (void)section;
    for (const weft_fact_t *fact = report; fact->key != NULL; fact++)
        printf("%-18s %s\n", fact->label, fact->value);
}

static void text_variables(void)
{
    printf("\nVariables (* set in the environment):\n");
    for (int i = 0; i < weft_config_rows(); i++) {
        weft_config_row_t row = weft_config_row(i);
        printf("%c WEFT_%s = %s\n", row.is_set ? '*' : ' ', row.name,
               row.value[0] == '\0' ? "\"\"" : row.value);
        printf("      %s [%s; default: %s]\n", row.help, row.unit,
               row.fallback[0] == '\0' ? "\"\"" : row.fallback);
    }
}

/* Lines section:key:value, for scripts. */

static void parsable_facts(const char *section, const weft_fact_t *report)
{
    for (const weft_fact_t *fact = report; fact->key != NULL; fact++)
        printf("%s:%s:%s\n", section, fact->key, fact->value);
}

static void parsable_variables(void)
{
    for (int i = 0; i < weft_config_rows(); i++) {
        weft_config_row_t row = weft_config_row(i);
        printf("variable:WEFT_%s:value:%s\n", row.name, row.value);
        printf("variable:WEFT_%s:default:%s\n", row.name, row.fallback);
        printf("variable:WEFT_%s:unit:%s\n", row.name, row.unit);
        printf("variable:WEFT_%s:origin:%s\n", row.name, row.is_set ? "environment" : "default");
        printf("variable:WEFT_%s:help:%s\n", row.name, row.help);
    }
}

/* JSON: one object with a member for each section. */

static const char *json_separator;

static void json_string(const char *text)
{
    putchar('"');
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\')
            printf("\\%c", *c);
        else if ((unsigned char)*c < ' ')
            printf("\\u%04x", (unsigned)*c);
        else
            putchar(*c);
    }
    putchar('"');
}

static void json_member(const char *key, const char *value, const char *after)
{
    json_string(key);
    printf(": ");
    json_string(value);
    printf("%s", after);
}

static void json_begin(void)
{
    json_separator = "{";
}

static void json_facts(const char *section, const weft_fact_t *report)
{
    printf("%s\n  \"%s\": {", json_separator, section);
    for (const weft_fact_t *fact = report; fact->key != NULL; fact++) {
        printf("\n    ");
        json_member(fact->key, fact->value, fact[1].key == NULL ? "" : ",");
    }
    printf("\n  }");
    json_separator = ",";
}

static void json_variables(void)
{
    printf("%s\n  \"variables\": [", json_separator);
    for (int i = 0; i < weft_config_rows(); i++) {
        weft_config_row_t row = weft_config_row(i);
        printf("%s\n    {\"name\": \"WEFT_%s\", ", i == 0 ? "" : ",", row.name);
        json_member("value", row.value, ", ");
        json_member("default", row.fallback, ", ");
        json_member("unit", row.unit, ", ");
        json_member("origin", row.is_set ? "environment" : "default", ", ");
        json_member("help", row.help, "}");
    }
    printf("\n  ]");
    json_separator = ",";
}

static void json_end(void)
{
    printf("\n}\n");
}

static const weft_info_format_t text_format = {print_nothing, text_facts, text_variables,
                                               print_nothing};
static const weft_info_format_t parsable_format = {print_nothing, parsable_facts,
                                                   parsable_variables, print_nothing};
static const weft_info_format_t json_format = {json_begin, json_facts, json_variables, json_end};

typedef struct options {
    const weft_info_format_t *format;
    bool version, build, variables, cuda, help;
} options_t;

static const char *const option_names[] = {"--version",  "--build",      "--config", "--cuda",
                                           "--json",     "--parsable",   "--help",   "--explain",
                                           "--simulate", "--algorithms", "--mpit"};
enum { OPTIONS = sizeof(option_names) / sizeof(option_names[0]) };

static bool info_parse_option(const char *text, options_t *out)
{
    if (strcmp(text, "--version") == 0)
        out->version = true;
    else if (strcmp(text, "--build") == 0)
        out->build = true;
    else if (strcmp(text, "--config") == 0)
        out->variables = true;
    else if (strcmp(text, "--cuda") == 0)
        out->cuda = true;
    else if (strcmp(text, "--json") == 0)
        out->format = &json_format;
    else if (strcmp(text, "--parsable") == 0)
        out->format = &parsable_format;
    else if (strcmp(text, "--help") == 0 || strcmp(text, "-h") == 0)
        out->help = true;
    else
        return false;
    return true;
}

static int info_print_help(void)
{
    puts("Usage: weft_info [--version] [--build] [--config] [--cuda] [--json | --parsable]\n"
         "Print what this Weft is, how it was built, and its variables; these three if none is "
         "named.\n"
         "\n"
         "  --version   version and standard\n"
         "  --build     compilers, flags, libraries found\n"
         "  --config    every WEFT_ variable: value, unit, default, origin, help\n"
         "  --cuda      what there is of CUDA on this machine: kernels, driver, devices, settings\n"
         "  --json      as one JSON object\n"
         "  --parsable  as lines of key:value\n"
         "\n"
         "Or: weft_info --algorithms [COLLECTIVE]\n"
         "List what a table of WEFT_COLL_TUNING can name, and what it needs and costs.\n"
         "\n"
         "Or: weft_info --explain COLLECTIVE RANKS BYTES [NODES [FABRIC] | device]\n"
         "Say which algorithm runs, and why.\n"
         "\n"
         "Or: weft_info --mpit\n"
         "List what tools find in the tool information interface: variables, categories, events.\n"
         "\n"
         "Or: weft_info --simulate COLLECTIVE ...\n"
         "Run it for many ranks, in time of the cost model; --simulate --help says more.");
    return 0;
}

/* Commands that do not print facts, by their first word; they parse the rest of the command line
 * themselves. */
static const struct {
    const char *name;
    int (*run)(int count, char **words);
} commands[] = {
    {"--algorithms", weft_info_algorithms},
    {"--explain", weft_info_explain},
    {"--mpit", weft_info_mpit},
    {"--simulate", weft_info_simulate},
};
enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static int print_facts(const options_t *options)
{
    bool all = !options->version && !options->build && !options->variables && !options->cuda;
    options->format->begin();
    if (all || options->version)
        options->format->report("weft", version_facts);
    if (all || options->build)
        options->format->report("build", build_facts);
    if (all || options->variables)
        options->format->variables();
    if (options->cuda)
        weft_info_cuda(options->format);
    options->format->end();
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}

int main(int argc, char **argv)
{
    options_t options = {.format = &text_format};
    for (int i = 0; i < COMMANDS && argc > 1; i++) {
        if (strcmp(argv[1], commands[i].name) == 0) {
            weft_config_read();
            return commands[i].run(argc - 2, argv + 2);
        }
    }
    for (int i = 1; i < argc; i++) {
        if (!info_parse_option(argv[i], &options)) {
            fprintf(stderr, "weft_info: there is no option %s; the nearest is %s\n", argv[i],
                    weft_nearest(argv[i], option_names, OPTIONS));
            return 2;
        }
    }
    if (options.help)
        return info_print_help();
    weft_config_read();
    return print_facts(&options);
}
