/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* execvpe */
#include "launch/plan/program_search.h"

#include "base/fail.h"
#include "base/memory.h"
#include "mpi.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { BUSY_NAP_NS = 10000000, BUSY_NAPS = 100 };

/* Can `path`, seen from `directory`, be executed? 0 or an errno. */
static int check_executable(const char *directory, const char *path)
{
    char full[PATH_MAX];
    struct stat status;
    if (directory != NULL && path[0] != '/')
        snprintf(full, sizeof(full), "%s/%s", directory, path);
    else
        snprintf(full, sizeof(full), "%s", path);
    if (stat(full, &status) != 0)
        return errno;
    if (S_ISDIR(status.st_mode))
        return EISDIR;
    return access(full, X_OK) == 0 ? 0 : errno;
}

int wl_program_path(const char *search, const char *name, char path_out[PATH_MAX])
{
    int worst = ENOENT;
    while (*search != '\0') {
        size_t length = strcspn(search, ":");
        if (length == 0)
            snprintf(path_out, PATH_MAX, "./%s", name);
        else
            snprintf(path_out, PATH_MAX, "%.*s/%s", (int)length, search, name);
        int error = check_executable(NULL, path_out);
        if (error == 0)
            return 0;
        if (error == EACCES)
            worst = error;
        search += length + (search[length] == ':');
    }
    return worst;
}

static int refuse_program(const wl_app_t *app, int error)
{
    const char *name = app->arguments[0];
    const char *where = strchr(name, '/') != NULL ? ""
                        : app->search != NULL ? " in the folders of --path or the working directory"
                                              : " in PATH or the working directory";
    if (error == ENOENT || error == ENOTDIR)
        return weft_fail(MPI_ERR_NO_SUCH_FILE, "the program %s was not found%s", name, where);
    return weft_fail(MPI_ERR_ACCESS, "the program %s cannot be executed: %s", name,
                     strerror(error));
}

static int find_program(wl_app_t *app)
{
    const char *name = app->arguments[0];
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s", name);
    int error;
    if (strchr(name, '/') != NULL) {
        error = check_executable(app->directory, name);
    } else {
        const char *search =
            app->search != NULL ? app->search : wl_variables_get(&app->environment, "PATH");
        error =
            wl_program_path(search == NULL ? "/usr/local/bin:/usr/bin:/bin" : search, name, path);
        if (error != 0) {
            snprintf(path, sizeof(path), "./%s", name);
            int here = check_executable(app->directory, path);
            error = here == ENOENT ? error : here;
        }
    }
    if (error != 0)
        return refuse_program(app, error);
    app->path = weft_strdup(path);
    return app->path == NULL ? weft_fail(MPI_ERR_NO_MEM, "the path of %s", name) : MPI_SUCCESS;
}

static bool has_ranks_on(const wl_job_plan_t *plan, const wl_app_t *app, int host)
{
    for (int i = 0; i < app->count; i++) {
        if (plan->placement.host_of[app->first_rank + i] == host)
            return true;
    }
    return false;
}

static int check_directory(const char *directory)
{
    struct stat status;
    if (directory == NULL || stat(directory, &status) == 0)
        return MPI_SUCCESS;
    return weft_fail(MPI_ERR_NO_SUCH_FILE, "the working directory %s cannot be used: %s", directory,
                     strerror(errno));
}

int wl_programs_find(wl_job_plan_t *plan, int host)
{
    int err = MPI_SUCCESS;
    for (int i = 0; i < plan->app_count && err == MPI_SUCCESS; i++) {
        wl_app_t *app = &plan->apps[i];
        if (!has_ranks_on(plan, app, host))
            continue;
        err = check_directory(app->directory);
        if (err == MPI_SUCCESS)
            err = find_program(app);
    }
    return err;
}

/* Nothing is searched, as the path has a '/'; execvpe gives a script without "#!" to the shell. */
void wl_program_execute(const char *path, char *const arguments[], char *const environment[])
{
    static const struct timespec nap = {.tv_nsec = BUSY_NAP_NS};
    for (int naps = 0; naps < BUSY_NAPS; naps++) {
        execvpe(path, arguments, environment);
        if (errno != ETXTBSY)
            return;
        nanosleep(&nap, NULL);
    }
    errno = ETXTBSY;
}
