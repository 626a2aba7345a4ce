/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_INFO_INFO_EXPLAIN_H
#define WEFT_INFO_INFO_EXPLAIN_H

/** weft_info --explain COLL RANKS BYTES [NODES [FABRIC]]: prints which line of the tuning table a
 * call takes, and the model's estimate for each algorithm. Returns the exit code: 0, or 2 if the
 * words are wrong. */
int weft_info_explain(int count, char **words);

#endif
