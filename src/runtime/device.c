/* SPDX-License-Identifier: BSD-3-Clause */
#include "runtime/device.h"

#include "runtime/progress.h"
#include "base/fail.h"
#include "mpi.h"

static const uintptr_t no_news = 0;

const weft_device_ops_t *weft_device;
void (*weft_device_freed)(uint64_t id);
const uintptr_t *weft_device_news = &no_news;

void weft_device_open(const weft_device_ops_t *ops, const uintptr_t *news)
{
    weft_device = ops;
    weft_device_news = news;
}

void weft_device_close(void)
{
    weft_device_news = &no_news;
    weft_device = NULL;
}

int weft_queue_wait(weft_queue_t *queue)
{
    weft_event_t event = {.done = NULL};
    int err = weft_device->record(queue, &event);
    if (err != MPI_SUCCESS)
        return err;
    weft_progress_until(&event.is_reached);
    return event.error == MPI_SUCCESS ? MPI_SUCCESS : weft_fail(event.error, "%s", event.why);
}
