/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_INFO_INFO_SIMULATE_H
#define WEFT_INFO_INFO_SIMULATE_H

/** weft_info --simulate: `words` is what follows it. Returns the exit code: 0; 1 if a result is
 * wrong; 2 if the words are wrong. */
int weft_info_simulate(int count, char **words);

#endif
