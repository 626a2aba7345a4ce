/* SPDX-License-Identifier: BSD-3-Clause */
/* The devices of a host, those that this process sees, and their attributes. */
#include "sim_share.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static sim_device_t visible[SIM_DEVICES_MAX];
static int visible_count;

int sim_device_count(void)
{
    return visible_count;
}

sim_device_t *sim_device(int ordinal)
{
    return ordinal >= 0 && ordinal < visible_count ? &visible[ordinal] : NULL;
}

sim_device_t *sim_device_of_uuid(const CUuuid *uuid)
{
    for (int i = 0; i < visible_count; i++) {
        if (memcmp(&visible[i].uuid, uuid, sizeof(*uuid)) == 0)
            return &visible[i];
    }
    return NULL;
}

/* FNV-1a of the host's name and the index: the same in all processes of a host, different on
 * others. */
CUuuid sim_uuid(int index)
{
    char name[80] = "";
    gethostname(name, sizeof(name) - 8);
    size_t length = strlen(name);
    length += (size_t)snprintf(name + length, 8, "#%d", index);
    CUuuid uuid;
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < sizeof(uuid.bytes); i++) {
        for (size_t k = 0; k < length; k++)
            hash = (hash ^ (unsigned char)name[k]) * 0x100000001b3;
        uuid.bytes[i] = (char)(hash >> 32);
    }
    return uuid;
}

/* ---- visible devices ---- */

static void show(int index)
{
    sim_device_t *device = &visible[visible_count];
    *device = (sim_device_t){.ordinal = visible_count, .index = index, .uuid = sim_uuid(index)};
    visible_count++;
}

static void uuid_text(CUuuid uuid, char text[48])
{
    size_t used = (size_t)snprintf(text, 48, "GPU-");
    for (size_t i = 0; i < sizeof(uuid.bytes); i++) {
        bool begins_group = i == 4 || i == 6 || i == 8 || i == 10;
        used += (size_t)snprintf(text + used, 48 - used, begins_group ? "-%02x" : "%02x",
                                 uuid.bytes[i] & 0xff);
    }
}

/* The index among `indices` that a word of CUDA_VISIBLE_DEVICES names (a number or the beginning of
 * a UUID); -1: none. */
static int named_device(const char *word, const int *indices, int count)
{
    char *end, text[48];
    long number = strtol(word, &end, 10);
    if (end != word && *end == '\0')
        return number >= 0 && number < count ? indices[number] : -1;
    int found = -1;
    for (int i = 0; i < count && strncasecmp(word, "GPU-", 4) == 0; i++) {
        uuid_text(sim_uuid(indices[i]), text);
        if (strncasecmp(word, text, strlen(word)) != 0)
            continue;
        if (found != -1)
            return -1; /* two of them begin like this */
        found = indices[i];
    }
    return found;
}

static bool is_shown(int index)
{
    for (int i = 0; i < visible_count; i++) {
        if (visible[i].index == index)
            return true;
    }
    return false;
}

/* The list ends before the first word that names no device. If it has a device twice, no device is
 * visible. */
static void show_listed(const char *list, const int *indices, int count)
{
    char *copy = strdup(list), *rest = copy, *word;
    while ((word = strsep(&rest, ",")) != NULL) {
        word += strspn(word, " ");
        int index = named_device(word, indices, count);
        if (index == -1)
            break;
        if (is_shown(index)) {
            visible_count = 0;
            break;
        }
        show(index);
    }
    free(copy);
}

/* The devices that the system lets this task use (as Slurm does by control groups); returns their
 * number. */
static int granted_devices(int indices[SIM_DEVICES_MAX])
{
    const sim_options_t *options = sim_options();
    int all = (int)options->devices, count = all;
    if (options->per_task > 0 && (int)options->per_task < all)
        count = (int)options->per_task;
    for (int i = 0; i < count; i++)
        indices[i] = count == all ? i : (int)(sim_rank() * (unsigned)count + (unsigned)i) % all;
    return count;
}

bool sim_is_granted(int index)
{
    int indices[SIM_DEVICES_MAX], count = granted_devices(indices);
    for (int i = 0; i < count; i++) {
        if (indices[i] == index)
            return true;
    }
    return false;
}

/* Of the granted devices, those are visible that CUDA_VISIBLE_DEVICES names. */
CUresult sim_devices_open(void)
{
    int indices[SIM_DEVICES_MAX], count = granted_devices(indices);
    const char *list = getenv("CUDA_VISIBLE_DEVICES");
    visible_count = 0;
    if (list != NULL) {
        show_listed(list, indices, count);
    } else {
        for (int i = 0; i < count; i++)
            show(indices[i]);
    }
    return visible_count == 0 ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}

/* ---- peers ---- */

/* Whether "0-1" or "1-0" is a word of peers=. */
static bool is_listed_pair(const char *list, int index, int other)
{
    int low, high, used;
    for (const char *at = list; sscanf(at, "%d-%d%n", &low, &high, &used) == 2; at++) {
        if ((low == index && high == other) || (low == other && high == index))
            return true;
        at += used;
        if (*at != '+')
            return false;
    }
    return false;
}

bool sim_are_peers(int index, int other)
{
    const char *peers = sim_options()->peers;
    if (index == other)
        return true;
    return strcmp(peers, "all") == 0 || is_listed_pair(peers, index, other);
}

bool sim_do_peers_lie(int index, int other)
{
    return is_listed_pair(sim_options()->peers_lie, index, other);
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice ordinal, CUdevice peer)
{
    CUresult result = sim_begin(__func__);
    sim_device_t *device = sim_device(ordinal), *other = sim_device(peer);
    if (result == CUDA_SUCCESS && can == NULL)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && (device == NULL || other == NULL))
        result = CUDA_ERROR_INVALID_DEVICE;
    if (result == CUDA_SUCCESS)
        *can = device != other && sim_are_peers(device->index, other->index);
    return sim_end(result);
}

CUresult cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attribute, CUdevice ordinal,
                                 CUdevice peer)
{
    CUresult result = sim_begin(__func__);
    sim_device_t *device = sim_device(ordinal), *other = sim_device(peer);
    if (result == CUDA_SUCCESS && (device == NULL || other == NULL))
        result = CUDA_ERROR_INVALID_DEVICE;
    if (result == CUDA_SUCCESS &&
        (value == NULL || device == other || (int)attribute < 1 || (int)attribute > 4))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && attribute == CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK)
        *value = 0;
    else if (result == CUDA_SUCCESS)
        *value = sim_are_peers(device->index, other->index);
    return sim_end(result);
}

/* ---- attributes ---- */

CUresult cuDeviceGetCount(int *count)
{
    CUresult result = sim_begin(__func__);
    if (result == CUDA_SUCCESS && count == NULL)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *count = visible_count;
    return sim_end(result);
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    CUresult result = sim_begin(__func__);
    if (result == CUDA_SUCCESS && device == NULL)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && sim_device(ordinal) == NULL)
        result = CUDA_ERROR_INVALID_DEVICE;
    if (result == CUDA_SUCCESS)
        *device = ordinal;
    return sim_end(result);
}

/* Makes the checks of most calls about a device; sets `device_out` on success only. */
static CUresult begin_about(const char *name, CUdevice ordinal, const void *out,
                            sim_device_t **device_out)
{
    CUresult result = sim_begin(name);
    if (result != CUDA_SUCCESS)
        return result;
    if (out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *device_out = sim_device(ordinal);
    return *device_out == NULL ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int bytes, CUdevice ordinal)
{
    sim_device_t *device;
    CUresult result = begin_about(__func__, ordinal, name, &device);
    if (result == CUDA_SUCCESS && bytes <= 0)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        snprintf(name, (size_t)bytes, "Weft simulated device");
    return sim_end(result);
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice ordinal)
{
    sim_device_t *device;
    CUresult result = begin_about(__func__, ordinal, uuid, &device);
    if (result == CUDA_SUCCESS)
        *uuid = device->uuid;
    return sim_end(result);
}

CUresult cuDeviceTotalMem(size_t *bytes, CUdevice ordinal)
{
    sim_device_t *device;
    CUresult result = begin_about(__func__, ordinal, bytes, &device);
    if (result == CUDA_SUCCESS)
        *bytes = sim_options()->memory;
    return sim_end(result);
}

static int bus_of(const sim_device_t *device)
{
    return 0x1b + 3 * device->index;
}

CUresult cuDeviceGetPCIBusId(char *text, int bytes, CUdevice ordinal)
{
    sim_device_t *device;
    CUresult result = begin_about(__func__, ordinal, text, &device);
    if (result == CUDA_SUCCESS && bytes < 13)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        snprintf(text, (size_t)bytes, "%04X:%02X:%02X.0", 0, bus_of(device), 0);
    return sim_end(result);
}

CUresult cuDeviceGetByPCIBusId(CUdevice *out, const char *text)
{
    unsigned domain = 0, bus, slot;
    CUresult result = sim_begin(__func__);
    if (result != CUDA_SUCCESS)
        return sim_end(result);
    if (out == NULL || text == NULL ||
        (sscanf(text, "%x:%x:%x", &domain, &bus, &slot) != 3 &&
         (domain = 0, sscanf(text, "%x:%x", &bus, &slot)) != 2))
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    for (int i = 0; i < visible_count; i++) {
        if (domain == 0 && slot == 0 && (int)bus == bus_of(&visible[i])) {
            *out = i;
            return sim_end(CUDA_SUCCESS);
        }
    }
    return sim_end(CUDA_ERROR_INVALID_DEVICE);
}

static const struct {
    CUdevice_attribute attribute;
    int value;
} attributes[] = {
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, INT32_MAX},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
    {CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 65536},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
    {CU_DEVICE_ATTRIBUTE_MAX_PITCH, INT32_MAX},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
    {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1980000},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512},
    {CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, 1},
    {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16},
    {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
    {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 2619000},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 5120},
    {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 50 << 20},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
    {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 3},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
    {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
    {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1},
    {CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32},
    {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR, 1},
    {CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, 0},
    {CU_DEVICE_ATTRIBUTE_NUMA_ID, -1},
};

/* Attributes that are not listed are 0: the device cannot do it. */
static int attribute_of(const sim_device_t *device, CUdevice_attribute attribute)
{
    const sim_options_t *options = sim_options();
    switch ((int)attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        return (int)options->capability / 10;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
        return (int)options->capability % 10;
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
        return bus_of(device);
    case CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT:
        return options->watchdog;
    case CU_DEVICE_ATTRIBUTE_MPS_ENABLED:
        return options->mps != 0;
    case CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED:
        return options->multicast != 0;
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED:
        return sim_has_fabric();
    case CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES:
        return CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR |
               (options->fabric ? CU_MEM_HANDLE_TYPE_FABRIC : 0);
    }
    for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
        if (attributes[i].attribute == attribute)
            return attributes[i].value;
    }
    return 0;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice ordinal)
{
    sim_device_t *device;
    CUresult result = begin_about(__func__, ordinal, value, &device);
    if (result == CUDA_SUCCESS && ((int)attribute < 1 || attribute >= CU_DEVICE_ATTRIBUTE_MAX))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *value = attribute_of(device, attribute);
    return sim_end(result);
}

CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice ordinal)
{
    sim_device_t *device;
    CUresult result = begin_about(__func__, ordinal, major, &device);
    if (result == CUDA_SUCCESS && minor == NULL)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS) {
        *major = attribute_of(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
        *minor = attribute_of(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    }
    return sim_end(result);
}
