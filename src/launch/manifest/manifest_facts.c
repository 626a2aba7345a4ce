/* SPDX-License-Identifier: BSD-3-Clause */
/* What other programs know: weft_info, git, sha256sum, Python. Where one of them fails, its part is
 * null, and the job is run all the same. */
#include "launch/manifest/manifest_private.h"

#include "base/config.h"
#include "base/memory.h"
#include "launch/manifest/command_output.h"
#include "launch/plan/daemon_path.h"
#include "launch/plan/program_search.h"
#include "mpi.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void wli_manifest_use_memory(void)
{
    json_set_alloc_funcs(weft_alloc, weft_free);
}

json_t *wli_manifest_text(const char *text)
{
    json_t *value = text == NULL ? json_null() : json_string(text);
    char *plain = value != NULL ? NULL : weft_strdup(text);
    for (char *c = plain; c != NULL && *c != '\0'; c++)
        *c = (unsigned char)*c < 0x80 ? *c : '?';
    if (plain != NULL)
        value = json_string(plain);
    weft_free(plain);
    return value;
}

/* The output of a command as JSON. */
static json_t *parse_output(const char *launcher, const char *const words[])
{
    char *text = wl_command_output(launcher, words);
    json_t *value = text == NULL ? NULL : json_loads(text, 0, NULL);
    weft_free(text);
    return value == NULL ? json_null() : value;
}

json_t *wli_manifest_weft(const char *launcher)
{
    char path[PATH_MAX];
    if (wl_daemon_path(NULL, path) != MPI_SUCCESS)
        return json_null();
    char *slash = strrchr(path, '/');
    snprintf(slash + 1, (size_t)(path + sizeof(path) - slash - 1), "weft_info");
    return parse_output(launcher,
                        (const char *const[]){path, "--version", "--build", "--json", NULL});
}

/* Without the end of the line. */
static char *first_line(const char *launcher, const char *const words[])
{
    char *text = wl_command_output(launcher, words);
    if (text != NULL)
        text[strcspn(text, "\n")] = '\0';
    return text;
}

json_t *wli_manifest_git(const char *launcher)
{
    char *commit = first_line(launcher, (const char *const[]){"git", "rev-parse", "HEAD", NULL});
    if (commit == NULL)
        return json_null();
    char *changes =
        wl_command_output(launcher, (const char *const[]){"git", "status", "--porcelain",
                                                          "--untracked-files=no", NULL});
    json_t *git = json_pack("{s:s, s:o}", "commit", commit, "is_dirty",
                            changes == NULL ? json_null() : json_boolean(changes[0] != '\0'));
    weft_free(commit);
    weft_free(changes);
    return git;
}

/* "<64 letters>  <name>"; a name with a backslash begins with one. */
static json_t *sha256_of(const char *launcher, const char *path)
{
    enum { LETTERS = 64 };
    char *line = first_line(launcher, (const char *const[]){"sha256sum", "--", path, NULL});
    const char *sum = line == NULL ? NULL : line + (line[0] == '\\');
    json_t *value = sum != NULL && strlen(sum) > LETTERS ? json_stringn(sum, LETTERS) : json_null();
    weft_free(line);
    return value;
}

static json_t *describe_file(const char *launcher, const char *path)
{
    return json_pack("{s:o, s:o}", "path", wli_manifest_text(path), "sha256",
                     sha256_of(launcher, path));
}

static bool is_python(const wl_app_t *app)
{
    const char *slash = strrchr(app->arguments[0], '/');
    return strncmp(slash == NULL ? app->arguments[0] : slash + 1, "python", 6) == 0;
}

/* The first word behind the interpreter that is no option and a file; NULL: none. */
static const char *script_of(const wl_app_t *app)
{
    for (int i = 1; is_python(app) && app->arguments[i] != NULL; i++) {
        if (strcmp(app->arguments[i], "-m") == 0 || strcmp(app->arguments[i], "-c") == 0)
            return NULL;
        if (app->arguments[i][0] != '-')
            return app->arguments[i];
    }
    return NULL;
}

/* Where the program lies on this host; others may have it elsewhere. */
static const char *path_of(const wl_app_t *app, char room[PATH_MAX])
{
    const char *search = app->search != NULL ? app->search : weft_environment("PATH");
    if (app->path != NULL)
        return app->path;
    if (strchr(app->arguments[0], '/') != NULL)
        return app->arguments[0];
    return search != NULL && wl_program_path(search, app->arguments[0], room) == 0 ? room : NULL;
}

static json_t *describe_program(const char *launcher, const wl_app_t *app)
{
    char room[PATH_MAX];
    const char *path = path_of(app, room), *script = script_of(app);
    json_t *words = json_array();
    for (int i = 0; app->arguments[i] != NULL; i++)
        json_array_append_new(words, wli_manifest_text(app->arguments[i]));
    return json_pack("{s:i, s:o, s:o, s:o, s:o}", "ranks", app->count, "arguments", words,
                     "directory", wli_manifest_text(app->directory), "program",
                     path == NULL ? json_null() : describe_file(launcher, path), "script",
                     script == NULL ? json_null() : describe_file(launcher, script));
}

json_t *wli_manifest_programs(const wl_job_plan_t *plan)
{
    json_t *programs = json_array();
    for (int i = 0; i < plan->app_count; i++)
        json_array_append_new(programs, describe_program(plan->launcher, &plan->apps[i]));
    return programs;
}

json_t *wli_manifest_python(const wl_job_plan_t *plan)
{
    static const char question[] =
        "import json, sys, importlib.metadata as m\n"
        "print(json.dumps({'interpreter': sys.executable, 'version': sys.version.split()[0],"
        " 'packages': {d.metadata['Name']: d.version for d in m.distributions()"
        " if d.metadata['Name']}}, sort_keys=True))";
    for (int i = 0; i < plan->app_count; i++) {
        const wl_app_t *app = &plan->apps[i];
        if (is_python(app))
            return parse_output(plan->launcher,
                                (const char *const[]){app->arguments[0], "-c", question, NULL});
    }
    return json_null();
}
