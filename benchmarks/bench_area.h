/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory that messages come from and go to: of the host, of a device, managed, contiguous or in
 * blocks (--vector). With --staged MPI never sees device memory: bench_area_out copies the area to
 * pinned host memory before a send, bench_area_in copies it back after a receive, and these copies
 * are timed as well.
 *
 *     at     |block|.gap.|block|.gap.|block|       "D", with --vector
 *             out |  ^ in
 *     stage  |block|block|block|                   MPI gets this: packed, MPI_CHAR
 *
 * Areas belong to one size and are released by the harness after it. A call that fails ends the
 * job.
 */
#ifndef BENCH_AREA_H
#define BENCH_AREA_H

#include "bench.h"
#include "bench_device.h"

#include <mpi.h>

struct bench_area {
    char place;            /* 'H', 'D', 'M' or 'V' */
    char *at;              /* the first byte, in that memory */
    char *memory;          /* of the host, which `at` is part of */
    bench_blocks_t blocks; /* of one message; one block if it is contiguous */
    char *stage;           /* pinned; NULL if nothing is ever staged */
    MPI_Datatype strided;  /* MPI_DATATYPE_NULL if it is contiguous */

    bool is_staged;    /* see bench_area_use */
    MPI_Datatype type; /* MPI gets `count` of it, from bench_area_buffer */
    int count;
};

/* An area of `bytes` in the memory that the placement's first (`which` 0) or second (1) letter
 * names: first the one that is sent, then the one for what comes. Its stage has room for
 * bench->slots messages. */
bench_area_t *bench_area(bench_t *bench, size_t bytes, int which);

/* Whether the messages that follow are staged. */
void bench_area_use(bench_area_t *area, bool is_staged);

/* The buffer that MPI sends from or receives to. The slot (below bench->slots) matters for staged
 * areas. */
void *bench_area_buffer(const bench_area_t *area, int slot);

/* Copy the area to the stage, and the stage to the area. Without staging they do nothing. */
void bench_area_out(const bench_area_t *area, int slot);
void bench_area_in(const bench_area_t *area, int slot);

/* All of the area (gaps too) in host memory, to be filled or checked; close writes it back. */
char *bench_area_open(const bench_area_t *area);
void bench_area_close(const bench_area_t *area, char *image);

/* Fill host memory with the bytes of stream `seed`, and count the bytes that differ from them. */
void bench_fill(void *buffer, size_t bytes, unsigned seed);
size_t bench_wrong(const void *buffer, size_t bytes, unsigned seed);

/* Fill an area with the bytes of stream `seed`, gaps with others; count the bytes that differ. */
void bench_area_fill(const bench_area_t *area, unsigned seed);
size_t bench_area_wrong(const bench_area_t *area, unsigned seed);

void bench_area_release(bench_area_t *area);

#endif
