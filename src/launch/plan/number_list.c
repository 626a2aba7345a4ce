/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/plan/number_list.h"

#include "base/memory.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* A run: each of `first` to `last`, `each` times. */
typedef struct run {
    long first, last, each;
} run_t;

static long run_size(const run_t *run)
{
    return (run->last - run->first + 1) * run->each;
}

/* How many of the `count` numbers are equal, from the first. */
static long count_equal(const int *numbers, long count)
{
    long equal = 1;
    while (equal < count && numbers[equal] == numbers[0])
        equal++;
    return equal;
}

/* The longest run that begins here. */
static run_t find_run(const int *numbers, long count)
{
    run_t run = {numbers[0], numbers[0], count_equal(numbers, count)};
    for (long at = run.each; at < count && numbers[at] == run.last + 1; at += run.each) {
        if (count_equal(numbers + at, count - at) != run.each)
            break;
        run.last++;
    }
    return run;
}

static bool append_run(wl_byte_queue_t *out, const run_t *run, bool is_first)
{
    char text[80];
    int used = snprintf(text, sizeof(text), "%s%ld", is_first ? "" : ",", run->first);
    if (run->last > run->first)
        used += snprintf(text + used, sizeof(text) - (size_t)used, "-%ld", run->last);
    if (run->each > 1)
        used += snprintf(text + used, sizeof(text) - (size_t)used, "x%ld", run->each);
    return wl_queue_append(out, text, (size_t)used);
}

bool wl_number_list_write(const int *numbers, int count, wl_byte_queue_t *out)
{
    for (long at = 0; at < count;) {
        run_t run = find_run(numbers + at, count - at);
        if (!append_run(out, &run, at == 0))
            return false;
        at += run_size(&run);
    }
    return wl_queue_append(out, "", 1);
}

/* Read the run at *word and move *word behind it and its comma; false: there is no run. */
static bool read_run(const char **word, run_t *out)
{
    char *end;
    run_t run = {.each = 1};
    run.first = run.last = strtol(*word, &end, 10);
    if (end == *word)
        return false;
    if (*end == '-')
        run.last = strtol(end + 1, &end, 10);
    if (*end == 'x')
        run.each = strtol(end + 1, &end, 10);
    *word = *end == ',' ? end + 1 : end;
    *out = run;
    return (*end == ',' || *end == '\0') && run.first >= 0 && run.last >= run.first &&
           run.last < INT_MAX && run.each > 0 && run.each <= INT_MAX;
}

static long count_numbers(const char *word)
{
    run_t run;
    long sum = 0;
    while (*word != '\0') {
        if (!read_run(&word, &run) || run_size(&run) > INT_MAX - sum)
            return 0;
        sum += run_size(&run);
    }
    return sum;
}

int *wl_number_list_read(const char *word, int *count_out)
{
    run_t run;
    long count = count_numbers(word);
    int *numbers = count == 0 ? NULL : weft_alloc_array((size_t)count, sizeof(*numbers)),
        *at = numbers;
    while (numbers != NULL && *word != '\0' && read_run(&word, &run)) {
        for (long number = run.first; number <= run.last; number++) {
            for (long i = 0; i < run.each; i++)
                *at++ = (int)number;
        }
    }
    *count_out = numbers == NULL ? 0 : (int)count;
    return numbers;
}
