/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/plan/rank_files.h"

#include "base/fail.h"
#include "mpi.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const channel_names[2] = {"stdout", "stderr"};

int wl_rank_files_check(const char *word, const char *pattern)
{
    if (pattern[0] == '\0' || strlen(pattern) >= PATH_MAX)
        return weft_fail(MPI_ERR_ARG, "%s wants the name of a file, not \"%.40s\"", word, pattern);
    for (const char *at = strchr(pattern, '%'); at != NULL; at = strchr(at + 2, '%')) {
        if (at[1] == '\0' || strchr("rhj%", at[1]) == NULL)
            return weft_fail(MPI_ERR_ARG,
                             "%s: in \"%s\" %.2s is none of %%r (rank), %%h (host), "
                             "%%j (job) and %%%%",
                             word, pattern, at);
    }
    return MPI_SUCCESS;
}

static bool names_rank(const char *pattern)
{
    for (const char *at = strchr(pattern, '%'); at != NULL; at = strchr(at + 2, '%')) {
        if (at[1] == 'r')
            return true;
    }
    return false;
}

int wl_rank_files_check_size(const wl_rank_files_t *files, int size)
{
    for (int channel = 0; channel < 2; channel++) {
        const char *pattern = files->patterns[channel];
        if (size > 1 && pattern != NULL && !names_rank(pattern))
            return weft_fail(MPI_ERR_ARG,
                             "%d ranks cannot all write their %s to the file %s: put "
                             "%%r in its name for the rank",
                             size, channel_names[channel], pattern);
    }
    if (files->input_rank >= size)
        return weft_fail(MPI_ERR_ARG, "--stdin %d: the job has ranks 0 to %d", files->input_rank,
                         size - 1);
    return MPI_SUCCESS;
}

bool wl_rank_files_take(const wl_rank_files_t *files, int channel)
{
    return files->folder != NULL || files->patterns[channel] != NULL;
}

/* Write the text of a field as far as it fits; returns its whole length. */
static int expand_field(char letter, int rank, const char *job, char *out, size_t room)
{
    char host[HOST_NAME_MAX + 1] = "";
    switch (letter) {
    case 'r':
        return snprintf(out, room, "%d", rank);
    case 'h':
        gethostname(host, sizeof(host) - 1);
        return snprintf(out, room, "%s", host);
    case 'j':
        return snprintf(out, room, "%s", job);
    default:
        return snprintf(out, room, "%%");
    }
}

/* False: the name is too long. */
static bool expand(const char *pattern, int rank, const char *job, char path[PATH_MAX])
{
    size_t used = 0;
    for (const char *at = pattern; *at != '\0' && used < PATH_MAX;) {
        bool is_field = at[0] == '%' && at[1] != '\0';
        int bytes = is_field ? expand_field(at[1], rank, job, path + used, PATH_MAX - used)
                             : snprintf(path + used, PATH_MAX - used, "%c", *at);
        used += (size_t)bytes;
        at += is_field ? 2 : 1;
    }
    return used > 0 && used < PATH_MAX;
}

/* FOLDER/rank.R/stdout */
static bool expand_in_folder(const wl_rank_files_t *files, int channel, int rank,
                             char path[PATH_MAX])
{
    int bytes =
        snprintf(path, PATH_MAX, "%s/rank.%d/%s", files->folder, rank, channel_names[channel]);
    return bytes > 0 && bytes < PATH_MAX;
}

/* An error here shows again when the file is opened. */
static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0777);
        *slash = '/';
    }
}

/* The name of the file of a rank for a channel. */
static int find_path(const wl_rank_files_t *files, int channel, int rank, const char *job,
                     char path[PATH_MAX])
{
    bool fits = files->folder != NULL ? expand_in_folder(files, channel, rank, path)
                                      : expand(files->patterns[channel], rank, job, path);
    return fits ? MPI_SUCCESS
                : weft_fail(MPI_ERR_IO, "the name of the file for %s of rank %d is too long",
                            channel_names[channel], rank);
}

/* Both channels may name one file. */
static int open_path(const char *path, int more_flags, int channel, int rank, int *fd_out)
{
    *fd_out = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | more_flags, 0666);
    if (*fd_out < 0)
        return weft_fail(MPI_ERR_IO, "the file %s for %s of rank %d cannot be written: %s", path,
                         channel_names[channel], rank, strerror(errno));
    return MPI_SUCCESS;
}

int wl_rank_files_open(const wl_rank_files_t *files, int channel, int rank, const char *job,
                       int *fd_out)
{
    char path[PATH_MAX];
    int err = find_path(files, channel, rank, job, path);
    if (err == MPI_SUCCESS && files->folder != NULL)
        make_folders(path);
    return err == MPI_SUCCESS ? open_path(path, O_TRUNC, channel, rank, fd_out) : err;
}

int wl_rank_files_reopen(const wl_rank_files_t *files, int channel, int rank, const char *job,
                         int *fd_out)
{
    char path[PATH_MAX];
    int err = find_path(files, channel, rank, job, path);
    return err == MPI_SUCCESS ? open_path(path, 0, channel, rank, fd_out) : err;
}
