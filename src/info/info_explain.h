/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_INFO_INFO_EXPLAIN_H
#define WEFT_INFO_INFO_EXPLAIN_H

/** weft_info --explain COLL RANKS BYTES [NODES [FABRIC]]: which line of the tuning table a call
 * takes, and what the model thinks of each algorithm. The exit code: 0, or 2 if the words are
 * wrong. */
int weft_info_explain(int count, char **words);

#endif
