/* SPDX-License-Identifier: BSD-3-Clause */
#include "runtime/device.h"

#include "runtime/progress.h"
#include "base/fail.h"
#include "mpi.h"

#include <dlfcn.h>
#include <unistd.h>

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

/* Does the program find a driver when it looks for one? It takes 10 ms to load a real one: that of
 * a host with a device is seen by its nodes, those of NVIDIA's kernel driver or of WSL. */
static bool can_load_driver(void)
{
    static const char *const nodes[] = {"/dev/nvidiactl", "/proc/driver/nvidia", "/dev/dxg"};
    for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
        if (access(nodes[i], F_OK) == 0)
            return true;
    }
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (library != NULL)
        dlclose(library);
    return library != NULL;
}

bool weft_device_may_come(void)
{
    static int answer = -1;
    if (answer < 0)
        answer = weft_device != NULL && (*weft_device_news != 0 || can_load_driver());
    return answer == 1;
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
