/* SPDX-License-Identifier: BSD-3-Clause */
#include "cuda/shared_pins.h"

#include "cuda/cuda_memory.h"
#include "cuda/cuda_stream.h"
#include "runtime/world.h"
#include "base/config.h"
#include "base/log.h"
#include "base/memory.h"
#include "mpi.h"

enum { BYTES_PER_SHARE = 2 }; /* of what may be pinned, the half is for this */

typedef struct shared_pin {
    weft_device_t *device; /* whose it is, while its context lives */
    void *memory;
    size_t bytes;
    bool is_pinned, is_missed;
    struct shared_pin *next;
} shared_pin_t;

static shared_pin_t *shared_pins;
static size_t pinned_bytes;
static bool is_impossible; /* the driver has refused */

static void say_why_not_pinned(size_t bytes, weft_cu_result_t result)
{
    is_impossible = true;
    if (weft_world_may_warn(WEFT_WARNING_NO_SHELF))
        WEFT_LOG(WEFT_WARN, "cuda",
                 "devices do not reach memory that processes share (cuMemHostRegister of %zu "
                 "bytes: %s): messages between devices are copied once more on each side",
                 bytes, wefti_driver_error(result));
}

static void pin_now(shared_pin_t *pin)
{
    weft_visit_t visit;
    if (!wefti_pinned_charge(pin->device, pin->bytes) ||
        wefti_device_enter(pin->device, &visit) != MPI_SUCCESS)
        return;
    weft_cu_result_t result = wefti_register(pin->memory, pin->bytes);
    wefti_device_leave(&visit);
    if (result != WEFT_CU_SUCCESS) {
        say_why_not_pinned(pin->bytes, result);
        return;
    }
    pin->is_pinned = true;
    pinned_bytes += pin->bytes;
    WEFT_LOG(WEFT_INFO, "cuda", "device %s reaches %zu bytes of shared memory", pin->device->pci,
             pin->bytes);
}

static shared_pin_t *find_pin(const void *memory)
{
    shared_pin_t *pin = shared_pins;
    while (pin != NULL && pin->memory != memory)
        pin = pin->next;
    return pin;
}

static shared_pin_t *add_pin(weft_device_t *device, void *memory, size_t bytes)
{
    shared_pin_t *pin = weft_alloc(sizeof(*pin));
    if (pin == NULL)
        return NULL;
    *pin = (shared_pin_t){.device = device, .memory = memory, .bytes = bytes, .next = shared_pins};
    shared_pins = pin;
    return pin;
}

/* What a context registered has gone with it. */
static void pass_pin_on(shared_pin_t *pin, weft_device_t *device)
{
    if (pin->is_pinned)
        pinned_bytes -= pin->bytes;
    pin->is_pinned = false;
    pin->device = device;
}

bool wefti_pin_shared(weft_device_t *device, void *memory, size_t bytes)
{
    shared_pin_t *pin = find_pin(memory);
    if (pin != NULL && !wefti_device_lives(pin->device))
        pass_pin_on(pin, device);
    if (pin != NULL && pin->is_pinned)
        return pin->device == device;
    if (is_impossible || !wefti_can_register() ||
        pinned_bytes + bytes > weft_config.DEVICE_PINNED_MAX / BYTES_PER_SHARE)
        return false;
    if (pin == NULL)
        pin = add_pin(device, memory, bytes);
    if (pin == NULL)
        return false;
    pin->device = device;
    pin->is_missed = wefti_streams_may_wait();
    if (!pin->is_missed)
        pin_now(pin);
    return pin->is_pinned;
}

/* ---- while the driver cannot be asked ---- */

bool wefti_has_missed_pin(void)
{
    const shared_pin_t *pin = shared_pins;
    while (pin != NULL && !pin->is_missed)
        pin = pin->next;
    return pin != NULL;
}

void wefti_pins_catch_up(void)
{
    for (shared_pin_t *pin = shared_pins; pin != NULL; pin = pin->next) {
        if (pin->is_missed && wefti_device_lives(pin->device))
            wefti_pin_shared(pin->device, pin->memory, pin->bytes);
        pin->is_missed = false;
    }
}

/* ---- the end ---- */

void wefti_pins_close(void)
{
    weft_visit_t visit;
    for (shared_pin_t *pin = shared_pins, *next; pin != NULL; pin = next) {
        next = pin->next;
        if (pin->is_pinned && wefti_device_lives(pin->device) &&
            wefti_device_enter(pin->device, &visit) == MPI_SUCCESS) {
            wefti_cu.cuMemHostUnregister(pin->memory);
            wefti_device_leave(&visit);
        }
        weft_free(pin);
    }
    shared_pins = NULL;
    pinned_bytes = 0;
    is_impossible = false;
}
