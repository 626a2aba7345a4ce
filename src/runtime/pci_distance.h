/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How far devices of the PCI bus, such as network interfaces, are from a rank: from the GPU that it
 * will probably use, or else from the processors to which it is bound. hwloc looks at the machine,
 * which takes some milliseconds; so this is for machines with several devices to choose among.
 *
 *   machine | package | bridge of the host | switch | GPU 0
 *           |         |                    |        | NIC 0    1: as near to GPU 0 as can be
 *           |         |                    | switch | NIC 1    2
 *           |         | bridge of the host | NIC 2             100: in the same package
 *           | package | bridge of the host | NIC 3             200
 */
#ifndef WEFT_RUNTIME_PCI_DISTANCE_H
#define WEFT_RUNTIME_PCI_DISTANCE_H

#include <stdbool.h>

/** Distances below the first are numbers of bridges on the way down from what both have in common;
 * between the two, devices and processors share a part of the machine. */
enum { WEFT_PCI_IN_PART = 100, WEFT_PCI_ELSEWHERE = 200 };

typedef struct weft_pci_address {
    unsigned domain, bus, device, function;
} weft_pci_address_t;

/**
 * Of the calling thread's rank.
 * distances_out  [count], to be compared with each other
 * returns        false: neither hwloc nor the environment tells, and all distances are equal
 */
bool weft_pci_distances(const weft_pci_address_t *devices, int count, int *distances_out);

/** The GPU, by its number in the order of the bus, that the rank with this number on its host will
 * probably use: it takes number local_rank of those that CUDA_VISIBLE_DEVICES (`visible`, or NULL)
 * lists, modulo their number. -1: there is none, or it is listed by a name. */
int weft_expected_gpu(const char *visible, int local_rank, int gpus);

struct hwloc_topology;

/** A rank, as far as its place on the machine depends on it. */
typedef struct weft_pci_viewer {
    const struct hwloc_bitmap_s *bound; /* the processors on which it may run */
    const char *visible;                /* CUDA_VISIBLE_DEVICES, or NULL */
    int local_rank;
} weft_pci_viewer_t;

/** What weft_pci_distances() does, on a machine that has been looked at with its devices. */
bool wefti_pci_distances_on(struct hwloc_topology *machine, const weft_pci_viewer_t *from,
                            const weft_pci_address_t *devices, int count, int *distances_out);

#endif
