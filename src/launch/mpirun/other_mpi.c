/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* pipe2, memmem */
#include "launch/mpirun/other_mpi.h"

#include "launch/loop/byte_queue.h"
#include "launch/mpirun/program_file.h"
#include "launch/plan/program_search.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Start the loader such that it only prints what it would load; its output comes out of *fd_out. */
static bool start_loader(const char *loader, const char *program, char *const *environment,
                         pid_t *pid_out, int *fd_out)
{
    char list[] = "--list";
    char *words[] = {(char *)loader, list, (char *)program, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    bool is_started = posix_spawn(pid_out, loader, &files, &attributes, words, environment) == 0;
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    close(ends[1]);
    if (!is_started)
        close(ends[0]);
    *fd_out = ends[0];
    return is_started;
}

/* The loader that can tell more of a program's libraries than the program itself, if there is one.
 * A program with no libraries but the C run-time's has no MPI, unless LD_PRELOAD brings it. */
static bool find_loader(const char *program, bool has_preload, char out[PATH_MAX])
{
    wl_program_file_t file;
    if (!wl_program_file_open(program, &file))
        return false;
    bool is_found =
        (has_preload || !wl_program_file_is_plain(&file)) && wl_program_file_loader(&file, out);
    wl_program_file_close(&file);
    return is_found;
}

/* What the loader prints, with a zero at the end. */
static bool list_libraries(const char *program, const wl_variables_t *environment,
                           wl_byte_queue_t *out)
{
    char loader[PATH_MAX];
    bool has_preload = wl_variables_get(environment, "LD_PRELOAD") != NULL;
    pid_t pid;
    int fd;
    if (!find_loader(program, has_preload, loader) ||
        !start_loader(loader, program, environment->entries, &pid, &fd))
        return false;
    char *room;
    ssize_t bytes = 0;
    while ((room = wl_queue_room(out, BUFSIZ)) != NULL && (bytes = read(fd, room, BUFSIZ)) > 0)
        out->end += (size_t)bytes;
    close(fd);
    waitpid(pid, NULL, 0);
    return room != NULL && bytes == 0 && wl_queue_append(out, "", 1);
}

static bool is_mpi_library(const char *name)
{
    static const char *const names[] = {"libmpi.so",      "libmpich.so",   "libmpi_abi.so",
                                        "libmpi_cray.so", "libmpi_ibm.so", "libmpi_gnu"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return true;
    }
    return false;
}

/* Weft's library, by whatever name, has this text of base/config.c in it. */
static bool is_ours(const char *library)
{
    static const char mark[] = "weft: WEFT_%s is";
    wl_program_file_t file;
    if (!wl_program_file_open(library, &file))
        return true; /* not known, so no note */
    bool is_found = memmem(file.data, file.bytes, mark, strlen(mark)) != NULL;
    wl_program_file_close(&file);
    return is_found;
}

/* Find the program. With daemons it was looked for on other hosts; on this host it may lie at the
 * same place. */
static bool locate_program(const wl_app_t *app, char out[PATH_MAX])
{
    const char *name = app->path != NULL ? app->path : app->arguments[0];
    const char *search =
        app->search != NULL ? app->search : wl_variables_get(&app->environment, "PATH");
    if (strchr(name, '/') == NULL)
        return search != NULL && wl_program_path(search, name, out) == 0;
    bool is_relative = app->directory != NULL && name[0] != '/';
    int used = is_relative ? snprintf(out, PATH_MAX, "%s/%s", app->directory, name)
                           : snprintf(out, PATH_MAX, "%s", name);
    return used < PATH_MAX;
}

/* Lines are `name => path (address)`. */
static bool find_in_list(char *list, char library_out[PATH_MAX])
{
    char *rest = NULL;
    for (char *line = strtok_r(list, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        char *name = line + strspn(line, " \t"), *arrow = strstr(name, " => ");
        if (arrow == NULL || !is_mpi_library(name))
            continue;
        char *path = arrow + strlen(" => "), *end = strstr(path, " (");
        if (path[0] != '/' || end == NULL)
            continue;
        *end = '\0';
        if (is_ours(path))
            continue;
        snprintf(library_out, PATH_MAX, "%s", path);
        return true;
    }
    return false;
}

bool wl_other_mpi_find(const wl_app_t *app, char library_out[PATH_MAX])
{
    char program[PATH_MAX];
    wl_byte_queue_t list = {0};
    bool is_found = locate_program(app, program) &&
                    list_libraries(program, &app->environment, &list) &&
                    find_in_list(wl_queue_front(&list), library_out);
    wl_queue_release(&list);
    return is_found;
}
