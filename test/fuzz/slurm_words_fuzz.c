/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What Slurm says: numbers of tasks per node ("4(x2),1"), and the lines of srun. The functions are
 * static, so their source is included here. The input is one text for both.
 * fuzz: runs=300000 most=100 of=base
 */
#include "input.h"

#include "launch/delegate/delegate_slurm.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const int indices[] = {0, 1, 2, 7, 1000};
    char *text = fuzz_text(data, bytes);
    wl_foreign_end_t end = {.exit_code = 1};
    for (size_t i = 0; i < sizeof(indices) / sizeof(indices[0]); i++)
        number_at(text, indices[i]);
    slurm_take_line(text, &end);
    exit_code_of(&end);
    free(text);
    return 0;
}
