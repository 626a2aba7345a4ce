/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives with device memory in them. Which method does a call also depends on what the other
 * ranks bring. method.h lists the methods, README.md describes them.
 */
#ifndef WEFT_DEVCOLL_DEVCOLL_H
#define WEFT_DEVCOLL_DEVCOLL_H

/** Registers with coll/device_calls.h: from this call on, collectives with device memory come
 * here. */
int weft_devcoll_open(void);

/** Called at the end of MPI. */
void weft_devcoll_close(void);

#endif
