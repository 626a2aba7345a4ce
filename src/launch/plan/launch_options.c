/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/plan/launch_options.h"

#include "base/fail.h"
#include "base/memory.h"
#include "launch/plan/launch_options_private.h"
#include "launch/plan/torch_options.h"
#include "mpi.h"

#include <stdio.h>
#include <string.h>

/* The option that a word like --name or -name=value stands for; NULL: none has that name. */
static const wli_option_t *option_of(const char *word, char name_out[64], const char **equals_out)
{
    const char *bare = word + (word[1] == '-' ? 2 : 1), *equals = strchr(bare, '=');
    snprintf(name_out, 64, "%.*s", equals == NULL ? 63 : (int)(equals - bare), bare);
    for (char *c = name_out; *c != '\0'; c++)
        *c = *c == '_' ? '-' : *c; /* torchrun takes both */
    *equals_out = equals;
    return wli_option_find(name_out);
}

static bool begins_option(const char *word)
{
    return word[0] == '-' && word[1] != '\0' && strcmp(word, "--") != 0;
}

/* Apply the option at argv[*index] and move *index behind its last value. */
static int take_option(wl_job_plan_t *plan, wl_app_t *app, char **argv, int *index)
{
    const char *word = argv[(*index)++], *equals;
    char name[64];
    const wli_option_t *option = option_of(word, name, &equals);
    if (option == NULL)
        return wli_option_refuse(word, name);
    wli_given_t given = {.plan = plan, .app = app, .word = word};
    int wanted = wli_option_arguments(option), have = 0;
    if (equals != NULL && wanted == 0)
        return weft_fail(MPI_ERR_ARG, "%s: this option takes no value", word);
    if (equals != NULL)
        given.values[have++] = equals + 1;
    while (have < wanted && argv[*index] != NULL)
        given.values[have++] = argv[(*index)++];
    if (have < wanted)
        return weft_fail(MPI_ERR_ARG, "%s wants %s after it", word, option->arguments);
    return option->apply(&given);
}

/* One part between ':': options, program, arguments. argv[end] is ':' or NULL. */
static int parse_app(wl_job_plan_t *plan, char **argv, int begin, int end)
{
    wl_app_t *app = &plan->apps[plan->app_count++];
    argv[end] = NULL;
    int index = begin, err = MPI_SUCCESS;
    while (err == MPI_SUCCESS && index < end && begins_option(argv[index]))
        err = take_option(plan, app, argv, &index);
    index += index < end && strcmp(argv[index], "--") == 0;
    if (err != MPI_SUCCESS)
        return err;
    app->arguments = &argv[index];
    if (index == end && !plan->wants_help && !plan->wants_version)
        return weft_fail(MPI_ERR_ARG, "there is no program to start%s (--help shows the options)",
                         plan->app_count > 1 || end > begin ? " after the options" : "");
    return MPI_SUCCESS;
}

const char *wl_options_launcher(char **argv)
{
    const char *slash = strrchr(argv[0], '/');
    return slash == NULL ? argv[0] : slash + 1;
}

/* ---- a file of options ---- */

/* Behind the option at argv[i] and its values; argc or more: they are not all there. 0: there is no
 * such option, of which the parser complains. */
static int behind_option(char **argv, int i, const wli_option_t **option_out,
                         const char **equals_out)
{
    char name[64];
    *option_out = option_of(argv[i], name, equals_out);
    if (*option_out == NULL)
        return 0;
    int values = wli_option_arguments(*option_out);
    return i + 1 + values - (*equals_out != NULL && values > 0);
}

/* The index of an option with one value in argv[begin..]; -1: it is not there. */
static int find_option(int argc, char **argv, const char *name, const char **value_out,
                       int *end_out)
{
    const wli_option_t *wanted = wli_option_find(name), *option;
    const char *equals;
    for (int i = 1; i < argc; i++) {
        while (i < argc && begins_option(argv[i])) {
            int next = behind_option(argv, i, &option, &equals);
            if (next == 0)
                return -1;
            if (option == wanted && next <= argc) {
                *value_out = equals != NULL ? equals + 1 : argv[i + 1];
                *end_out = next;
                return i;
            }
            i = next;
        }
        while (i < argc && strcmp(argv[i], ":") != 0)
            i++;
    }
    return -1;
}

int wl_options_find(const wl_words_t *line, const char *name, const char **value_out, int *end_out)
{
    int program = wl_options_program_at(line);
    return find_option(program, line->words, name, value_out, end_out);
}

int wl_options_program_at(const wl_words_t *line)
{
    const wli_option_t *option;
    const char *equals;
    int i = 1;
    while (i < line->count && begins_option(line->words[i])) {
        int next = behind_option(line->words, i, &option, &equals);
        if (next == 0 || next > line->count)
            return line->count;
        i = next;
    }
    return i;
}

int wl_options_expand(int argc, char **argv, wl_words_t *out)
{
    const char *path = NULL;
    wl_words_t whole = {.words = argv, .count = argc}, file = {0};
    int end = argc, begin = find_option(argc, argv, "configfile", &path, &end);
    *out = (wl_words_t){0};
    if (begin < 0)
        return wl_words_splice(&whole, argc, argc, &file, out);
    if (end < argc && strcmp(argv[end], ":") != 0)
        return weft_fail(MPI_ERR_ARG,
                         "--configfile %s: \"%s\" behind it belongs into the file, or behind a ':'",
                         path, argv[end]);
    int err = wl_config_file_read(path, &file);
    if (err == MPI_SUCCESS)
        err = wl_words_splice(&whole, begin, end, &file, out);
    return err;
}

/* ---- all ---- */

int wl_options_parse(int argc, char **argv, wl_job_plan_t *out)
{
    *out = (wl_job_plan_t){.launcher = wl_options_launcher(argv)};
    out->apps = weft_alloc_zeroed((size_t)argc, sizeof(*out->apps));
    if (out->apps == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "a list of %d programs", argc);
    int err = MPI_SUCCESS;
    for (int begin = 1; begin <= argc && err == MPI_SUCCESS;) {
        int end = begin;
        while (end < argc && strcmp(argv[end], ":") != 0)
            end++;
        err = parse_app(out, argv, begin, end);
        begin = end + 1;
    }
    if (err == MPI_SUCCESS && !out->wants_help && !out->wants_version)
        err = wl_torch_settle(out);
    return err == MPI_SUCCESS ? wl_options_read_variables(out) : err;
}
