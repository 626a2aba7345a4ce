/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* sched_getaffinity */
#include "launch/job_plan.h"

#include "base/config.h"
#include "base/fail.h"
#include "base/memory.h"
#include "mpi.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_RANKS = 4096 };

static int cores_available(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set)
                                                        : (int)sysconf(_SC_NPROCESSORS_ONLN);
}

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

/* Look for `name` in the directories of `search`; 0 and its path, or the most telling errno. */
static int search_path(const char *search, const char *name, char path[PATH_MAX])
{
    int worst = ENOENT;
    while (*search != '\0') {
        size_t length = strcspn(search, ":");
        if (length == 0)
            snprintf(path, PATH_MAX, "./%s", name);
        else
            snprintf(path, PATH_MAX, "%.*s/%s", (int)length, search, name);
        int error = check_executable(NULL, path);
        if (error == 0)
            return 0;
        if (error == EACCES)
            worst = error;
        search += length + (search[length] == ':');
    }
    return worst;
}

static int refuse_program(const weft_app_t *app, int error)
{
    const char *name = app->arguments[0];
    if (error == ENOENT || error == ENOTDIR)
        return weft_fail(MPI_ERR_NO_SUCH_FILE, "the program %s was not found%s", name,
                         strchr(name, '/') == NULL ? " in PATH or the working directory" : "");
    return weft_fail(MPI_ERR_ACCESS, "the program %s cannot be executed: %s", name,
                     strerror(error));
}

/* As a shell, but a program in the working directory is found too when PATH has none of its name.
 */
static int find_program(weft_app_t *app)
{
    const char *name = app->arguments[0];
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s", name);
    int error;
    if (strchr(name, '/') != NULL) {
        error = check_executable(app->directory, name);
    } else {
        const char *search = weft_variables_get(&app->environment, "PATH");
        error = search_path(search == NULL ? "/usr/local/bin:/usr/bin:/bin" : search, name, path);
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

/* Copy the variables "A,B" from `from`, as far as they are there. */
static int take_listed(const char *list, const weft_variables_t *from, weft_variables_t *to)
{
    int err = MPI_SUCCESS;
    while (list != NULL && *list != '\0' && err == MPI_SUCCESS) {
        char name[256];
        size_t length = strcspn(list, ",");
        snprintf(name, sizeof(name), "%.*s", (int)length, list);
        const char *value = weft_variables_get(from, name);
        if (value != NULL)
            err = weft_variables_set(to, name, value);
        list += length + (list[length] == ',');
    }
    return err;
}

/* PMIx settings that apply to ranks and server alike, for a quicker start: hash keeps the job's
 * facts in memory and not in files. */
static int add_defaults(weft_variables_t *environment)
{
    if (weft_variables_get(environment, "PMIX_MCA_gds") != NULL)
        return MPI_SUCCESS;
    return weft_variables_set(environment, "PMIX_MCA_gds", "hash");
}

static int complete_environment(const weft_job_plan_t *plan, const weft_variables_t *inherited,
                                weft_app_t *app)
{
    const weft_environment_rules_t *rules =
        app->rules.inheritance != WEFT_INHERIT_UNSET ? &app->rules : &plan->rules;
    int err = MPI_SUCCESS;
    if (rules->inheritance == WEFT_INHERIT_LISTED)
        err = take_listed(rules->list, inherited, &app->environment);
    else if (rules->inheritance != WEFT_INHERIT_NONE)
        err = weft_variables_merge(&app->environment, inherited);
    if (err == MPI_SUCCESS)
        err = weft_variables_merge(&app->environment, &plan->rules.set);
    if (err == MPI_SUCCESS)
        err = weft_variables_merge(&app->environment, &app->rules.set);
    return err == MPI_SUCCESS ? add_defaults(&app->environment) : err;
}

/* A free port for programs that meet through MASTER_PORT: one that the system hands out now. */
static int free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof(address);
    int fallback = 29500;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return fallback;
    bool is_bound = bind(fd, (struct sockaddr *)&address, bytes) == 0 &&
                    getsockname(fd, (struct sockaddr *)&address, &bytes) == 0;
    close(fd);
    return is_bound ? ntohs(address.sin_port) : fallback;
}

static int add_meeting_point(weft_job_plan_t *plan)
{
    int port = free_port();
    int err = MPI_SUCCESS;
    for (int i = 0; i < plan->app_count && err == MPI_SUCCESS; i++) {
        weft_variables_t *environment = &plan->apps[i].environment;
        if (weft_variables_get(environment, "MASTER_ADDR") == NULL)
            err = weft_variables_set(environment, "MASTER_ADDR", "127.0.0.1");
        if (err == MPI_SUCCESS && weft_variables_get(environment, "MASTER_PORT") == NULL)
            err = weft_variables_set_number(environment, "MASTER_PORT", port);
    }
    return err;
}

static int count_ranks(weft_job_plan_t *plan)
{
    long size = 0;
    for (int i = 0; i < plan->app_count; i++) {
        weft_app_t *app = &plan->apps[i];
        if (app->count == 0)
            app->count = plan->slots > 0 ? plan->slots : plan->cores;
        app->first_rank = (int)size;
        size += app->count;
    }
    if (size > MOST_RANKS)
        return weft_fail(MPI_ERR_SPAWN,
                         "%ld ranks were asked for; on one host at most %d are started", size,
                         MOST_RANKS);
    if (plan->no_oversubscription && size > plan->cores)
        return weft_fail(
            MPI_ERR_SPAWN,
            "%ld ranks were asked for with --nooversubscribe, but only %d cores can be "
            "used",
            size, plan->cores);
    plan->size = (int)size;
    return MPI_SUCCESS;
}

static int complete_app(const weft_job_plan_t *plan, const weft_variables_t *inherited,
                        weft_app_t *app)
{
    struct stat status;
    if (app->directory != NULL && stat(app->directory, &status) != 0)
        return weft_fail(MPI_ERR_NO_SUCH_FILE, "the working directory %s cannot be used: %s",
                         app->directory, strerror(errno));
    int err = complete_environment(plan, inherited, app);
    return err == MPI_SUCCESS ? find_program(app) : err;
}

int weft_job_plan_complete(weft_job_plan_t *plan)
{
    weft_variables_t inherited;
    int err = weft_variables_inherit(&inherited);
    if (err != MPI_SUCCESS)
        return err;
    plan->cores = cores_available();
    err = count_ranks(plan);
    for (int i = 0; i < plan->app_count && err == MPI_SUCCESS; i++)
        err = complete_app(plan, &inherited, &plan->apps[i]);
    weft_variables_release(&inherited);
    return err == MPI_SUCCESS ? add_meeting_point(plan) : err;
}

const weft_app_t *weft_job_plan_app_of(const weft_job_plan_t *plan, int rank)
{
    const weft_app_t *app = plan->apps;
    while (rank >= app->first_rank + app->count)
        app++;
    return app;
}

/* What programs of all schools read before MPI_Init: Open MPI's, MPICH's and torchrun's names. */
int weft_job_plan_environment(const weft_job_plan_t *plan, int rank, weft_variables_t *out)
{
    static const char *const rank_names[] = {
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_LOCAL_RANK",
        "OMPI_COMM_WORLD_NODE_RANK",
        "MPI_LOCALRANKID",
        "RANK",
        "LOCAL_RANK",
    };
    static const char *const size_names[] = {
        "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE",
        "OMPI_UNIVERSE_SIZE",   "MPI_LOCALNRANKS",
        "WORLD_SIZE",           "LOCAL_WORLD_SIZE",
    };
    enum { NAMES = sizeof(rank_names) / sizeof(rank_names[0]) };
    weft_variables_t result = {0};
    int err = weft_variables_merge(&result, &weft_job_plan_app_of(plan, rank)->environment);
    for (int i = 0; i < NAMES && err == MPI_SUCCESS; i++) {
        err = weft_variables_set_number(&result, rank_names[i], rank);
        if (err == MPI_SUCCESS)
            err = weft_variables_set_number(&result, size_names[i], plan->size);
    }
    if (err != MPI_SUCCESS) {
        weft_variables_release(&result);
        return err;
    }
    *out = result;
    return MPI_SUCCESS;
}

void weft_job_plan_release(weft_job_plan_t *plan)
{
    for (int i = 0; i < plan->app_count; i++) {
        weft_free(plan->apps[i].path);
        weft_variables_release(&plan->apps[i].rules.set);
        weft_variables_release(&plan->apps[i].environment);
    }
    weft_free(plan->apps);
    weft_variables_release(&plan->rules.set);
    *plan = (weft_job_plan_t){0};
}
