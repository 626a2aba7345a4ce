/* SPDX-License-Identifier: BSD-3-Clause */
#include "runtime/hardware.h"

#include "base/cpu.h"
#include "base/log.h"
#include "config.h"

#include <stdbool.h>
#include <stddef.h>
#include <strings.h>

static const char *const hardware_names[WEFT_HARDWARE_KINDS] = {
    [WEFT_HARDWARE_PACKAGE] = "Package", [WEFT_HARDWARE_NUMA_NODE] = "NUMANode",
    [WEFT_HARDWARE_L3] = "L3Cache",      [WEFT_HARDWARE_L2] = "L2Cache",
    [WEFT_HARDWARE_L1] = "L1Cache",      [WEFT_HARDWARE_CORE] = "Core",
    [WEFT_HARDWARE_PU] = "PU",
};

int weft_hardware_named(const char *name)
{
    for (int i = 0; i < WEFT_HARDWARE_KINDS; i++) {
        if (strcasecmp(name, hardware_names[i]) == 0)
            return i;
    }
    return -1;
}

const char *weft_hardware_name(int kind)
{
    return hardware_names[kind];
}

#ifdef HAVE_HWLOC

#include <hwloc.h>
#include <unistd.h>

static const hwloc_obj_type_t hardware_types[WEFT_HARDWARE_KINDS] = {
    [WEFT_HARDWARE_PACKAGE] = HWLOC_OBJ_PACKAGE, [WEFT_HARDWARE_NUMA_NODE] = HWLOC_OBJ_NUMANODE,
    [WEFT_HARDWARE_L3] = HWLOC_OBJ_L3CACHE,      [WEFT_HARDWARE_L2] = HWLOC_OBJ_L2CACHE,
    [WEFT_HARDWARE_L1] = HWLOC_OBJ_L1CACHE,      [WEFT_HARDWARE_CORE] = HWLOC_OBJ_CORE,
    [WEFT_HARDWARE_PU] = HWLOC_OBJ_PU,
};

static hwloc_topology_t machine; /* NULL: not looked at yet */

/* Without /sys, as in some chroots, hwloc's part for Linux finds nothing, and each process would
 * print hwloc's complaint about it: its other parts see the processors. */
struct hwloc_topology *wefti_hardware_look(bool with_devices)
{
    hwloc_topology_t found;
    if (hwloc_topology_init(&found) != 0)
        return NULL;
    if (access("/sys/devices/system/cpu", F_OK) != 0)
        hwloc_topology_set_components(found, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "linux");
    if (with_devices)
        hwloc_topology_set_io_types_filter(found, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    if (hwloc_topology_load(found) == 0)
        return found;
    WEFT_LOG(WEFT_WARN, "start", "hwloc cannot look at the machine");
    hwloc_topology_destroy(found);
    return NULL;
}

static bool load_machine(void)
{
    if (machine == NULL)
        machine = wefti_hardware_look(false);
    return machine != NULL;
}

/* The smallest part of the machine on which the thread may run; NULL: unknown. */
static hwloc_obj_t find_bound(void)
{
    hwloc_obj_t found = NULL;
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    if (set == NULL)
        return NULL;
    if (hwloc_get_cpubind(machine, set, HWLOC_CPUBIND_THREAD) == 0) {
        hwloc_bitmap_and(set, set, hwloc_topology_get_topology_cpuset(machine));
        found = hwloc_get_obj_covering_cpuset(machine, set);
    }
    hwloc_bitmap_free(set);
    return found;
}

/* Memory lies beside the tree of processors. */
static int find_numa_node(hwloc_obj_t bound)
{
    if (hwloc_bitmap_weight(bound->nodeset) != 1)
        return -1;
    unsigned index = (unsigned)hwloc_bitmap_first(bound->nodeset);
    hwloc_obj_t node = hwloc_get_numanode_obj_by_os_index(machine, index);
    return node == NULL ? -1 : (int)node->logical_index;
}

static int find_around(hwloc_obj_t bound, hwloc_obj_type_t type)
{
    while (bound != NULL && bound->type != type)
        bound = bound->parent;
    return bound == NULL ? -1 : (int)bound->logical_index;
}

bool weft_hardware_is_known(void)
{
    return true;
}

bool weft_hardware_is_bound(void)
{
    weft_cpus_t cpus = weft_cpus_allowed();
    return weft_cpus_count(&cpus) < sysconf(_SC_NPROCESSORS_ONLN);
}

void weft_hardware_find(int instances[WEFT_HARDWARE_KINDS])
{
    hwloc_obj_t bound = load_machine() ? find_bound() : NULL;
    for (int i = 0; i < WEFT_HARDWARE_KINDS; i++) {
        bool is_memory = i == WEFT_HARDWARE_NUMA_NODE;
        instances[i] = bound == NULL ? -1
                       : is_memory   ? find_numa_node(bound)
                                     : find_around(bound, hardware_types[i]);
    }
}

void weft_hardware_close(void)
{
    if (machine != NULL)
        hwloc_topology_destroy(machine);
    machine = NULL;
}

#else

bool weft_hardware_is_known(void)
{
    return false;
}

bool weft_hardware_is_bound(void)
{
    return false;
}

void weft_hardware_find(int instances[WEFT_HARDWARE_KINDS])
{
    for (int i = 0; i < WEFT_HARDWARE_KINDS; i++)
        instances[i] = -1;
}

void weft_hardware_close(void)
{
}

#endif
