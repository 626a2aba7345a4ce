/* SPDX-License-Identifier: BSD-3-Clause */
/* mpirun --rerun: the command line of a manifest, and what is different now. */
#include "launch/manifest/manifest_private.h"

#include "base/config.h"
#include "base/fail.h"
#include "base/memory.h"
#include "launch/manifest/recorded_variables.h"
#include "launch/plan/launch_options.h"
#include "mpi.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

/* ---- Differences ---- */

/* A value as the user reads it; to be given to weft_free(). */
static char *show_value(const json_t *value)
{
    if (value == NULL || json_is_null(value))
        return weft_strdup("nothing");
    return json_is_string(value) ? weft_strdup(json_string_value(value))
                                 : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
}

static void tell_difference(const char *launcher, const char *name, const json_t *then,
                            const json_t *now)
{
    char *old = show_value(then), *new = show_value(now);
    fprintf(stderr, "%s: rerun: %s: then %s, now %s\n", launcher, name, old == NULL ? "?" : old,
            new == NULL ? "?" : new);
    weft_free(old);
    weft_free(new);
}

static void compare_values(const char *launcher, const char *name, const json_t *then,
                           const json_t *now);

/* The name of a member within the whole: "git commit". */
static void name_member(const char *whole, const char *member, char out[256])
{
    snprintf(out, 256, "%.120s%s%.120s", whole, whole[0] == '\0' ? "" : " ", member);
}

static void compare_objects(const char *launcher, const char *name, const json_t *then,
                            const json_t *now)
{
    const char *key;
    json_t *value;
    char inner[256];
    json_object_foreach((json_t *)then, key, value)
    {
        name_member(name, key, inner);
        compare_values(launcher, inner, value, json_object_get(now, key));
    }
    json_object_foreach((json_t *)now, key, value)
    {
        name_member(name, key, inner);
        if (json_object_get(then, key) == NULL)
            compare_values(launcher, inner, NULL, value);
    }
}

/* Of arrays of the same length each element; those that have a name are called by it if there are
 * several. */
static void compare_elements(const char *launcher, const char *name, const json_t *then,
                             const json_t *now)
{
    size_t count = json_array_size(then);
    for (size_t i = 0; i < count; i++) {
        char inner[256];
        const json_t *old = json_array_get(then, i), *new = json_array_get(now, i);
        const char *called = json_string_value(json_object_get(new, "name"));
        if (called != NULL)
            snprintf(inner, sizeof(inner), "%.255s", count == 1 ? "" : called);
        else
            snprintf(inner, sizeof(inner), count == 1 ? "%.200s" : "%.200s %zu", name, i);
        compare_values(launcher, inner, old, new);
    }
}

static void compare_values(const char *launcher, const char *name, const json_t *then,
                           const json_t *now)
{
    if (json_equal(then, now))
        return;
    bool are_lists = json_is_array(then) && json_is_array(now) &&
                     json_array_size(then) == json_array_size(now) &&
                     json_is_object(json_array_get(now, 0));
    if (json_is_object(then) && json_is_object(now))
        compare_objects(launcher, name, then, now);
    else if (are_lists)
        compare_elements(launcher, name, then, now);
    else
        tell_difference(launcher, name, then, now);
}

void wli_manifest_compare(const char *launcher, const json_t *then, const json_t *now,
                          const char *const parts[])
{
    for (int i = 0; parts[i] != NULL; i++)
        compare_values(launcher, parts[i], json_object_get(then, parts[i]),
                       json_object_get(now, parts[i]));
}

/* ---- The file ---- */

static int read_manifest(const char *path, wl_manifest_t **out)
{
    json_error_t error;
    json_t *root = json_load_file(path, 0, &error);
    const char *schema = json_string_value(json_object_get(root, "schema"));
    if (root == NULL && json_error_code(&error) == json_error_cannot_open_file)
        return weft_fail(MPI_ERR_NO_SUCH_FILE, "--rerun %s: %s", path, error.text);
    if (schema == NULL || strcmp(schema, WLI_MANIFEST_SCHEMA) != 0 ||
        !json_is_array(json_object_get(root, "arguments"))) {
        json_decref(root);
        return weft_fail(MPI_ERR_ARG, "--rerun %s: this is no manifest of mpirun (%s)", path,
                         root == NULL ? error.text
                                      : "expected is schema \"" WLI_MANIFEST_SCHEMA
                                        "\", and arguments");
    }
    *out = weft_alloc_zeroed(1, sizeof(**out));
    if (*out == NULL) {
        json_decref(root);
        return weft_fail(MPI_ERR_NO_MEM, "the manifest %s", path);
    }
    (*out)->root = root;
    return MPI_SUCCESS;
}

/* ---- The command line ---- */

static int read_arguments(const wl_manifest_t *then, char *launcher, wl_words_t *out)
{
    const json_t *list = json_object_get(then->root, "arguments");
    size_t count = json_array_size(list);
    *out = (wl_words_t){.words = weft_alloc_zeroed(count + 2, sizeof(char *))};
    if (out->words == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "%zu words", count);
    out->words[0] = launcher;
    for (size_t i = 0; i < count; i++) {
        /* The manifest lives as long as the words do. */
        out->words[i + 1] = (char *)json_string_value(json_array_get(list, i));
        if (out->words[i + 1] == NULL)
            return weft_fail(MPI_ERR_ARG, "--rerun: an argument of the manifest is no text");
    }
    out->count = (int)count + 1;
    return MPI_SUCCESS;
}

/* A file that is named now lies where it does from here, not from the recorded directory; the word
 * lives until the process ends. */
static char *from_here(char *path)
{
    char here[PATH_MAX];
    if (path[0] == '/' || getcwd(here, sizeof(here)) == NULL)
        return path;
    size_t bytes = strlen(here) + strlen(path) + 2;
    char *whole = weft_alloc(bytes);
    if (whole != NULL)
        snprintf(whole, bytes, "%s/%s", here, path);
    return whole != NULL ? whole : path;
}

static void settle_manifest_path(wl_words_t *command)
{
    const char *path;
    int end, begin = wl_options_find(command, "manifest", &path, &end);
    if (begin >= 0 && end == begin + 2)
        command->words[begin + 1] = from_here(command->words[begin + 1]);
}

/* The words that are given now, but --rerun FILE itself, which is at [begin, end). */
static int take_given(const wl_words_t *command, int begin, int end, wl_words_t *out)
{
    *out = (wl_words_t){.words = weft_alloc_zeroed((size_t)command->count + 1, sizeof(char *))};
    if (out->words == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "%d words", command->count);
    for (int i = 1; i < command->count; i++) {
        if (i < begin || i >= end)
            out->words[out->count++] = command->words[i];
    }
    return MPI_SUCCESS;
}

static void tell_given(const char *launcher, const wl_words_t *given)
{
    if (given->count == 0)
        return;
    fprintf(stderr, "%s: rerun: options given now:", launcher);
    for (int i = 0; i < given->count; i++)
        fprintf(stderr, " %s", given->words[i]);
    fprintf(stderr, "\n");
}

static int splice_command(wl_words_t *command, int begin, int end, const wl_manifest_t *then)
{
    wl_words_t given, recorded = {0}, whole;
    if (wl_options_program_at(command) < command->count)
        return weft_fail(MPI_ERR_ARG,
                         "--rerun takes the program from the manifest; \"%s\" is not expected",
                         command->words[wl_options_program_at(command)]);
    settle_manifest_path(command);
    int err = take_given(command, begin, end, &given);
    if (err != MPI_SUCCESS)
        return err;
    err = read_arguments(then, command->words[0], &recorded);
    if (err == MPI_SUCCESS) {
        tell_given(wl_options_launcher(command->words), &given);
        given.text = command->text; /* words of a --configfile lie there */
        command->text = NULL;
        int at = wl_options_program_at(&recorded);
        err = wl_words_splice(&recorded, at, at, &given, &whole);
    } else {
        wl_words_release(&given);
    }
    weft_free(recorded.words);
    if (err != MPI_SUCCESS)
        return err;
    wl_words_release(command);
    *command = whole; /* its words lie in argv and in the manifest */
    return MPI_SUCCESS;
}

/* ---- Surroundings ---- */

static void restore_variable(const char *launcher, const char *name, const json_t *then)
{
    char label[256];
    const char *value = json_string_value(then), *now = weft_environment(name);
    if (now == value || (now != NULL && value != NULL && strcmp(now, value) == 0))
        return;
    json_t *current = now == NULL ? NULL : json_string(now);
    snprintf(label, sizeof(label), "environment %.200s (taken as then)", name);
    tell_difference(launcher, label, then, current);
    json_decref(current);
    if (value == NULL)
        unsetenv(name);
    else
        setenv(name, value, 1);
}

/* Variables that there are now and were not then. */
static void forget_new_variables(const char *launcher, const json_t *recorded)
{
    for (char **entry = environ; *entry != NULL;) {
        char name[256];
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(*entry, "="), *entry);
        if (wl_is_recorded(*entry) && json_object_get(recorded, name) == NULL) {
            restore_variable(launcher, name, NULL);
            entry = environ; /* the list has changed */
        } else {
            entry++;
        }
    }
}

static int restore_surroundings(const char *launcher, const wl_manifest_t *then)
{
    const json_t *recorded = json_object_get(then->root, "environment");
    const char *name, *directory = json_string_value(json_object_get(then->root, "directory"));
    json_t *value;
    char here[PATH_MAX];
    forget_new_variables(launcher, recorded);
    json_object_foreach((json_t *)recorded, name, value)
    {
        restore_variable(launcher, name, value);
    }
    if (directory == NULL || (getcwd(here, sizeof(here)) != NULL && strcmp(here, directory) == 0))
        return MPI_SUCCESS;
    if (chdir(directory) != 0)
        return weft_fail(MPI_ERR_NO_SUCH_FILE, "--rerun: the directory %s cannot be entered: %s",
                         directory, strerror(errno));
    setenv("PWD", directory, 1);
    fprintf(stderr, "%s: rerun: in the directory %s\n", launcher, directory);
    return MPI_SUCCESS;
}

int wl_rerun_expand(wl_words_t *command, wl_manifest_t **then_out)
{
    const char *path;
    int end, begin = wl_options_find(command, "rerun", &path, &end);
    *then_out = NULL;
    if (begin < 0)
        return MPI_SUCCESS;
    wli_manifest_use_memory();
    int err = read_manifest(path, then_out);
    if (err == MPI_SUCCESS)
        err = splice_command(command, begin, end, *then_out);
    return err == MPI_SUCCESS ? restore_surroundings(wl_options_launcher(command->words), *then_out)
                              : err;
}
