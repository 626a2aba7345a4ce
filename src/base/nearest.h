/* SPDX-License-Identifier: BSD-3-Clause */
/* The nearest known word, for messages about unknown options and variables. */
#ifndef WEFT_BASE_NEAREST_H
#define WEFT_BASE_NEAREST_H

/** The word of words[count] with the smallest edit distance to `word`, the first one among equals.
 *  count > 0. */
const char *weft_nearest(const char *word, const char *const words[], int count);

#endif
