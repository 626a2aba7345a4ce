/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Devices as this process uses them: one weft_device_t for each context of the program's whose
 * memory was given to MPI. Contexts are found, never made; one that the program has destroyed is
 * noticed by its id, and its weft_device_t stays behind, dead.
 */
#ifndef WEFT_CUDA_CUDA_DEVICE_H
#define WEFT_CUDA_CUDA_DEVICE_H

#include "cuda/driver.h"
#include "runtime/device.h"

struct weft_kernels;
struct weft_pinned;
struct weft_scratch;

struct weft_device {
    weft_cu_context_t context;
    unsigned long long context_id; /* 0: the driver does not say */
    bool is_dead;
    weft_cu_device_t number; /* the driver's */
    weft_cu_uuid_t uuid;
    char pci[16];
    weft_queue_t *queues[WEFT_STREAM_CLASSES]; /* of cuda_queue.c; NULL: not yet made */
    struct weft_pinned *pinned;                /* of cuda_memory.c */
    struct weft_scratch *scratch;
    struct weft_kernels *kernels; /* of cuda_kernels.c */
    int multicasts;               /* of cuda_multicast.c: 1, -1; 0: not asked yet */
    weft_device_t *next;
};

/** All of them, dead ones too. */
extern weft_device_t *wefti_devices;

/** The device of a context. MPI_ERR_OTHER, MPI_ERR_NO_MEM. */
int wefti_device_of_context(weft_cu_context_t context, weft_device_t **out);

/** The device in whose context to work on memory that belongs to none (VMM, pools): the current
 *  context if it is on device `number`, else its primary one. MPI_ERR_OTHER: that is not active. */
int wefti_device_of_number(weft_cu_device_t number, weft_device_t **out);

/** The device with this UUID, as above. False: this process does not see it, or has no context on
 * it.
 */
bool wefti_device_of_uuid(const uint8_t uuid[16], weft_device_t **out);

/** The driver's number of the device with this UUID; -1: this process does not see it. */
weft_cu_device_t wefti_device_number(const uint8_t uuid[16]);

/** Between these the device's context is current, and calls that are not allowed while a thread
 *  captures a graph are. The program's state is back afterwards. MPI_ERR_OTHER: the context is
 * gone. */
typedef struct weft_visit {
    int capture_mode;
} weft_visit_t;
int wefti_device_enter(const weft_device_t *device, weft_visit_t *out);
void wefti_device_leave(weft_visit_t *visit);

/** Release everything; the driver may be gone already. */
void wefti_devices_close(void);

#endif
