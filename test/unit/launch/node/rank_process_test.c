/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes of ranks: how their ends are seen. */
#include "launch/node/rank_process.h"

#include "base/fail.h"
#include "mpi.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { PAUSES_MOST = 10000 };

static void pause_a_moment(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* A process that runs `sh -c text`. */
static void start_shell(wl_ranks_t *ranks, char *text)
{
    static char shell[] = "sh", option[] = "-c", variable[] = "A=B";
    char *arguments[] = {shell, option, text, NULL}, *environment[] = {variable, NULL};
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    const wl_rank_start_t start = {.path = "/bin/sh",
                                   .arguments = arguments,
                                   .environment = environment,
                                   .in = null,
                                   .out = null,
                                   .err = null};
    assert_int_equal(wl_ranks_open(1, ranks), MPI_SUCCESS);
    if (wl_ranks_start(ranks, &start) != MPI_SUCCESS)
        fail_msg("%s", weft_fail_text());
    close(null);
}

static void await_end(wl_ranks_t *ranks)
{
    for (int pauses = 0; !wl_ranks_poll(ranks, 0); pauses++) {
        if (pauses == PAUSES_MOST)
            fail_msg("the end of process %d is not seen", (int)ranks->processes[0].pid);
        pause_a_moment();
    }
    assert_true(ranks->processes[0].has_ended);
    assert_int_equal(ranks->running, 0);
    assert_false(wl_ranks_poll(ranks, 0));
}

static void ends_are_seen(void **state)
{
    char exits[] = "exit 7", dies[] = "kill -9 $$";
    wl_ranks_t ranks;
    (void)state;
    start_shell(&ranks, exits);
    await_end(&ranks);
    assert_int_equal(ranks.processes[0].exit_code, 7);
    assert_int_equal(ranks.processes[0].signal, 0);
    wl_ranks_release(&ranks);
    start_shell(&ranks, dies);
    await_end(&ranks);
    assert_int_equal(ranks.processes[0].exit_code, 128 + SIGKILL);
    assert_int_equal(ranks.processes[0].signal, SIGKILL);
    wl_ranks_release(&ranks);
}

static void reaped_processes_have_ended(void **state)
{
    char exits[] = "exit 0";
    wl_ranks_t ranks;
    (void)state;
    start_shell(&ranks, exits);
    assert_int_equal(waitpid(ranks.processes[0].pid, NULL, 0), ranks.processes[0].pid);
    await_end(&ranks);
    assert_int_equal(ranks.processes[0].exit_code, 1);
    assert_int_equal(ranks.processes[0].signal, 0);
    wl_ranks_release(&ranks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_are_seen),
        cmocka_unit_test(reaped_processes_have_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
