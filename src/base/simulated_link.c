/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/simulated_link.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct link_unit {
    const char *name;
    double factor;
} link_unit_t;

static const link_unit_t speeds[] = {/* bits a second to bytes a nanosecond */
                                     {"Kbit", 1e3 / 8e9},
                                     {"Mbit", 1e6 / 8e9},
                                     {"Gbit", 1e9 / 8e9},
                                     {"Tbit", 1e12 / 8e9},
                                     {NULL, 0}};
static const link_unit_t times[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {NULL, 0}};

/* A number and a unit, perhaps with "/s" behind it; NULL: there is none. Else what follows. */
static const char *read_with_unit(const char *text, const link_unit_t *units, double *out)
{
    char *end;
    double number = strtod(text, &end);
    if (end == text || !(number >= 0) || number > 1e15)
        return NULL;
    size_t length = strcspn(end, ",/");
    for (; units->name != NULL; units++) {
        if (strlen(units->name) != length || strncasecmp(end, units->name, length) != 0)
            continue;
        *out = number * units->factor;
        end += length;
        return strncmp(end, "/s", 2) == 0 ? end + 2 : end;
    }
    return NULL;
}

bool weft_simulated_link_read(const char *text, weft_simulated_link_t *out)
{
    double speed, latency = 0;
    const double latency_most = 60e9;
    const char *rest = read_with_unit(text, speeds, &speed);
    if (rest != NULL && *rest == ',')
        rest = read_with_unit(rest + 1, times, &latency);
    if (rest == NULL || *rest != '\0' || !(speed > 0) || latency > latency_most)
        return false;
    *out = (weft_simulated_link_t){.bytes_per_ns = speed, .latency_ns = (int64_t)latency};
    return true;
}
