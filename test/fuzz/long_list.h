/* SPDX-License-Identifier: BSD-3-Clause */
/* Tells lists of hosts that are allowed, but so long that they would take most of the time. */
#ifndef WEFT_TEST_FUZZ_LONG_LIST_H
#define WEFT_TEST_FUZZ_LONG_LIST_H

#include "input.h"

enum { LIST_LONG = 1000, LIST_REFUSED = 2000000 /* with more hosts a list is refused at once */ };

/* How many numbers the ranges behind a '[' stand for, about. */
static inline double fuzz_numbers(const char *range)
{
    double sum = 0;
    while (*range != ']' && *range != '\0') {
        char *end;
        double first = (double)strtoull(range, &end, 10), last = first;
        if (*end == '-')
            last = (double)strtoull(end + 1, &end, 10);
        sum += last < first ? 1 : last - first + 1;
        range = end + strcspn(end, ",]");
        range += *range == ',';
    }
    return sum;
}

/* Does a word stand for very many hosts? */
static inline bool fuzz_has_long_list(const char *text)
{
    double hosts = 1;
    bool is_inside = false, is_long = false;
    for (; *text != '\0' && !is_long; text++) {
        bool is_end = !is_inside && strchr(", \t\r\n", *text) != NULL;
        if (*text == '[')
            hosts *= fuzz_numbers(text + 1);
        is_inside = *text == '[' || (is_inside && *text != ']');
        is_long = hosts > LIST_LONG && hosts < LIST_REFUSED;
        hosts = is_end ? 1 : hosts;
    }
    return is_long;
}

#endif
