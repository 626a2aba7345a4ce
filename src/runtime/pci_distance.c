/* SPDX-License-Identifier: BSD-3-Clause */
#include "runtime/pci_distance.h"

#include "runtime/hardware.h"
#include "runtime/world.h"
#include "base/config.h"
#include "config.h"

#include <stdlib.h>
#include <string.h>

/* Word `index` of a list of numbers; -1: it is not a number. */
static int number_in(const char *list, int index)
{
    while (index-- > 0)
        list = strchr(list, ',') + 1;
    char *end;
    long number = strtol(list, &end, 10);
    return end == list || (*end != ',' && *end != '\0') || number < 0 ? -1 : (int)number;
}

int weft_expected_gpu(const char *visible, int local_rank, int gpus)
{
    if (gpus == 0 || (visible != NULL && visible[0] == '\0'))
        return -1;
    if (visible == NULL)
        return local_rank % gpus;
    int words = 1;
    for (const char *at = visible; (at = strchr(at, ',')) != NULL; at++)
        words++;
    int number = number_in(visible, local_rank % words);
    return number < gpus ? number : -1;
}

static void set_equal(int *distances, int count)
{
    memset(distances, 0, (size_t)count * sizeof(*distances));
}

#ifdef HAVE_HWLOC

#include <hwloc.h>

enum { NVIDIA = 0x10de, DISPLAY_CLASS = 0x03 };

/* ---- devices ---- */

static bool is_gpu(hwloc_obj_t device)
{
    return device->attr->pcidev.vendor_id == NVIDIA &&
           device->attr->pcidev.class_id >> 8 == DISPLAY_CLASS;
}

/* hwloc lists devices in the order of the bus. gpus_out: how many there are. */
static hwloc_obj_t find_gpu(hwloc_topology_t machine, int number, int *gpus_out)
{
    hwloc_obj_t found = NULL, device = NULL;
    *gpus_out = 0;
    while ((device = hwloc_get_next_pcidev(machine, device)) != NULL) {
        if (is_gpu(device) && (*gpus_out)++ == number)
            found = device;
    }
    return found;
}

static hwloc_obj_t find_device(hwloc_topology_t machine, const weft_pci_address_t *at)
{
    return hwloc_get_pcidev_by_busid(machine, at->domain, at->bus, at->device, at->function);
}

/* The part of the machine to which it is attached. */
static hwloc_const_cpuset_t part_of(hwloc_topology_t machine, hwloc_obj_t device)
{
    return hwloc_get_non_io_ancestor_obj(machine, device)->cpuset;
}

/* ---- distances ---- */

static bool is_above(hwloc_obj_t ancestor, hwloc_obj_t object)
{
    while (object != NULL && object != ancestor)
        object = object->parent;
    return object != NULL;
}

/* Bridges from the lowest one that leads to both devices down to `device`, that one included; 0:
 * none leads to both. */
static int bridges_between(hwloc_obj_t device, hwloc_obj_t other)
{
    int bridges = 1;
    for (hwloc_obj_t at = device->parent; at != NULL && at->type == HWLOC_OBJ_BRIDGE;
         at = at->parent, bridges++) {
        if (is_above(at, other))
            return bridges;
    }
    return 0;
}

static int distance_of_parts(hwloc_const_cpuset_t part, hwloc_const_cpuset_t other)
{
    return hwloc_bitmap_intersects(part, other) ? WEFT_PCI_IN_PART : WEFT_PCI_ELSEWHERE;
}

/* Does it tell anything? */
static bool is_bound(hwloc_topology_t machine, hwloc_const_cpuset_t bound)
{
    return !hwloc_bitmap_iszero(bound) &&
           !hwloc_bitmap_isincluded(hwloc_topology_get_topology_cpuset(machine), bound);
}

/* A GPU far from the processors of a rank that is bound is not the one that it will use. */
static hwloc_obj_t gpu_of_rank(hwloc_topology_t machine, const weft_pci_viewer_t *rank)
{
    int gpus;
    find_gpu(machine, -1, &gpus);
    hwloc_obj_t gpu =
        find_gpu(machine, weft_expected_gpu(rank->visible, rank->local_rank, gpus), &gpus);
    bool is_near = gpu != NULL && (!is_bound(machine, rank->bound) ||
                                   hwloc_bitmap_intersects(part_of(machine, gpu), rank->bound));
    return is_near ? gpu : NULL;
}

bool wefti_pci_distances_on(struct hwloc_topology *machine, const weft_pci_viewer_t *from,
                            const weft_pci_address_t *devices, int count, int *distances_out)
{
    hwloc_obj_t gpu = gpu_of_rank(machine, from);
    set_equal(distances_out, count);
    if (gpu == NULL && !is_bound(machine, from->bound))
        return false;
    hwloc_const_cpuset_t part = gpu != NULL ? part_of(machine, gpu) : from->bound;
    for (int i = 0; i < count; i++) {
        hwloc_obj_t device = find_device(machine, &devices[i]);
        int bridges = device != NULL && gpu != NULL ? bridges_between(device, gpu) : 0;
        distances_out[i] = bridges > 0      ? bridges
                           : device == NULL ? WEFT_PCI_ELSEWHERE
                                            : distance_of_parts(part_of(machine, device), part);
    }
    return true;
}

/* ---- this machine ---- */

static bool look_from_here(hwloc_topology_t machine, hwloc_bitmap_t bound,
                           const weft_pci_address_t *devices, int count, int *distances_out)
{
    if (bound == NULL || hwloc_get_cpubind(machine, bound, HWLOC_CPUBIND_THREAD) != 0)
        return false;
    /* a program that does without devices has no GPU */
    bool has_none = strcmp(weft_config.DEVICE, "no") == 0;
    weft_pci_viewer_t self = {.bound = bound,
                              .visible = has_none ? "" : weft_environment("CUDA_VISIBLE_DEVICES"),
                              .local_rank = weft_world.local_rank};
    return wefti_pci_distances_on(machine, &self, devices, count, distances_out);
}

bool weft_pci_distances(const weft_pci_address_t *devices, int count, int *distances_out)
{
    hwloc_topology_t machine = wefti_hardware_look(true);
    set_equal(distances_out, count);
    if (machine == NULL)
        return false;
    hwloc_bitmap_t bound = hwloc_bitmap_alloc();
    bool is_known = look_from_here(machine, bound, devices, count, distances_out);
    hwloc_bitmap_free(bound);
    hwloc_topology_destroy(machine);
    return is_known;
}

#else

bool weft_pci_distances(const weft_pci_address_t *devices, int count, int *distances_out)
{
    (void)devices;
    set_equal(distances_out, count);
    return false;
}

#endif
