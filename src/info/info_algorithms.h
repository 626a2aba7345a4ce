/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_INFO_INFO_ALGORITHMS_H
#define WEFT_INFO_INFO_ALGORITHMS_H

/** weft_info --algorithms [COLLECTIVE]: prints a line for each algorithm that a tuning table can
 * name, for all collectives if none is named. Returns the exit code: 0, or 2 if the words are
 * wrong. */
int weft_info_algorithms(int count, char **words);

#endif
