/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many numbers in one word of a command line (the kernel allows 128 KiB for a word), for example
 * the host of each rank. A sequence or a repeated number is written once:
 *
 *   0-511x64,7    64 times each of 0 to 511, then 7
 */
#ifndef WEFT_LAUNCH_PLAN_NUMBER_LIST_H
#define WEFT_LAUNCH_PLAN_NUMBER_LIST_H

#include "launch/loop/byte_queue.h"

/** Append the word for numbers[count], none of them negative, with a '\0'. False: no memory. */
bool wl_number_list_write(const int *numbers, int count, wl_byte_queue_t *out);

/** The numbers in a word, and how many; to be given to weft_free(). NULL: the word is wrong or
 *  empty, or there is no memory. */
int *wl_number_list_read(const char *word, int *count_out);

#endif
