/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a rank knows of its host and of its ways to the others, for the report at start-up
 * (WEFT_REPORT, `mpirun --report`). Plain data: ranks send it to rank 0 as it is.
 */
#ifndef WEFT_RUNTIME_RANK_REPORT_H
#define WEFT_RUNTIME_RANK_REPORT_H

#include "base/cpu.h"

#include <stdbool.h>
#include <stdint.h>

enum { WEFT_WARNINGS_MAX = 6, WEFT_WARNING_BYTES = 224, WEFT_GPUS_MAX = 16 };

typedef enum weft_gpu_state {
    WEFT_GPU_NONE,       /* the program has not initialised a driver, or WEFT_DEVICE=no */
    WEFT_GPU_NO_CONTEXT, /* it has, but no context tells yet which device it will work on */
    WEFT_GPU_KNOWN,
} weft_gpu_state_t;

/* The device that a rank works on. */
typedef struct weft_gpu_report {
    weft_gpu_state_t state;
    char pci[16]; /* from here on of WEFT_GPU_KNOWN alone */
    uint8_t uuid[16];
    uint64_t mps;     /* not 0: by that MPS the rank gets there (host_devices.h) */
    char kernels[64]; /* in which form the library's kernels run there */
    int seen_count;   /* devices that the rank sees, its own included; at most WEFT_GPUS_MAX */
    uint8_t seen[WEFT_GPUS_MAX][16]; /* UUIDs */
    uint32_t reached;                /* bits: those of `seen` whose memory the device reaches */
} weft_gpu_report_t;

typedef struct weft_rank_report {
    char host[64];
    int rank, local_size;
    weft_cpus_t cpus;       /* that this rank may run on */
    bool is_oversubscribed; /* on this host */
    char same_host[48];     /* the way to ranks of the same host */
    char other_hosts[96];   /* the way to ranks of others */
    char interface[64];     /* and through what; "" where there is none */
    int speed_mbit;         /* of the interface; 0: not known */
    weft_gpu_report_t gpu;
    int warning_count;
    /* What costs speed and what to change; the same text on each host that it concerns. */
    char warnings[WEFT_WARNINGS_MAX][WEFT_WARNING_BYTES];
} weft_rank_report_t;

/** Add a warning; after WEFT_WARNINGS_MAX of them it is dropped. */
void weft_rank_report_warn(weft_rank_report_t *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
