/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives with device memory in them. By which method one is done depends on what the other
 * ranks bring, too; method.h lists the methods, README.md describes them.
 */
#ifndef WEFT_DEVCOLL_DEVCOLL_H
#define WEFT_DEVCOLL_DEVCOLL_H

/** Collectives with device memory come here from now on: registers with coll/device_calls.h. */
int weft_devcoll_open(void);

/** At the end of MPI. */
void weft_devcoll_close(void);

#endif
