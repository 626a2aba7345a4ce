/* SPDX-License-Identifier: BSD-3-Clause */
#include "cuda/cuda_memory.h"

#include "cuda/cuda_stream.h"
#include "runtime/world.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/log.h"
#include "base/memory.h"
#include "mpi.h"

/* ---- pinned slots ---- */

enum { SLOT_CLASSES = 3, WORDS = 0, PAGE = 4096, SLAB_BYTES = 2 << 20 };

static const size_t slot_bytes[SLOT_CLASSES] = {64, 16 * 1024, WEFT_PINNED_SLOT};
/* Each class gets this many slabs whatever the limit says: transfers that hold slots while they
 * wait for a peer must not take all of them. */
static const int slabs_least[SLOT_CLASSES] = {2, 1, 4};

enum { BITS = 64, SLOTS_MOST = 2 * BITS };

/* Which slots are free is not noted in the slots themselves: when the program ends the context that
 * owns the memory, the memory is gone, while slots may still have to be given back. */
typedef struct slab {
    char *memory;
    size_t bytes;
    int class;
    bool is_pageable;
    uint64_t free[SLOTS_MOST / BITS];
    struct slab *next;
} slab_t;

struct weft_pinned {
    slab_t *slabs;
    int slab_count[SLOT_CLASSES];
    size_t bytes;
    unsigned missed;   /* bits: classes without a free slot when the driver could not be asked */
    bool has_pageable; /* the driver has refused to pin memory once, and a notice was given */
};

static int class_for(size_t bytes)
{
    int class = WORDS + 1;
    while (class < SLOT_CLASSES && slot_bytes[class] < bytes)
        class ++;
    return class;
}

static char *pin(weft_device_t *device, size_t bytes)
{
    weft_visit_t visit;
    void *memory = NULL;
    if (wefti_device_enter(device, &visit) != MPI_SUCCESS)
        return NULL;
    weft_cu_result_t result =
        wefti_cu.cuMemHostAlloc(&memory, bytes, WEFT_CU_HOST_PORTABLE | WEFT_CU_HOST_DEVICEMAP);
    wefti_device_leave(&visit);
    if (result == WEFT_CU_SUCCESS)
        return memory;
    if (weft_world_may_warn(WEFT_WARNING_NO_PINNED))
        WEFT_LOG(WEFT_WARN, "cuda",
                 "no pinned host memory (cuMemHostAlloc of %zu bytes: %s): messages of device "
                 "memory are slower, as copies to and from ordinary memory block",
                 bytes, wefti_driver_error(result));
    device->pinned->has_pageable = true;
    return NULL;
}

static void give_index(slab_t *slab, size_t index)
{
    slab->free[index / BITS] |= (uint64_t)1 << index % BITS;
}

static void add_slots(slab_t *slab)
{
    size_t count = slab->bytes / slot_bytes[slab->class];
    for (size_t index = 0; index < count && index < SLOTS_MOST; index++)
        give_index(slab, index);
}

/* Returns NULL if no slot of this slab is free. */
static char *take_memory_slot(slab_t *slab)
{
    for (size_t i = 0; i < SLOTS_MOST / BITS; i++) {
        if (slab->free[i] == 0)
            continue;
        size_t index = i * BITS + (size_t)__builtin_ctzll(slab->free[i]);
        slab->free[i] &= slab->free[i] - 1;
        return slab->memory + index * slot_bytes[slab->class];
    }
    return NULL;
}

static void *take_free(const struct weft_pinned *pool, int class)
{
    char *slot = NULL;
    for (slab_t *slab = pool->slabs; slab != NULL && slot == NULL; slab = slab->next)
        slot = slab->class == class ? take_memory_slot(slab) : NULL;
    return slot;
}

/* Words must be pinned. For larger slots ordinary memory is better than none. */
static bool get_memory(weft_device_t *device, slab_t *slab)
{
    slab->memory = pin(device, slab->bytes);
    if (slab->memory == NULL && slab->class != WORDS) {
        slab->memory = weft_alloc_aligned(slab->bytes, PAGE);
        slab->is_pageable = true;
    }
    return slab->memory != NULL;
}

static bool add_slab(weft_device_t *device, int class)
{
    struct weft_pinned *pool = device->pinned;
    size_t bytes = class == WORDS ? PAGE : SLAB_BYTES;
    if (pool->slab_count[class] >= slabs_least[class] &&
        pool->bytes + bytes > weft_config.DEVICE_PINNED_MAX)
        return false;
    if (!wefti_may_take(device)) {
        pool->missed |= 1u << class;
        return false;
    }
    slab_t *slab = weft_alloc(sizeof(*slab));
    if (slab == NULL)
        return false;
    *slab = (slab_t){.bytes = bytes, .class = class, .next = pool->slabs};
    if (!get_memory(device, slab)) {
        weft_free(slab);
        return false;
    }
    pool->slabs = slab;
    pool->slab_count[class]++;
    pool->bytes += bytes;
    add_slots(slab);
    return true;
}

static bool has_pinned_pool(weft_device_t *device)
{
    if (device->pinned == NULL)
        device->pinned = weft_alloc_zeroed(1, sizeof(*device->pinned));
    return device->pinned != NULL;
}

bool wefti_can_register(void)
{
    return wefti_cu.cuMemHostRegister != NULL && wefti_cu.cuMemHostUnregister != NULL &&
           wefti_cu.cuMemHostGetDevicePointer != NULL;
}

weft_cu_result_t wefti_register(void *memory, size_t bytes)
{
    weft_cu_address_t seen = 0;
    weft_cu_result_t result =
        wefti_cu.cuMemHostRegister(memory, bytes, WEFT_CU_HOST_PORTABLE | WEFT_CU_HOST_DEVICEMAP);
    if (result != WEFT_CU_SUCCESS)
        return result;
    result = wefti_cu.cuMemHostGetDevicePointer(&seen, memory, 0);
    if (result == WEFT_CU_SUCCESS && seen == (weft_cu_address_t)(uintptr_t)memory)
        return WEFT_CU_SUCCESS;
    wefti_cu.cuMemHostUnregister(memory);
    return result != WEFT_CU_SUCCESS ? result : WEFT_CU_INVALID_VALUE;
}

bool wefti_pinned_charge(weft_device_t *device, size_t bytes)
{
    if (!has_pinned_pool(device) || device->pinned->bytes + bytes > weft_config.DEVICE_PINNED_MAX)
        return false;
    device->pinned->bytes += bytes;
    return true;
}

static void *take_memory(weft_device_t *device, int class)
{
    if (!has_pinned_pool(device) || class == SLOT_CLASSES)
        return NULL;
    void *slot = take_free(device->pinned, class);
    return slot == NULL && add_slab(device, class) ? take_free(device->pinned, class) : slot;
}

void *wefti_pinned_take(weft_device_t *device, size_t bytes)
{
    return take_memory(device, class_for(bytes));
}

uint32_t *wefti_pinned_word(weft_device_t *device)
{
    return take_memory(device, WORDS);
}

static slab_t *slab_in(const weft_device_t *device, const void *slot)
{
    slab_t *slab = device->pinned == NULL ? NULL : device->pinned->slabs;
    while (slab != NULL && (uintptr_t)slot - (uintptr_t)slab->memory >= slab->bytes)
        slab = slab->next;
    return slab;
}

/* The latest device comes first: memory of an older one whose context has ended may belong to the
 * later one. */
static slab_t *slab_of(const void *slot)
{
    slab_t *slab = NULL;
    for (weft_device_t *device = wefti_devices; device != NULL && slab == NULL;
         device = device->next)
        slab = slab_in(device, slot);
    return slab;
}

bool wefti_is_pageable_slot(const weft_device_t *device, const void *memory)
{
    if (device->pinned == NULL || !device->pinned->has_pageable)
        return false;
    const slab_t *slab = slab_of(memory);
    return slab != NULL && slab->is_pageable;
}

static void give_memory(slab_t *slab, const void *slot)
{
    give_index(slab, (size_t)((const char *)slot - slab->memory) / slot_bytes[slab->class]);
}

void wefti_pinned_give(void *slot)
{
    give_memory(slab_of(slot), slot);
}

void wefti_pinned_give_word(weft_device_t *device, uint32_t *word)
{
    give_memory(slab_in(device, word), word);
}

void wefti_pinned_release(weft_device_t *device, bool is_alive)
{
    if (device->pinned == NULL)
        return;
    for (slab_t *slab = device->pinned->slabs, *next; slab != NULL; slab = next) {
        next = slab->next;
        if (slab->is_pageable)
            weft_free(slab->memory);
        else if (is_alive)
            wefti_cu.cuMemFreeHost(slab->memory);
        weft_free(slab);
    }
    weft_free(device->pinned);
    device->pinned = NULL;
}

/* ---- scratch ---- */

enum { SCRATCH_CLASSES = 15, SCRATCH_LEAST = 64 * 1024 }; /* the largest piece has 1 GiB */

typedef struct piece {
    weft_cu_address_t address;
    int class;
    bool is_taken;
    struct piece *next;
} piece_t;

struct weft_scratch {
    piece_t *pieces;
    size_t bytes;
    unsigned missed; /* likewise */
};

static int scratch_class(size_t bytes)
{
    int class = 0;
    while (class < SCRATCH_CLASSES && (size_t)SCRATCH_LEAST << class < bytes)
        class ++;
    return class;
}

static weft_cu_address_t allocate_memory(weft_device_t *device, size_t bytes)
{
    weft_visit_t visit;
    weft_cu_address_t address = 0;
    if (wefti_device_enter(device, &visit) != MPI_SUCCESS)
        return 0;
    weft_cu_result_t result = wefti_cu.cuMemAlloc(&address, bytes);
    wefti_device_leave(&visit);
    return result == WEFT_CU_SUCCESS ? address : 0;
}

static piece_t *memory_add_piece(weft_device_t *device, int class)
{
    size_t bytes = (size_t)SCRATCH_LEAST << class;
    if (device->scratch->bytes + bytes > weft_config.DEVICE_SCRATCH_MAX)
        return NULL;
    if (!wefti_may_take(device)) {
        device->scratch->missed |= 1u << class;
        return NULL;
    }
    piece_t *piece = weft_alloc(sizeof(*piece));
    if (piece == NULL)
        return NULL;
    *piece = (piece_t){allocate_memory(device, bytes), class, false, device->scratch->pieces};
    if (piece->address == 0) {
        weft_free(piece);
        return NULL;
    }
    device->scratch->pieces = piece;
    device->scratch->bytes += bytes;
    return piece;
}

/* The smallest free piece that is large enough. */
static piece_t *find_piece(const weft_device_t *device, int class)
{
    piece_t *best = NULL;
    for (piece_t *piece = device->scratch->pieces; piece != NULL; piece = piece->next) {
        if (!piece->is_taken && piece->class >= class &&
            (best == NULL || piece->class < best->class))
            best = piece;
    }
    return best;
}

static bool has_scratch_pool(weft_device_t *device)
{
    if (device->scratch == NULL)
        device->scratch = weft_alloc_zeroed(1, sizeof(*device->scratch));
    return device->scratch != NULL;
}

void *wefti_scratch_take(weft_device_t *device, size_t bytes)
{
    int class = scratch_class(bytes);
    if (!has_scratch_pool(device) || class == SCRATCH_CLASSES)
        return NULL;
    piece_t *piece = find_piece(device, class);
    if (piece == NULL || (piece->class > class + 2 && wefti_may_take(device))) {
        piece_t *fresh = memory_add_piece(device, class);
        piece = fresh == NULL ? piece : fresh;
    }
    if (piece == NULL)
        return NULL;
    piece->is_taken = true;
    return (void *)(uintptr_t)piece->address;
}

void wefti_scratch_give(weft_device_t *device, void *scratch)
{
    piece_t *piece = device->scratch->pieces;
    while (piece->address != (weft_cu_address_t)(uintptr_t)scratch)
        piece = piece->next;
    piece->is_taken = false;
}

void wefti_scratch_release(weft_device_t *device, bool is_alive)
{
    if (device->scratch == NULL)
        return;
    for (piece_t *piece = device->scratch->pieces, *next; piece != NULL; piece = next) {
        next = piece->next;
        if (is_alive)
            wefti_cu.cuMemFree(piece->address);
        weft_free(piece);
    }
    weft_free(device->scratch);
    device->scratch = NULL;
}

/* ---- while the driver cannot be asked ---- */

void wefti_memory_reserve(weft_device_t *device)
{
    static const int classes[] = {0, 0, 4, 4, 6}; /* 64 KiB, 1 MiB and 4 MiB of scratch */
    for (int class = 0; has_pinned_pool(device) && class < SLOT_CLASSES; class ++) {
        while (device->pinned->slab_count[class] < slabs_least[class] && add_slab(device, class))
            ;
    }
    for (size_t i = 0; has_scratch_pool(device) && i < sizeof(classes) / sizeof(classes[0]); i++)
        memory_add_piece(device, classes[i]);
}

bool wefti_has_missed_memory(const weft_device_t *device)
{
    return (device->pinned != NULL && device->pinned->missed != 0) ||
           (device->scratch != NULL && device->scratch->missed != 0);
}

void wefti_memory_catch_up(weft_device_t *device)
{
    for (int class = 0; device->pinned != NULL && class < SLOT_CLASSES; class ++) {
        if ((device->pinned->missed & 1u << class) != 0)
            add_slab(device, class);
    }
    if (device->pinned != NULL)
        device->pinned->missed = 0;
    for (int class = 0; device->scratch != NULL && class < SCRATCH_CLASSES; class ++) {
        if ((device->scratch->missed & 1u << class) != 0)
            memory_add_piece(device, class);
    }
    if (device->scratch != NULL)
        device->scratch->missed = 0;
}
