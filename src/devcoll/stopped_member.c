/* SPDX-License-Identifier: BSD-3-Clause */
#include "devcoll/stopped_member.h"

#include "runtime/stopped_process.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/fail.h"

enum { LOOK_NS = 100000000 };

/* WEFT_NO_PROCESS: none is. */
static int find_stopped(const weft_task_t *task)
{
    for (int i = 0; i < task->members; i++) {
        int process = weft_comm_process(task->request.comm, i);
        if (i != task->member && weft_process_is_stopped(process))
            return process;
    }
    return WEFT_NO_PROCESS;
}

bool wefti_is_member_stopped(weft_task_t *task)
{
    int64_t now_ns = weft_clock_ns(), since_ns = now_ns - task->looked_ns;
    int64_t most_ns = (int64_t)weft_config.DEVICE_WAIT_MAX * 1000000000;
    if (most_ns == 0 || (task->looked_ns != 0 && since_ns < LOOK_NS))
        return false;
    bool is_first = task->looked_ns == 0;
    task->looked_ns = now_ns;
    if (is_first)
        return false; /* most kernels end before a second look */
    int process = find_stopped(task);
    bool is_same = process != WEFT_NO_PROCESS && process == task->stopped;
    task->stopped_ns =
        is_same ? task->stopped_ns + (since_ns < 2 * LOOK_NS ? since_ns : LOOK_NS) : 0;
    task->stopped = process;
    return process != WEFT_NO_PROCESS && task->stopped_ns >= most_ns;
}

int wefti_stopped_member_error(const weft_task_t *task, int err)
{
    int64_t most_ns = (int64_t)weft_config.DEVICE_WAIT_MAX * 1000000000;
    if (err == MPI_SUCCESS || most_ns == 0 || task->stopped_ns < most_ns)
        return err;
    return weft_fail(
        MPI_ERR_OTHER,
        "rank %d has been stopped for %d s (WEFT_DEVICE_WAIT_MAX), while a kernel waits "
        "for its kernel",
        weft_process_rank(task->stopped), weft_config.DEVICE_WAIT_MAX);
}
