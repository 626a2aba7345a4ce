/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists of numbers in a word: what is read and written again is read alike. The source is included,
 * so that lists of too many numbers can be told beforehand.
 * fuzz: runs=300000 most=60 of=launch/plan,launch/loop,base
 */
#include "input.h"

#include "launch/plan/number_list.c"

enum { MANY = 100000 /* longer lists take time, and show nothing else */ };

static void check_return(const int *numbers, int count)
{
    wl_byte_queue_t word = {0};
    int again_count;
    fuzz_expect(wl_number_list_write(numbers, count, &word), "a list cannot be written");
    int *again = wl_number_list_read(wl_queue_front(&word), &again_count);
    fuzz_expect(again != NULL && again_count == count &&
                    memcmp(numbers, again, (size_t)count * sizeof(*numbers)) == 0,
                "a list has changed");
    weft_free(again);
    wl_queue_release(&word);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char *word = fuzz_text(data, bytes);
    int count = 0;
    int *numbers = count_numbers(word) > MANY ? NULL : wl_number_list_read(word, &count);
    for (int i = 0; i < count; i++)
        fuzz_expect(numbers[i] >= 0, "a number is negative");
    if (numbers != NULL)
        check_return(numbers, count);
    weft_free(numbers);
    free(word);
    return 0;
}
