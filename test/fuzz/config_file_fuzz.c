/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file of --configfile.
 * fuzz: runs=200000 most=200 of=launch/plan,base
 */
#include "input.h"

#include "launch/plan/config_file.h"
#include "mpi.h"

static void check_words(const wl_words_t *words)
{
    size_t sum = 0;
    for (int i = 0; i < words->count; i++)
        sum += strlen(words->words[i]);
    fuzz_expect(words->count > 0 && words->words[words->count] == NULL, "the list has no end");
    fuzz_expect(words->words[words->count - 1][0] != ':' || sum > 0, "there is a separator alone");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char *line[] = {"mpirun", "--configfile", "FILE", NULL};
    const wl_words_t whole = {.words = line, .count = 3};
    wl_words_t words, spliced;
    if (wl_config_file_read(fuzz_file(data, bytes), &words) != MPI_SUCCESS)
        return 0;
    check_words(&words);
    if (wl_words_splice(&whole, 1, 3, &words, &spliced) == MPI_SUCCESS)
        check_words(&spliced);
    wl_words_release(&spliced);
    return 0;
}
