/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPIX_Bootstrap_set: the ranks find each other through a store of the program, here a folder. What
 * a rank reads first is not true, as if an earlier job had left it. Every second rank says that it
 * is on another host, if told to.
 */
#define _GNU_SOURCE
#include "expect.h"

#include <mpix.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Where the value has the secret of the job (src/pmi/hub_record_private.h). */
enum { PATH_BYTES = 512, SECRET_AT = 11, SECRET_BYTES = 16 };

typedef struct folder {
    char path[256];
    int puts, gets;
} folder_t;

static void name_file(const folder_t *folder, const char *key, const char *suffix, char *out)
{
    int length = snprintf(out, PATH_BYTES, "%s/", folder->path);
    for (const char *c = key; *c != '\0' && length < 400; c++)
        out[length++] = *c == '/' ? '_' : *c;
    snprintf(out + length, (size_t)(PATH_BYTES - length), "%s", suffix);
}

static int put(void *state, const char *key, const void *data, size_t bytes)
{
    char fresh[PATH_BYTES], path[PATH_BYTES];
    folder_t *folder = state;
    name_file(folder, key, ".new", fresh);
    name_file(folder, key, "", path);
    folder->puts++;
    EXPECT(bytes > 0 && bytes <= MPIX_BOOTSTRAP_VALUE_MAX && strlen(key) <= 63, 1);
    int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    EXPECT(write(fd, data, bytes), bytes);
    close(fd);
    return rename(fresh, path) == 0 ? 0 : MPIX_BOOTSTRAP_FAILED;
}

static int get(void *state, const char *key, int limit_ms, void *out, size_t room,
               size_t *bytes_out)
{
    char path[PATH_BYTES];
    folder_t *folder = state;
    name_file(folder, key, "", path);
    for (int waited_ms = 0;; waited_ms++) {
        int fd = open(path, O_RDONLY);
        if (fd >= 0) {
            *bytes_out = (size_t)read(fd, out, room);
            close(fd);
            if (folder->gets++ == 0)
                memset((char *)out + SECRET_AT, 0, SECRET_BYTES);
            return 0;
        }
        if (waited_ms >= limit_ms)
            return errno == ENOENT ? MPIX_BOOTSTRAP_ABSENT : MPIX_BOOTSTRAP_FAILED;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

static void check_errors(const MPIX_Bootstrap *good)
{
    MPIX_Bootstrap bad = *good;
    bad.bytes--;
    EXPECT_ERROR(MPIX_Bootstrap_set(&bad), MPI_ERR_ARG);
    bad = *good;
    bad.size = 0;
    EXPECT_ERROR(MPIX_Bootstrap_set(&bad), MPI_ERR_ARG);
    bad = *good;
    bad.rank = bad.size;
    EXPECT_ERROR(MPIX_Bootstrap_set(&bad), MPI_ERR_ARG);
    bad.rank = -1;
    EXPECT_ERROR(MPIX_Bootstrap_set(&bad), MPI_ERR_ARG);
    bad = *good;
    bad.put = NULL;
    EXPECT_ERROR(MPIX_Bootstrap_set(&bad), good->size > 1 ? MPI_ERR_ARG : MPI_SUCCESS);
    bad = *good;
    bad.get = NULL;
    EXPECT_ERROR(MPIX_Bootstrap_set(&bad), good->size > 1 ? MPI_ERR_ARG : MPI_SUCCESS);
}

static void check_ranks(const MPIX_Bootstrap *bootstrap)
{
    MPI_Comm host;
    int sum, here;
    EXPECT(expect_rank, bootstrap->rank);
    EXPECT(expect_size, bootstrap->size);
    MPI_Allreduce(&expect_rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    EXPECT(sum, expect_size * (expect_size - 1) / 2);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_size(host, &here);
    EXPECT(here, bootstrap->host == NULL ? expect_size : (expect_size + !(expect_rank % 2)) / 2);
    MPI_Comm_free(&host);
}

int main(int argc, char **argv)
{
    folder_t folder = {.puts = 0, .gets = 0};
    char path[PATH_BYTES];
    const char *temporary = getenv("TMPDIR"), *hosts[] = {"one", "two"};
    int rank = atoi(getenv("RANK")), size = atoi(getenv("WORLD_SIZE"));
    snprintf(folder.path, sizeof(folder.path), "%s/%s.store",
             temporary == NULL ? "/tmp" : temporary, getenv("PMIX_NAMESPACE"));
    mkdir(folder.path, 0700);
    MPIX_Bootstrap bootstrap = {.bytes = sizeof(bootstrap),
                                .rank = rank,
                                .size = size,
                                .state = &folder,
                                .put = put,
                                .get = get};
    if (argc > 1)
        bootstrap.host = hosts[rank % 2];
    check_errors(&bootstrap);
    EXPECT(MPIX_Bootstrap_set(NULL), MPI_SUCCESS);
    EXPECT(MPIX_Bootstrap_set(&bootstrap), MPI_SUCCESS);
    MPI_Init(&argc, &argv);
    expect_begin();
    check_ranks(&bootstrap);
    EXPECT(folder.puts, rank == 0 && size > 1);
    EXPECT(folder.gets >= 2, rank > 0);
    EXPECT_ERROR(MPIX_Bootstrap_set(&bootstrap), MPI_ERR_OTHER);
    if (rank == 0) { /* all others have read it */
        name_file(&folder, "weft/hub-1", "", path);
        unlink(path);
        rmdir(folder.path);
    }
    return expect_end();
}
