/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A row of the tuning table (tuning.conf, where the format is explained). All rows have five words:
 *
 *   COLLECTIVE  WHERE              RANKS  BYTES  ALGORITHM[,OPTION...]
 *   device      COLLECTIVE or any  RANKS  BYTES  METHOD
 */
#ifndef WEFT_COLL_TUNING_ROW_H
#define WEFT_COLL_TUNING_ROW_H

#include "coll/tuning.h"
#include "coll/tuning_words.h"

enum { WEFT_TUNING_RADIX = 2, WEFT_TUNING_FABRIC_BYTES = 32, WEFT_TUNING_WORD_BYTES = 64 };

/** The calls that a row is for. */
typedef enum weft_tuning_where {
    WEFT_TUNE_ANY,
    WEFT_TUNE_ENOUGH, /* one host, with enough cores */
    WEFT_TUNE_SHORT,  /* one host, oversubscribed */
    WEFT_TUNE_NODES,  /* several nodes */
    WEFT_TUNE_CROWDED_NODES,
    WEFT_TUNE_DEVICE, /* device memory */
} weft_tuning_where_t;

typedef struct weft_tuning_row {
    weft_coll_t coll; /* WEFT_COLLS: any; only for device memory */
    weft_tuning_where_t where;
    char fabric[WEFT_TUNING_FABRIC_BYTES]; /* between the nodes; "": any */
    weft_tuning_range_t range;
    const weft_algorithm_t *algorithm; /* NULL: the model chooses */
    int radix;
    size_t segment_bytes;
    /* for devices: index in weft_device_calls->methods; -1: no methods are registered */
    int method;
    int line;
    size_t next; /* for use by the caller */
} weft_tuning_row_t;

/** Read a line without its comment. Returns false if it is no row. */
bool wefti_tuning_row_parse(const char *line, weft_tuning_row_t *out);

/** Parse the last word of a collective's row ("sliced,radix=4,segment=64K"); the word is
 * modified. */
bool wefti_tuning_algorithm_parse(char *word, weft_tuning_row_t *row);

#endif
