/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/manifest/manifest_private.h"

#include "base/fail.h"
#include "base/memory.h"
#include "launch/manifest/recorded_variables.h"
#include "launch/node/host_facts.h"
#include "launch/plan/launch_options.h"
#include "launch/plan/torch_options.h"
#include "mpi.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* ---- The file ---- */

static int refuse_file(const char *path, int error)
{
    return weft_fail(MPI_ERR_IO, "the manifest %s cannot be written: %s", path, strerror(error));
}

static bool write_text(int fd, const char *text)
{
    FILE *file = fdopen(fd, "w");
    if (file == NULL) {
        close(fd);
        return false;
    }
    bool is_written = fprintf(file, "%s\n", text) > 0;
    return fclose(file) == 0 && is_written;
}

/* A reader sees the old file or the new one, whole. */
static int write_file(const wl_manifest_t *manifest)
{
    const char *path = manifest->plan->manifest;
    char temporary[PATH_MAX];
    int length = snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path);
    if (length >= (int)sizeof(temporary))
        return refuse_file(path, ENAMETOOLONG);
    char *text = json_dumps(manifest->root, JSON_INDENT(2));
    if (text == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "the manifest %s", path);
    int fd = mkstemp(temporary), error = errno;
    bool is_written = false;
    if (fd >= 0) {
        mode_t mask = umask(0);
        umask(mask);
        fchmod(fd, 0666 & ~mask);
        is_written = write_text(fd, text) && rename(temporary, path) == 0;
        error = errno;
        if (!is_written)
            unlink(temporary);
    }
    weft_free(text);
    return is_written ? MPI_SUCCESS : refuse_file(path, error);
}

/* ---- The parts ---- */

static json_t *time_now(void)
{
    char text[32];
    time_t now = time(NULL);
    struct tm parts;
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &parts));
    return json_string(text);
}

/* Where --manifest FILE stands in the words. */
static void find_own_option(char *const *words, int *begin_out, int *end_out)
{
    static char launcher[] = "mpirun";
    const char *file;
    wl_words_t line = {0};
    int count = 0;
    while (words[count] != NULL)
        count++;
    *begin_out = *end_out = 0;
    line.words = weft_alloc_zeroed((size_t)count + 2, sizeof(char *));
    if (line.words == NULL)
        return;
    line.words[0] = launcher;
    memcpy(line.words + 1, words, (size_t)count * sizeof(char *));
    line.count = count + 1;
    int begin = wl_options_find(&line, "manifest", &file, end_out);
    *begin_out = begin < 0 ? 0 : begin - 1;
    *end_out = begin < 0 ? 0 : *end_out - 1;
    weft_free(line.words);
}

/* Is the value of a variable with a secret name to be left out: behind "-genv NAME"? */
static bool is_secret_value(char *const *words, int i)
{
    return i > 1 && words[i - 2][0] == '-' && strstr(words[i - 2], "env") != NULL &&
           strchr(words[i - 1], '=') == NULL && wl_is_secret(words[i - 1]);
}

/* The words that run the job again: without --manifest, and without values of variables that are
 * secrets. Of "-x NAME=VALUE" the name stays, which passes on what mpirun has. */
static json_t *list_arguments(char *const *words)
{
    json_t *list = json_array();
    int begin, end;
    find_own_option(words, &begin, &end);
    for (int i = 0; words[i] != NULL; i++) {
        size_t name = strcspn(words[i], "=");
        bool is_setting = i > 0 && strcmp(words[i - 1] + (words[i - 1][0] == '-'), "x") == 0 &&
                          words[i][name] == '=';
        if (i >= begin && i < end)
            continue;
        if (is_secret_value(words, i))
            json_array_append_new(list, json_string(""));
        else if (is_setting && wl_is_secret(words[i]))
            json_array_append_new(list, json_stringn(words[i], name));
        else
            json_array_append_new(list, wli_manifest_text(words[i]));
    }
    return list;
}

static json_t *list_environment(void)
{
    json_t *list = json_object();
    for (char **entry = environ; *entry != NULL; entry++) {
        char name[256];
        size_t length = strcspn(*entry, "=");
        if (!wl_is_recorded(*entry) || length >= sizeof(name))
            continue;
        snprintf(name, sizeof(name), "%.*s", (int)length, *entry);
        json_object_set_new(list, name, wli_manifest_text(*entry + length + 1));
    }
    return list;
}

static json_t *describe_plan(const wl_job_plan_t *plan)
{
    json_t *hosts = json_array();
    for (int i = 0; i < plan->placement.host_count; i++) {
        const wl_placed_host_t *host = &plan->placement.hosts[i];
        json_t *ranks = json_array();
        for (int k = 0; k < host->count; k++)
            json_array_append_new(ranks, json_integer(wl_torch_world_rank(plan, host->ranks[k])));
        json_array_append_new(hosts, json_pack("{s:s, s:o}", "name", host->name, "ranks", ranks));
    }
    return json_pack("{s:i, s:o, s:s, s:b}", "ranks", plan->size, "hosts", hosts, "binding",
                     plan->is_unbound ? "none" : "a share of the cores, if there are enough",
                     "recovery", plan->survives_losses);
}

/* Numbers are numbers. */
static json_t *fact_value(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    return digits > 0 && digits < 18 && text[digits] == '\0'
               ? json_integer((json_int_t)strtoll(text, NULL, 10))
               : wli_manifest_text(text);
}

static json_t *describe_host(const char *name, const wl_variables_t *facts)
{
    json_t *host = json_pack("{s:s}", "name", name);
    for (int i = 0; i < facts->count; i++) {
        char key[64];
        const char *entry = facts->entries[i], *equals = strchr(entry, '=');
        snprintf(key, sizeof(key), "%.*s", (int)(equals - entry), entry);
        json_object_set_new(host, key, fact_value(equals + 1));
    }
    return host;
}

static json_t *describe_hosts(const wl_job_plan_t *plan)
{
    json_t *hosts = json_array();
    for (int i = 0; i < plan->placement.host_count; i++)
        json_array_append_new(hosts,
                              describe_host(plan->placement.hosts[i].name, &plan->host_facts[i]));
    return hosts;
}

static json_t *working_directory(void)
{
    char path[PATH_MAX];
    return getcwd(path, sizeof(path)) == NULL ? json_null() : wli_manifest_text(path);
}

static json_t *describe_job(const wl_job_plan_t *plan, char *const *words)
{
    json_t *root = json_pack(
        "{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "schema", WLI_MANIFEST_SCHEMA,
        "weft", wli_manifest_weft(plan->launcher), "arguments", list_arguments(words), "directory",
        working_directory(), "environment", list_environment(), "plan", describe_plan(plan),
        "hosts", describe_hosts(plan), "programs", wli_manifest_programs(plan), "python",
        wli_manifest_python(plan), "git", wli_manifest_git(plan->launcher), "start", time_now());
    json_object_set_new(root, "end", json_null());
    json_object_set_new(root, "restarts", json_integer(0));
    json_object_set_new(root, "exit_code", json_null());
    json_object_set_new(root, "ranks", json_array());
    return root;
}

/* ---- Begin and end ---- */

/* This host's facts are there before the job begins, those of others come with their daemons. */
static int collect_own_facts(const wl_job_plan_t *plan)
{
    return wl_job_plan_is_local(plan) ? wl_host_facts_collect(&plan->host_facts[0]) : MPI_SUCCESS;
}

static void compare_with_then(const wl_manifest_t *manifest, const char *const parts[])
{
    if (manifest->then != NULL)
        wli_manifest_compare(manifest->plan->launcher, manifest->then->root, manifest->root, parts);
}

int wl_manifest_begin(const wl_job_plan_t *plan, char *const *words, wl_manifest_t *then,
                      wl_manifest_t **out)
{
    static const char *const parts[] = {"weft", "git", "programs", "python", "plan", NULL};
    static const char *const own[] = {"hosts", NULL};
    *out = NULL;
    if (plan->manifest == NULL && then == NULL)
        return MPI_SUCCESS;
    wli_manifest_use_memory();
    wl_manifest_t *manifest = weft_alloc_zeroed(1, sizeof(*manifest));
    int err = manifest == NULL ? MPI_ERR_NO_MEM : collect_own_facts(plan);
    if (err != MPI_SUCCESS) {
        weft_free(manifest);
        return weft_fail(MPI_ERR_NO_MEM, "a manifest");
    }
    *manifest = (wl_manifest_t){.plan = plan, .then = then, .root = describe_job(plan, words)};
    compare_with_then(manifest, parts);
    if (wl_job_plan_is_local(plan))
        compare_with_then(manifest, own);
    err = plan->manifest == NULL ? MPI_SUCCESS : write_file(manifest);
    if (err == MPI_SUCCESS)
        *out = manifest;
    else
        wl_manifest_release(manifest);
    return err;
}

static json_t *describe_ends(const wl_job_plan_t *plan, const wl_recorded_end_t *ends)
{
    json_t *ranks = json_array();
    for (int rank = 0; rank < plan->size && ends != NULL; rank++) {
        const wl_recorded_end_t *end = &ends[rank];
        json_t *code = end->has_ended ? json_integer(end->exit_code) : json_null();
        json_t *signal = end->signal != 0 ? json_integer(end->signal) : json_null();
        json_array_append_new(ranks, json_pack("{s:i, s:o, s:o, s:b}", "rank",
                                               wl_torch_world_rank(plan, rank), "exit_code", code,
                                               "signal", signal, "is_lost", end->is_lost));
    }
    return ranks;
}

int wl_manifest_end(wl_manifest_t *manifest, int exit_code, const wl_recorded_end_t *ends)
{
    static const char *const parts[] = {"hosts", NULL};
    if (manifest == NULL)
        return MPI_SUCCESS;
    const wl_job_plan_t *plan = manifest->plan;
    json_object_set_new(manifest->root, "end", time_now());
    json_object_set_new(manifest->root, "restarts", json_integer(plan->torch.restarts));
    json_object_set_new(manifest->root, "exit_code", json_integer(exit_code));
    json_object_set_new(manifest->root, "ranks", describe_ends(plan, ends));
    json_object_set_new(manifest->root, "hosts", describe_hosts(plan));
    if (!wl_job_plan_is_local(plan))
        compare_with_then(manifest, parts);
    return plan->manifest == NULL ? MPI_SUCCESS : write_file(manifest);
}

void wl_manifest_release(wl_manifest_t *manifest)
{
    if (manifest == NULL)
        return;
    json_decref(manifest->root);
    weft_free(manifest);
}
