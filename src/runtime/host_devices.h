/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the ranks of a host know together of its devices, in memory that they share: which device is
 * used by more than one of them, and which one reaches the memory of which other. All ranks of the
 * job count here, in whatever communicator they meet. A device is known by its UUID, and is entered
 * when a rank first works on it.
 */
#ifndef WEFT_RUNTIME_HOST_DEVICES_H
#define WEFT_RUNTIME_HOST_DEVICES_H

#include "runtime/device.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { WEFT_HOST_DEVICES = 64 };

/** In shared memory, all zeros at first. */
typedef struct weft_host_device {
    _Alignas(64) atomic_uint entry; /* 0: free; 1: being written; 2: `uuid` is there */
    atomic_uint first_user;         /* 1 + its local rank */
    atomic_uint has_others;         /* other ranks use it, too */
    /* How its users' kernels get there, as the first user says; 0: in time slices. */
    atomic_uint_least64_t server;
    atomic_uint is_sliced; /* a user says something else, or time slices */
    uint8_t uuid[16];
    atomic_uint offer; /* as `entry`, of `area` */
    weft_share_t area; /* memory on the device, by which others can try whether they reach it */
} weft_host_device_t;

typedef struct weft_host_devices {
    weft_host_device_t device[WEFT_HOST_DEVICES];
    /* [device][owner of the memory] of weft_verdict_t */
    _Atomic uint8_t verdicts[WEFT_HOST_DEVICES][WEFT_HOST_DEVICES];
} weft_host_devices_t;

/** Set by the transport within the host; NULL: this rank is alone. */
extern weft_host_devices_t *weft_host_devices;

/** Local rank `local_rank`, which is this one, works on the device.
 *  server   names the server through which this rank's kernels get to the device, beside those of
 *           the server's other clients (CUDA's MPS); 0: they take turns with those of other ranks
 *  returns  its place in the table; -1: there is no table, or it is full */
int weft_host_device_enter(const uint8_t uuid[16], int local_rank, uint64_t server);

/** Do this rank's kernels take turns with those of another rank of this host, as far as is known?
 *  Then none may wait for another one's. A rank may begin to use the device at any time; none is
 *  ever forgotten. `place` is what weft_host_device_enter() returned. */
bool weft_host_device_is_shared(int place);

/** How many of these places in memory, none of them NULL, are on the device that has most of them;
 *  the same on all ranks that ask about the same ones. */
int weft_host_device_crowd(const weft_share_t *const shares[], int count);

/** The place of the device; -1: no rank has entered it. */
int weft_host_device_find(const uint8_t uuid[16]);

/** Is this the rank that offers an area of the device? True once for each device; then
 *  weft_host_device_offer() may follow. */
bool weft_host_device_may_offer(int place);
void weft_host_device_offer(int place, const weft_share_t *area);

/** The area; NULL: there is none. */
const weft_share_t *weft_host_device_offered(int place);

typedef enum weft_verdict {
    WEFT_VERDICT_UNKNOWN,
    WEFT_VERDICT_TRIED, /* another rank is finding out */
    WEFT_VERDICT_GOOD,
    WEFT_VERDICT_BAD,
    WEFT_VERDICT_YOURS, /* the caller is to find out, and to give the verdict */
} weft_verdict_t;

/** Does the device reach the memory of the owner, another one? Both are places in the table. */
weft_verdict_t weft_host_verdict_ask(int device, int owner);

/** UNKNOWN: it could not be tried, and the next rank that asks is to try. */
void weft_host_verdict_give(int device, int owner, weft_verdict_t verdict);

#endif
