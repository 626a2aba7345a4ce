/* SPDX-License-Identifier: BSD-3-Clause */
/* Words of a command line that stand for collectives, numbers and lists of numbers. */
#ifndef WEFT_INFO_INFO_OPTIONS_H
#define WEFT_INFO_INFO_OPTIONS_H

#include "coll/coll.h"

#include <stdbool.h>
#include <stddef.h>

enum { WEFT_INFO_LIST_MAX = 32 };

typedef struct weft_info_list {
    size_t values[WEFT_INFO_LIST_MAX];
    int count;
} weft_info_list_t;

/** Parses "8", "64K", "1M"; lists "16,1024,16384". Returns false, with a line on stderr that names
 * the argument, its value and what was expected. */
bool weft_info_number(const char *name, const char *text, size_t most, size_t *out);
bool weft_info_numbers(const char *name, const char *text, size_t most, weft_info_list_t *out);

/** The collective of a name. Returns false, with a line on stderr that names the most similar
 * one. */
bool weft_info_coll(const char *text, weft_coll_t *out);

#endif
