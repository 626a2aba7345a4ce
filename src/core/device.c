/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/device.h"

#include "core/progress.h"
#include "base/fail.h"
#include "mpi.h"

static const uintptr_t no_news = 0;

const weft_device_ops_t *weft_device_ops;
void (*weft_device_freed)(uint64_t id);
const uintptr_t *weft_device_news = &no_news;

void weft_device_open(const weft_device_ops_t *ops, const uintptr_t *news)
{
    weft_device_ops = ops;
    weft_device_news = news;
}

void weft_device_close(void)
{
    weft_device_news = &no_news;
    weft_device_ops = NULL;
}

int weft_queue_wait(weft_queue_t *queue)
{
    weft_mark_t mark = {.done = NULL};
    int err = weft_queue_mark(queue, &mark);
    if (err != MPI_SUCCESS)
        return err;
    weft_progress_until(&mark.is_reached);
    return mark.error == MPI_SUCCESS ? MPI_SUCCESS : weft_fail(mark.error, "%s", mark.why);
}
