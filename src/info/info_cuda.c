/* SPDX-License-Identifier: BSD-3-Clause */
#include "info/info_cuda.h"

#include "cuda/cuda.h"
#include "cuda/driver_api.h"
#include "cuda/gdr_api.h"
#include "cuda/kernels/kernel_arches.h"
#include "cuda/kernels/kernel_image.h"
#include "base/config.h"
#include "base/mps_program.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { FACTS_MAX = 24, TEXT_BYTES = 512 };

/* ---- facts that are put together here ---- */

typedef struct sheet {
    weft_fact_t report[FACTS_MAX + 1]; /* the last one ends the list */
    char values[FACTS_MAX][TEXT_BYTES];
    int count;
} sheet_t;

static void put_line(sheet_t *sheet, const char *key, const char *label, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void put_line(sheet_t *sheet, const char *key, const char *label, const char *format, ...)
{
    va_list args;
    if (sheet->count == FACTS_MAX)
        return;
    char *value = sheet->values[sheet->count];
    va_start(args, format);
    vsnprintf(value, TEXT_BYTES, format, args);
    va_end(args);
    sheet->report[sheet->count++] = (weft_fact_t){key, label, value};
}

/* Adds a word to a comma-separated list; a word that does not fit is left out. */
static void list_add(char list[TEXT_BYTES], const char *word)
{
    size_t used = strlen(list);
    snprintf(list + used, TEXT_BYTES - used, "%s%s", used == 0 ? "" : ", ", word);
}

/* ---- the driver ---- */

#define ASKED(X)                                                                                   \
    X(cuInit, cuInit, (unsigned flags))                                                            \
    X(cuDriverGetVersion, cuDriverGetVersion, (int *out))                                          \
    X(cuGetErrorName, cuGetErrorName, (weft_cu_result_t error, const char **out))                  \
    X(cuGetErrorString, cuGetErrorString, (weft_cu_result_t error, const char **out))              \
    X(cuDeviceGetCount, cuDeviceGetCount, (int *out))                                              \
    X(cuDeviceGet, cuDeviceGet, (weft_cu_device_t * out, int ordinal))                             \
    X(cuDeviceGetName, cuDeviceGetName, (char *out, int bytes, weft_cu_device_t device))           \
    X(cuDeviceTotalMem, cuDeviceTotalMem_v2, (size_t * out, weft_cu_device_t device))              \
    X(cuDeviceGetUuid, cuDeviceGetUuid_v2, (weft_cu_uuid_t * out, weft_cu_device_t device))        \
    X(cuDeviceGetPCIBusId, cuDeviceGetPCIBusId, (char *out, int bytes, weft_cu_device_t device))   \
    X(cuDeviceGetAttribute, cuDeviceGetAttribute,                                                  \
      (int *out, int attribute, weft_cu_device_t device))                                          \
    X(cuDeviceCanAccessPeer, cuDeviceCanAccessPeer,                                                \
      (int *out, weft_cu_device_t device, weft_cu_device_t peer))

static struct {
#define MEMBER(name, exported, arguments) weft_cu_result_t(*name) arguments;
    ASKED(MEMBER)
#undef MEMBER
} cu;

static const char *find_functions(void *library)
{
    const struct {
        const char *name;
        void **at;
    } symbols[] = {
#define SYMBOL(name, exported, arguments) {#exported, (void **)&cu.name},
        ASKED(SYMBOL)
#undef SYMBOL
    };
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        *symbols[i].at = dlsym(library, symbols[i].name);
        if (*symbols[i].at == NULL)
            return symbols[i].name;
    }
    return NULL;
}

static const char *error_text(weft_cu_result_t result)
{
    static char text[160];
    const char *name = NULL, *meaning = NULL;
    cu.cuGetErrorName(result, &name);
    cu.cuGetErrorString(result, &meaning);
    snprintf(text, sizeof(text), "error %d, %s (%s)", result, name == NULL ? "unknown" : name,
             meaning == NULL ? "unknown" : meaning);
    return text;
}

/* Returns the number of devices. If it is 0, a fact gives the reason. */
static int open_driver(sheet_t *sheet)
{
    int version = 0, count = 0;
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        put_line(sheet, "driver", "CUDA driver", "none (%s)", dlerror());
        return 0;
    }
    const char *missing = find_functions(library);
    if (missing != NULL) {
        put_line(sheet, "driver", "CUDA driver", "too old: it has no %s (11.4 or later is needed)",
                 missing);
        return 0;
    }
    cu.cuDriverGetVersion(&version);
    weft_cu_result_t result = cu.cuInit(0);
    if (result == WEFT_CU_SUCCESS)
        result = cu.cuDeviceGetCount(&count);
    if (result != WEFT_CU_SUCCESS)
        put_line(sheet, "driver", "CUDA driver", "for CUDA %d.%d, but without a device: cuInit: %s",
                 version / 1000, version % 1000 / 10, error_text(result));
    else
        put_line(sheet, "driver", "CUDA driver", "for CUDA %d.%d, %d device%s", version / 1000,
                 version % 1000 / 10, count, count == 1 ? "" : "s");
    return count;
}

/* ---- devices ---- */

static int attribute_of(weft_cu_device_t device, int attribute)
{
    int value = 0;
    return cu.cuDeviceGetAttribute(&value, attribute, device) == WEFT_CU_SUCCESS ? value : 0;
}

static void put_uuid(sheet_t *sheet, weft_cu_device_t device)
{
    weft_cu_uuid_t uuid = {{0}};
    char text[48] = "GPU-";
    size_t used = strlen(text);
    cu.cuDeviceGetUuid(&uuid, device);
    for (int i = 0; i < 16; i++) {
        bool begins_group = i == 4 || i == 6 || i == 8 || i == 10;
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%02x",
                                 begins_group ? "-" : "", uuid.bytes[i]);
    }
    put_line(sheet, "uuid", "  UUID", "%s", text);
}

static void put_memory(sheet_t *sheet, weft_cu_device_t device)
{
    size_t bytes = 0;
    weft_cu_result_t result = cu.cuDeviceTotalMem(&bytes, device);
    if (result == WEFT_CU_SUCCESS)
        put_line(sheet, "memory", "  memory", "%zu MiB", bytes >> 20);
    else
        put_line(sheet, "memory", "  memory", "not known: cuDeviceTotalMem: %s",
                 error_text(result));
}

static void put_kinds(sheet_t *sheet, weft_cu_device_t device)
{
    char kinds[TEXT_BYTES] = "device";
    static const struct {
        int attribute;
        const char *word;
    } offered[] = {{WEFT_CU_DEVICE_MAPS_HOST_MEMORY, "pinned"},
                   {WEFT_CU_DEVICE_MANAGED_MEMORY, "managed"},
                   {WEFT_CU_DEVICE_POOLS, "pools"},
                   {WEFT_CU_DEVICE_VMM, "virtual"}};
    for (size_t i = 0; i < sizeof(offered) / sizeof(offered[0]); i++) {
        if (attribute_of(device, offered[i].attribute) != 0)
            list_add(kinds, offered[i].word);
    }
    put_line(sheet, "memory_kinds", "  kinds of memory", "%s", kinds);
}

static void put_handles(sheet_t *sheet, weft_cu_device_t device)
{
    char handles[TEXT_BYTES] = "";
    if (attribute_of(device, WEFT_CU_DEVICE_UNIFIED_ADDRESSING) &&
        !attribute_of(device, WEFT_CU_DEVICE_IS_INTEGRATED))
        list_add(handles, "CUDA IPC");
    if (attribute_of(device, WEFT_CU_DEVICE_HANDLE_POSIX_FD))
        list_add(handles, "file descriptors");
    if (attribute_of(device, WEFT_CU_DEVICE_HANDLE_FABRIC))
        list_add(handles, access("/dev/nvidia-caps-imex-channels", F_OK) == 0
                              ? "fabric handles"
                              : "fabric handles (not permitted: there is no IMEX channel)");
    put_line(sheet, "sharing", "  shared by", "%s",
             handles[0] == '\0' ? "nothing: messages between ranks go through pinned memory"
                                : handles);
}

static void put_peers(sheet_t *sheet, weft_cu_device_t device, int count)
{
    char peers[TEXT_BYTES] = "", number[16];
    for (int i = 0; i < count; i++) {
        weft_cu_device_t peer;
        int is_possible = 0;
        if (cu.cuDeviceGet(&peer, i) != WEFT_CU_SUCCESS || peer == device ||
            cu.cuDeviceCanAccessPeer(&is_possible, device, peer) != WEFT_CU_SUCCESS || !is_possible)
            continue;
        snprintf(number, sizeof(number), "%d", i);
        list_add(peers, number);
    }
    if (count > 1)
        put_line(sheet, "peers", "  peer access to", "%s",
                 peers[0] == '\0' ? "none of the others: messages go through pinned memory"
                                  : peers);
}

static void put_multicast(sheet_t *sheet, weft_cu_device_t device, int capability)
{
    bool is_there = attribute_of(device, WEFT_CU_DEVICE_MULTICAST) != 0 &&
                    attribute_of(device, WEFT_CU_DEVICE_TIME_LIMIT) == 0;
    put_line(sheet, "multicast", "  multicast", "%s",
             !is_there ? "no"
             : !weft_kernel_multicasts(capability)
                 ? "yes, but Weft has no kernels for it (configure --with-cuda-arch=90 or later)"
                 : "yes: large allreduces of ranks with a device each");
}

/* Of a device with a display. */
static void put_time_limit(sheet_t *sheet, weft_cu_device_t device)
{
    if (attribute_of(device, WEFT_CU_DEVICE_TIME_LIMIT) != 0)
        put_line(sheet, "time_limit", "  time limit",
                 "the system ends kernels that run for seconds, so none may wait for other ranks: "
                 "collectives do not go by ll or multicast");
}

static void print_device(const weft_info_format_t *format, int ordinal, int count)
{
    sheet_t sheet = {.count = 0};
    weft_cu_device_t device;
    char name[128] = "?", pci[32] = "?", section[32];
    weft_cu_result_t result = cu.cuDeviceGet(&device, ordinal);
    snprintf(section, sizeof(section), "cuda_device_%d", ordinal);
    if (result != WEFT_CU_SUCCESS) {
        put_line(&sheet, "name", "device", "%d: cuDeviceGet: %s", ordinal, error_text(result));
        format->report(section, sheet.report);
        return;
    }
    cu.cuDeviceGetName(name, sizeof(name), device);
    cu.cuDeviceGetPCIBusId(pci, sizeof(pci), device);
    int capability = 10 * attribute_of(device, WEFT_CU_DEVICE_CAPABILITY_MAJOR) +
                     attribute_of(device, WEFT_CU_DEVICE_CAPABILITY_MINOR);
    put_line(&sheet, "name", "device", "%d: %s", ordinal, name);
    put_line(&sheet, "pci", "  PCI id", "%s", pci);
    put_uuid(&sheet, device);
    put_memory(&sheet, device);
    put_line(&sheet, "capability", "  capability", "%d.%d", capability / 10, capability % 10);
    put_line(&sheet, "kernels", "  Weft's kernels", "%s",
             weft_kernel_fit_text(weft_kernel_fit(capability)));
    put_kinds(&sheet, device);
    put_handles(&sheet, device);
    put_peers(&sheet, device, count);
    put_multicast(&sheet, device, capability);
    put_time_limit(&sheet, device);
    format->report(section, sheet.report);
}

/* ---- GDRCopy ---- */

/* GDRCopy carries small messages. */
static void put_gdr(sheet_t *sheet)
{
    int major = 0, minor = 0;
    weft_gdr_api_t gdr;
    void *library = dlopen(WEFT_GDR_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL || !weft_gdr_find(library, &gdr)) {
        put_line(sheet, "gdrcopy", "GDRCopy", "none (%s): small messages go through pinned memory",
                 library == NULL ? dlerror() : "it lacks functions");
        return;
    }
    gdr.gdr_runtime_get_version(&major, &minor);
    weft_gdr_t connection = gdr.gdr_open();
    if (connection == NULL)
        put_line(sheet, "gdrcopy", "GDRCopy",
                 "%d.%d, but its kernel module (gdrdrv) is not there, or may not be used: "
                 "small messages go through pinned memory",
                 major, minor);
    else
        put_line(sheet, "gdrcopy", "GDRCopy", "%d.%d: the processor copies small messages", major,
                 minor);
    if (connection != NULL)
        gdr.gdr_close(connection);
}

/* ---- MPS ---- */

static void put_mps(sheet_t *sheet)
{
    weft_cu_device_t device;
    char program[PATH_MAX];
    bool is_client = cu.cuDeviceGet(&device, 0) == WEFT_CU_SUCCESS &&
                     attribute_of(device, WEFT_CU_DEVICE_BY_MPS) != 0;
    const char *what = is_client ? "this process is a client of it: ranks that share a device run "
                                   "side by side"
                                 : "not running for this process: ranks that share a device take "
                                   "turns";
    if (weft_mps_program_find(weft_environment("PATH"), program))
        put_line(sheet, "mps", "MPS", "%s; mpirun --mps starts %.256s", what, program);
    else
        put_line(sheet, "mps", "MPS", "%s; " WEFT_MPS_PROGRAM " was not found", what);
}

/* ---- the rest ---- */

static void put_kernels(sheet_t *sheet)
{
    if (weft_fatbin_bytes == 0)
        put_line(sheet, "kernels", "kernels",
                 "none, built without nvcc: reductions go through the host");
    else
        put_line(sheet, "kernels", "kernels", "%zu bytes, for %s, by CUDA %s%s%s%s",
                 weft_fatbin_bytes, weft_kernel_arches, weft_kernel_toolkit,
                 weft_kernel_driver[0] == '\0' ? "" : " (driver ", weft_kernel_driver,
                 weft_kernel_driver[0] == '\0' ? "" : " or later)");
}

static void put_settings(sheet_t *sheet)
{
    static char names[FACTS_MAX][48];
    for (int i = 0; i < weft_config_rows() && sheet->count < FACTS_MAX; i++) {
        weft_config_row_t row = weft_config_row(i);
        char *name = names[sheet->count];
        if (strncmp(row.name, "DEVICE", strlen("DEVICE")) != 0)
            continue;
        snprintf(name, sizeof(names[0]), "WEFT_%s", row.name);
        put_line(sheet, name, name, "%s", row.value);
    }
}

void weft_info_cuda(const weft_info_format_t *format)
{
    sheet_t sheet = {.count = 0}, settings = {.count = 0};
    put_kernels(&sheet);
    int count = open_driver(&sheet);
    if (count > 0) {
        put_gdr(&sheet);
        put_mps(&sheet);
        put_line(&sheet, "memory_kinds", "kinds in MPI", "%s", weft_cuda_memory_kinds);
    }
    format->report("cuda", sheet.report);
    for (int i = 0; i < count; i++)
        print_device(format, i, count);
    put_settings(&settings);
    format->report("cuda_settings", settings.report);
}
