/* SPDX-License-Identifier: BSD-3-Clause */
#include "runtime/failures.h"

#include "base/memory.h"
#include "base/out_of_memory.h"

#include <stdio.h>

weft_failures_t weft_failures;

bool weft_failures_add(int process, const char *why)
{
    weft_failures_t *list = &weft_failures;
    if (weft_has_failed(process))
        return false;
    if (list->count == list->capacity) {
        int capacity = 2 * list->capacity + 8;
        weft_failure_t *at = weft_realloc(list->at, (size_t)capacity * sizeof(*at));
        if (at == NULL)
            weft_out_of_memory("the list of lost ranks", (size_t)capacity * sizeof(*at));
        list->at = at;
        list->capacity = capacity;
    }
    weft_failure_t *failure = &list->at[list->count++];
    failure->process = process;
    snprintf(failure->why, sizeof(failure->why), "%s", why);
    weft_processes.at[process].has_failed = true;
    return true;
}

const char *weft_failure_text(int process)
{
    int i = 0;
    while (i < weft_failures.count && weft_failures.at[i].process != process)
        i++;
    return i < weft_failures.count ? weft_failures.at[i].why : "";
}

void weft_failures_close(void)
{
    weft_free(weft_failures.at);
    weft_failures = (weft_failures_t){0};
}
