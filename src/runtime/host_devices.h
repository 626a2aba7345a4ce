/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the ranks of a host know together of its devices, in memory that they share: which device is
 * used by more than one of them. All ranks of the job count here, in whatever communicator they
 * meet. A device is known by its UUID, and is entered when a rank first works on it.
 */
#ifndef WEFT_RUNTIME_HOST_DEVICES_H
#define WEFT_RUNTIME_HOST_DEVICES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { WEFT_HOST_DEVICES = 64 };

/** In shared memory, all zeros at first. */
typedef struct weft_host_device {
    _Alignas(64) atomic_uint entry; /* 0: free; 1: being written; 2: `uuid` is there */
    atomic_uint first_user;         /* 1 + its local rank */
    atomic_uint is_shared;          /* other ranks use it, too */
    uint8_t uuid[16];
} weft_host_device_t;

typedef struct weft_host_devices {
    weft_host_device_t device[WEFT_HOST_DEVICES];
} weft_host_devices_t;

/** Set by the transport within the host; NULL: this rank is alone. */
extern weft_host_devices_t *weft_host_devices;

/** Local rank `local_rank`, which is this one, works on the device. Returns its place in the table;
 *  -1: there is no table, or it is full. */
int weft_host_device_enter(const uint8_t uuid[16], int local_rank);

/** Does another rank of this host work on the device, too, as far as is known? One may begin to do
 *  so at any time; none is ever forgotten. `place` is what weft_host_device_enter() returned. */
bool weft_host_device_is_shared(int place);

#endif
