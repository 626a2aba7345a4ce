/* SPDX-License-Identifier: BSD-3-Clause */
/* What of the machine the calling thread is bound to, as hwloc sees it. The machine is looked at
 * when it is first asked about, which takes some milliseconds. */
#ifndef WEFT_RUNTIME_HARDWARE_H
#define WEFT_RUNTIME_HARDWARE_H

#include <stdbool.h>

/** From the larger ones to the smaller. */
enum {
    WEFT_HARDWARE_PACKAGE,
    WEFT_HARDWARE_NUMA_NODE,
    WEFT_HARDWARE_L3,
    WEFT_HARDWARE_L2,
    WEFT_HARDWARE_L1,
    WEFT_HARDWARE_CORE,
    WEFT_HARDWARE_PU,
    WEFT_HARDWARE_KINDS
};

/** The kind with this name of hwloc's, as in "L3Cache", in small letters or not; -1: none. */
int weft_hardware_named(const char *name);
const char *weft_hardware_name(int kind);

/** Was Weft built with hwloc? */
bool weft_hardware_is_known(void);

/** May the calling thread run on a part of the machine alone? Cheap: does not look at the machine.
 * False if there is no hwloc. */
bool weft_hardware_is_bound(void);

/** Of each kind the number of the instance to which the calling thread is bound; -1: it may run on
 * several, the machine has none, or there is no hwloc. */
void weft_hardware_find(int instances[WEFT_HARDWARE_KINDS]);

/** Have hwloc look at the machine, with the devices of its buses or without. NULL: it cannot, which
 * was logged; else to be given to hwloc_topology_destroy(). Only in a build with hwloc. */
struct hwloc_topology *wefti_hardware_look(bool with_devices);

/** Called at the end of MPI. */
void weft_hardware_close(void);

#endif
