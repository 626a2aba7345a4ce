/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handles as ints (MPI 5.0 section 20.4: MPI_Comm_toint and its like) for objects that keep no
 * number themselves: communicators, groups, requests and others. A predefined handle is its own
 * value. Any other is an address; objects come from pools that give no memory back while MPI runs,
 * so an address keeps its number, and nothing needs to be done when an object is freed.
 */
#ifndef WEFT_OBJECT_HANDLE_NUMBERS_H
#define WEFT_OBJECT_HANDLE_NUMBERS_H

/** The number of a handle; 0 when there is no memory for it. Takes the lock. */
int weft_handle_number(const void *handle);

/** The handle of a number; `null` when there is none. Takes the lock. */
void *weft_handle_of_number(int number, void *null);

/** Forget all numbers. */
void weft_handle_numbers_close(void);

#endif
