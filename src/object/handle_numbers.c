/* SPDX-License-Identifier: BSD-3-Clause */
#include "object/handle_numbers.h"

#include "object/int_handles.h"
#include "object/object.h"
#include "runtime/lock.h"
#include "base/memory.h"

#include <stddef.h>

static weft_int_handles_t handles; /* by number */

/* From handle to number: a hash table of addresses, at most half full, with linear probing. */
static int *slots; /* [slot_count] numbers; 0: free */
static size_t slot_count, used;

static size_t first_slot(const void *handle)
{
    /* Objects are 64 bytes apart; the factor is 2^64 divided by the golden ratio. */
    uint64_t hash = ((uintptr_t)handle >> 6) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(hash >> 32) & (slot_count - 1);
}

/* The slot of a handle, or the free one where it belongs. */
static int *handles_find_slot(const void *handle)
{
    size_t slot = first_slot(handle);
    while (slots[slot] != 0 && weft_int_handles_find(&handles, slots[slot]) != handle)
        slot = (slot + 1) & (slot_count - 1);
    return &slots[slot];
}

static bool grow_numbers(void)
{
    int *old = slots;
    size_t old_count = slot_count, wider = old_count == 0 ? 64 : 2 * old_count;
    int *grown = weft_alloc_zeroed(wider, sizeof(*grown));
    if (grown == NULL)
        return false;
    slots = grown;
    slot_count = wider;
    for (size_t i = 0; i < old_count; i++) {
        if (old[i] != 0)
            *handles_find_slot(weft_int_handles_find(&handles, old[i])) = old[i];
    }
    weft_free(old);
    return true;
}

static int number_of_handle(const void *handle)
{
    if (2 * (used + 1) > slot_count && !grow_numbers())
        return 0;
    int *slot = handles_find_slot(handle);
    if (*slot != 0)
        return *slot;
    *slot = weft_int_handles_add(&handles, (void *)handle);
    used += *slot != 0;
    return *slot;
}

int weft_handle_number(const void *handle)
{
    if (weft_is_predefined(handle))
        return (int)(uintptr_t)handle;
    weft_lock_take();
    int number = number_of_handle(handle);
    weft_lock_give();
    return number;
}

void *weft_handle_of_number(int number, void *null)
{
    if (number >= 0 && number < WEFT_PREDEFINED_HANDLES)
        return (void *)(uintptr_t)number;
    weft_lock_take();
    void *handle = weft_int_handles_find(&handles, number);
    weft_lock_give();
    return handle == NULL ? null : handle;
}

void weft_handle_numbers_close(void)
{
    weft_free(slots);
    slots = NULL;
    slot_count = used = 0;
    weft_int_handles_close(&handles);
}
