/* SPDX-License-Identifier: BSD-3-Clause */
#include "info/info_options.h"

#include "coll/tuning.h"
#include "coll/tuning_words.h"
#include "base/nearest.h"

#include <stdio.h>
#include <string.h>

/* Up to a comma or the end. */
static const char *read_number(const char *text, size_t *out)
{
    const char *end = weft_tuning_number_in(text, out);
    return end != NULL && (*end == '\0' || *end == ',') ? end : NULL;
}

bool weft_info_numbers(const char *name, const char *text, size_t most, weft_info_list_t *out)
{
    const char *at = text;
    out->count = 0;
    while (at != NULL && out->count < WEFT_INFO_LIST_MAX) {
        size_t *value = &out->values[out->count++];
        at = read_number(at, value);
        if (at == NULL || *value > most)
            break;
        if (*at == '\0')
            return true;
        at++;
    }
    fprintf(stderr, "weft_info: %s is %s; expected are numbers up to %zu, such as 16 or 8,64K\n",
            name, text, most);
    return false;
}

bool weft_info_number(const char *name, const char *text, size_t most, size_t *out)
{
    weft_info_list_t list;
    if (!weft_info_numbers(name, text, most, &list))
        return false;
    if (list.count != 1) {
        fprintf(stderr, "weft_info: %s is %s; expected is one number\n", name, text);
        return false;
    }
    *out = list.values[0];
    return true;
}

bool weft_info_coll(const char *text, weft_coll_t *out)
{
    const char *names[WEFT_COLLS];
    for (int i = 0; i < WEFT_COLLS; i++) {
        names[i] = weft_coll_name((weft_coll_t)i);
        if (strcmp(text, names[i]) == 0) {
            *out = (weft_coll_t)i;
            return true;
        }
    }
    fprintf(stderr, "weft_info: there is no collective %s; the nearest is %s\n", text,
            weft_nearest(text, names, WEFT_COLLS));
    return false;
}
