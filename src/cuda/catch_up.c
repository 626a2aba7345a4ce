/* SPDX-License-Identifier: BSD-3-Clause */
#include "cuda/catch_up.h"

#include "cuda/cuda_device.h"
#include "cuda/cuda_mapping.h"
#include "cuda/cuda_memory.h"
#include "cuda/cuda_stream.h"
#include "cuda/shared_pins.h"
#include "base/clock.h"
#include "mpi.h"

enum { PATIENCE_NS = 5000000 };

static bool is_anything_missed(void)
{
    bool is_missed = wefti_has_missed_mapping() || wefti_has_missed_pin();
    for (const weft_device_t *device = wefti_devices; device != NULL; device = device->next)
        is_missed |= wefti_has_missed_memory(device);
    return is_missed;
}

static bool becomes_idle(const weft_user_stream_t *stream)
{
    weft_visit_t visit;
    weft_cu_result_t result = WEFT_CU_NOT_READY;
    int64_t end_ns = weft_clock_ns() + PATIENCE_NS;
    if (wefti_device_enter(wefti_stream_device(stream), &visit) != MPI_SUCCESS)
        return false;
    do {
        result = wefti_cu.cuStreamQuery(wefti_stream_handle(stream));
    } while (result == WEFT_CU_NOT_READY && weft_clock_ns() < end_ns);
    wefti_device_leave(&visit);
    return result == WEFT_CU_SUCCESS;
}

/* The driver may wait for all work of the program, some of which may wait for what the program does
 * after this call. So the stream must be idle; if it is not, fewer and fewer calls try again. */
void wefti_catch_up(const weft_user_stream_t *stream)
{
    static unsigned pause, skipped;
    if (!is_anything_missed() || skipped++ < pause)
        return;
    skipped = 0;
    pause = becomes_idle(stream) ? 0 : 2 * pause + 1;
    if (pause > 0)
        return;
    wefti_mappings_catch_up();
    wefti_pins_catch_up();
    for (weft_device_t *device = wefti_devices; device != NULL; device = device->next)
        wefti_memory_catch_up(device);
}
