/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many numbers in a word of a command line, which the kernel limits to 128 KiB: where ranks are,
 * say, a host each. What follows in order, and what is repeated, is written once:
 *
 *   0-511x64,7    64 times each of 0 to 511, then 7
 */
#ifndef WEFT_LAUNCH_PLAN_NUMBER_LIST_H
#define WEFT_LAUNCH_PLAN_NUMBER_LIST_H

#include "launch/loop/byte_queue.h"

/** Append the word for numbers[count], none of them negative, with a '\0'. False: no memory. */
bool wl_number_list_write(const int *numbers, int count, wl_byte_queue_t *out);

/** The numbers that a word says, and how many; to be given to weft_free(). NULL: it makes no sense
 * or says none, or there is no memory. */
int *wl_number_list_read(const char *word, int *count_out);

#endif
