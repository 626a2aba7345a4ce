/* SPDX-License-Identifier: BSD-3-Clause */
/* What is left when the shared segment of a host cannot be opened: nothing. */
#include "shm/segment.h"

#include "base/config.h"
#include "mpi.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const int local_ranks[] = {0, 1};
static int put_result, fence_result;

static int put(const char *key, const void *data, size_t bytes)
{
    (void)key, (void)data, (void)bytes;
    return put_result;
}

static int fence(void)
{
    return fence_result;
}

static int count_mappings(const char *name)
{
    char line[512];
    int count = 0;
    FILE *file = fopen("/proc/self/maps", "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL)
        count += strstr(line, name) != NULL;
    fclose(file);
    return count;
}

static int count_descriptors(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

static void expect_nothing_left(const char *how, const char *path)
{
    weft_segment_t segment;
    int descriptors = count_descriptors();
    weft_config.SHM = how;
    assert_int_equal(weft_segment_open(&weft_world, &segment), MPI_ERR_OTHER);
    assert_int_equal(count_mappings(path), 0);
    assert_int_equal(count_descriptors(), descriptors);
}

static void a_failure_leaves_nothing(void **unused)
{
    static char path[64];
    (void)unused;
    snprintf(path, sizeof(path), "/dev/shm/%s.weft", weft_world.job_id);
    put_result = MPI_ERR_OTHER;
    expect_nothing_left("memfd", "memfd:weft");
    expect_nothing_left("file", path);
    put_result = MPI_SUCCESS;
    fence_result = MPI_ERR_OTHER;
    expect_nothing_left("memfd", "memfd:weft");
    expect_nothing_left("file", path);
    assert_int_not_equal(access(path, F_OK), 0);
}

int main(void)
{
    static char job_id[32];
    static const weft_wireup_t wireup = {.put = put, .fence = fence};
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_failure_leaves_nothing)};
    weft_config_read();
    snprintf(job_id, sizeof(job_id), "unit-segment-%d", (int)getpid());
    weft_world.job_id = job_id;
    weft_world.size = weft_world.local_size = 2;
    weft_world.local_ranks = local_ranks;
    weft_world.wireup = &wireup;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
