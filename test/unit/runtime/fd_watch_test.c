/* SPDX-License-Identifier: BSD-3-Clause */
/* The socket that wakes a rank: under Weft's mpirun, which removes what is left of a job, it is a
 * file that no other user can write to; otherwise, or where that name is taken, an abstract one. */
#define _GNU_SOURCE
#include "runtime/fd_watch.h"

#include "runtime/world.h"
#include "base/log.h"
#include "mpi.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

enum { RANK = 3, STRANGER = 65534 };

static char job[64], file[96];

static int wait_fd(void)
{
    return WEFT_FD_NONE;
}

static void open_job(const char *prefix)
{
    snprintf(job, sizeof(job), "%s-unit-%d", prefix, (int)getpid());
    snprintf(file, sizeof(file), "/dev/shm/%s.%d", job, RANK);
    weft_world.job_id = job;
    weft_world.rank = RANK;
    assert_int_equal(weft_fd_watch_add(wait_fd), MPI_SUCCESS);
}

static bool is_woken_by_ring(void)
{
    weft_fd_watch_t sleep;
    weft_fd_watch_enter(&sleep);
    weft_fd_watch_prepare(&sleep);
    bool is_quiet = poll(sleep.polls, (nfds_t)sleep.count + 2, 0) == 0;
    weft_fd_watch_ring(RANK);
    bool is_woken = poll(sleep.polls, (nfds_t)sleep.count + 2, 0) == 1;
    weft_fd_watch_sleep(&sleep, 1);
    weft_fd_watch_leave(&sleep);
    return is_quiet && is_woken;
}

static void a_file_of_the_owner(void **unused)
{
    struct stat status;
    (void)unused;
    open_job("weft");
    assert_int_equal(stat(file, &status), 0);
    assert_true(S_ISSOCK(status.st_mode));
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_true(is_woken_by_ring());
    weft_fd_watch_close();
    assert_int_equal(stat(file, &status), -1);
}

/* Another user can neither reach the file nor an abstract name beside it. */
static void strangers_are_refused(void **unused)
{
    struct sockaddr_un names[2] = {{.sun_family = AF_UNIX}, {.sun_family = AF_UNIX}};
    (void)unused;
    if (getuid() != 0)
        skip(); /* only root can be another user */
    open_job("weft");
    snprintf(names[0].sun_path, sizeof(names[0].sun_path), "%s", file);
    socklen_t bytes = offsetof(struct sockaddr_un, sun_path) + 1;
    bytes += (socklen_t)snprintf(names[1].sun_path + 1, sizeof(names[1].sun_path) - 1, "weft.%s.%d",
                                 job, RANK);
    const socklen_t lengths[] = {sizeof(names[0]), bytes};
    for (int i = 0; i < 2; i++) {
        int from = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        assert_int_equal(seteuid(STRANGER), 0);
        ssize_t sent = sendto(from, "", 1, 0, (struct sockaddr *)&names[i], lengths[i]);
        int error = errno;
        assert_int_equal(seteuid(0), 0);
        assert_int_equal(sent, -1);
        assert_int_equal(error, i == 0 ? EACCES : ECONNREFUSED);
        close(from);
    }
    weft_fd_watch_close();
}

static void a_name_that_is_taken(void **unused)
{
    (void)unused;
    snprintf(file, sizeof(file), "/dev/shm/weft-unit-%d.%d", (int)getpid(), RANK);
    int fd = open(file, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    open_job("weft");
    assert_true(is_woken_by_ring());
    weft_fd_watch_close();
    assert_int_equal(unlink(file), 0); /* it was not ours to remove */
    close(fd);
}

static void other_launchers(void **unused)
{
    struct stat status;
    (void)unused;
    open_job("slurm");
    assert_int_equal(stat(file, &status), -1);
    assert_true(is_woken_by_ring());
    weft_fd_watch_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_of_the_owner), cmocka_unit_test(strangers_are_refused),
        cmocka_unit_test(a_name_that_is_taken), cmocka_unit_test(other_launchers)};
    weft_log_threshold = -1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
