/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Devices as this process uses them: one weft_device_t for each of the program's contexts whose
 * memory was given to MPI. The library finds contexts and never makes one. It notices by the
 * context's id that the program has destroyed it; the weft_device_t stays in the list, marked dead.
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
    unsigned long long context_id; /* 0: the driver does not tell it */
    bool is_dead;
    weft_cu_device_t number; /* as the driver counts devices */
    weft_cu_uuid_t uuid;
    int place;      /* of runtime/host_devices.h */
    uint64_t mps;   /* not 0: this process is a client of that MPS */
    bool has_probe; /* owned by peer_probe.c: this rank has offered an area, or need not */
    char pci[16];
    size_t bytes;            /* of its memory */
    bool has_reserve;        /* what its work needs is there: see wefti_may_take() */
    bool gives_beside_waits; /* of take_question.h; asked when it gets its reserve */
    int time_limits;         /* not 0: kernels that run for seconds are ended, so none may wait */
    weft_queue_t *queues[WEFT_STREAM_CLASSES]; /* owned by cuda_queue.c; NULL: not made yet */
    struct weft_pinned *pinned;                /* owned by cuda_memory.c */
    struct weft_scratch *scratch;
    struct weft_kernels *kernels; /* owned by cuda_kernels.c */
    int multicasts;               /* owned by cuda_multicast.c: 1 yes, -1 no, 0 not asked yet */
    size_t multicast_granule;     /* the same; 0: not asked yet */
    weft_device_t *next;
};

/** All devices, dead ones included. */
extern weft_device_t *wefti_devices;

/** The device of a context. Returns MPI_SUCCESS, MPI_ERR_OTHER or MPI_ERR_NO_MEM. */
int wefti_device_of_context(weft_cu_context_t context, weft_device_t **out);

/** Does its context still exist? */
bool wefti_device_lives(weft_device_t *device);

/** The device in whose context to work on memory that belongs to no context (VMM, pools): that of
 * the current context if it is on device `number`, else that of the device's primary context.
 * Returns MPI_ERR_OTHER if that is not active. */
int wefti_device_of_number(weft_cu_device_t number, weft_device_t **out);

/** The device with this UUID, as above. Returns false if this process does not see it, or has no
 * context on it. */
bool wefti_device_of_uuid(const uint8_t uuid[16], weft_device_t **out);

/** The driver's number of the device with this UUID; -1 if this process does not see it. */
weft_cu_device_t wefti_device_number(const uint8_t uuid[16]);

/** Names the MPS by which this process gets to a device, alike in all ranks that see the same MPS;
 *  0: by none. */
uint64_t wefti_mps_of_number(weft_cu_device_t number);

/** Does weft_device->is_shared(). */
bool wefti_device_is_shared(const weft_device_t *device);

/** Between enter and leave the device's context is current, and the driver allows calls that it
 * otherwise refuses while the thread captures a graph. Leave restores the program's state. Enter
 * returns MPI_ERR_OTHER if the context was destroyed. */
typedef struct weft_visit {
    int capture_mode;
} weft_visit_t;
int wefti_device_enter(const weft_device_t *device, weft_visit_t *out);
void wefti_device_leave(weft_visit_t *visit);

/** Release everything. The driver may have been shut down already. */
void wefti_devices_close(void);

#endif
