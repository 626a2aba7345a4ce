/* SPDX-License-Identifier: BSD-3-Clause */
#include "runtime/host_devices.h"

#include <sched.h>
#include <stddef.h>
#include <string.h>

enum { FREE, BEING_WRITTEN, WRITTEN };

weft_host_devices_t *weft_host_devices;

/* Is it the entry of this device? It is made so if it is free. A rank may die while it writes: then
 * the others leave its entry alone. */
static bool is_entry_of(weft_host_device_t *device, const uint8_t uuid[16])
{
    enum { LOOKS = 1000 };
    unsigned entry = FREE;
    if (atomic_compare_exchange_strong(&device->entry, &entry, BEING_WRITTEN)) {
        memcpy(device->uuid, uuid, sizeof(device->uuid));
        atomic_store(&device->entry, WRITTEN);
        return true;
    }
    for (int i = 0; i < LOOKS && entry == BEING_WRITTEN; i++) {
        sched_yield();
        entry = atomic_load(&device->entry);
    }
    return entry == WRITTEN && memcmp(device->uuid, uuid, sizeof(device->uuid)) == 0;
}

/* The first user says how; each other one must say the same. */
static void enter_user(weft_host_device_t *device, unsigned self, uint64_t server)
{
    unsigned first = 0;
    uint64_t known = 0;
    if (server == 0 ||
        (!atomic_compare_exchange_strong(&device->server, &known, server) && known != server))
        atomic_store(&device->is_sliced, 1);
    if (!atomic_compare_exchange_strong(&device->first_user, &first, self) && first != self)
        atomic_store(&device->has_others, 1);
}

int weft_host_device_enter(const uint8_t uuid[16], int local_rank, uint64_t server)
{
    int place = 0;
    if (weft_host_devices == NULL)
        return -1;
    while (place < WEFT_HOST_DEVICES && !is_entry_of(&weft_host_devices->device[place], uuid))
        place++;
    if (place == WEFT_HOST_DEVICES)
        return -1;
    enter_user(&weft_host_devices->device[place], (unsigned)local_rank + 1, server);
    return place;
}

bool weft_host_device_is_shared(int place)
{
    if (weft_host_devices == NULL)
        return false;
    const weft_host_device_t *device = place < 0 ? NULL : &weft_host_devices->device[place];
    return device == NULL ||
           (atomic_load_explicit(&device->has_others, memory_order_relaxed) != 0 &&
            atomic_load_explicit(&device->is_sliced, memory_order_relaxed) != 0);
}

int weft_host_device_crowd(const weft_share_t *const shares[], int count)
{
    int crowd = 0;
    for (int i = 0; i < count; i++) {
        int here = 0;
        for (int j = 0; j < count; j++)
            here += memcmp(shares[i]->uuid, shares[j]->uuid, sizeof(shares[i]->uuid)) == 0;
        crowd = here > crowd ? here : crowd;
    }
    return crowd;
}

int weft_host_device_find(const uint8_t uuid[16])
{
    for (int i = 0; weft_host_devices != NULL && i < WEFT_HOST_DEVICES; i++) {
        const weft_host_device_t *device = &weft_host_devices->device[i];
        if (atomic_load(&device->entry) == WRITTEN &&
            memcmp(device->uuid, uuid, sizeof(device->uuid)) == 0)
            return i;
    }
    return -1;
}

bool weft_host_device_may_offer(int place)
{
    unsigned offer = FREE;
    return place >= 0 && atomic_compare_exchange_strong(&weft_host_devices->device[place].offer,
                                                        &offer, BEING_WRITTEN);
}

void weft_host_device_offer(int place, const weft_share_t *area)
{
    weft_host_devices->device[place].area = *area;
    atomic_store(&weft_host_devices->device[place].offer, WRITTEN);
}

const weft_share_t *weft_host_device_offered(int place)
{
    const weft_host_device_t *device = place < 0 ? NULL : &weft_host_devices->device[place];
    return device != NULL && atomic_load(&device->offer) == WRITTEN ? &device->area : NULL;
}

weft_verdict_t weft_host_verdict_ask(int device, int owner)
{
    uint8_t verdict = WEFT_VERDICT_UNKNOWN;
    if (atomic_compare_exchange_strong(&weft_host_devices->verdicts[device][owner], &verdict,
                                       WEFT_VERDICT_TRIED))
        return WEFT_VERDICT_YOURS;
    return (weft_verdict_t)verdict;
}

void weft_host_verdict_give(int device, int owner, weft_verdict_t verdict)
{
    atomic_store(&weft_host_devices->verdicts[device][owner], (uint8_t)verdict);
}
