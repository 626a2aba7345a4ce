/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libfabric, loaded when a job spans hosts. If Weft were linked to it, every program would load it
 * and the libraries of all its providers (measured on Debian 12: 11 ms, where the start-up itself
 * takes 8). Only symbols of the library are here; all else are inline functions of its headers.
 */
#ifndef WEFT_OFI_FABRIC_LIBRARY_H
#define WEFT_OFI_FABRIC_LIBRARY_H

#include <rdma/fabric.h>

typedef struct weft_fabric_library {
    int (*getinfo)(uint32_t version, const char *node, const char *service, uint64_t flags,
                   const struct fi_info *hints, struct fi_info **info);
    void (*freeinfo)(struct fi_info *info);
    struct fi_info *(*dupinfo)(const struct fi_info *info);
    int (*fabric)(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);
    uint32_t (*version)(void);
    const char *(*strerror)(int error);
} weft_fabric_library_t;

extern weft_fabric_library_t weft_fabric;

/** Load it. MPI_ERR_OTHER with a text. */
int weft_fabric_library_open(void);

/** What an error number of libfabric, positive or negative, means. */
const char *weft_fabric_error(long error);

#endif
