/* SPDX-License-Identifier: BSD-3-Clause */
/* WEFT_THREAD_LEVEL raises what a program asks for, and does not lower it. The arguments: what the
 * program asks for, or "init" for MPI_Init; and what it gets, or "refused". */
#include "../expect.h"

#include <stdbool.h>

static const struct {
    const char *name;
    int level;
} levels[] = {{"init", MPI_THREAD_SINGLE},
              {"single", MPI_THREAD_SINGLE},
              {"funneled", MPI_THREAD_FUNNELED},
              {"serialized", MPI_THREAD_SERIALIZED},
              {"multiple", MPI_THREAD_MULTIPLE}};

static int level_of(const char *name)
{
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        if (strcmp(name, levels[i].name) == 0)
            return levels[i].level;
    }
    return -1;
}

int main(int argc, char **argv)
{
    int provided = -1, queried = -1;
    bool is_init = argc == 3 && strcmp(argv[1], "init") == 0;
    if (argc != 3)
        return 2;
    int err = is_init ? MPI_Init(&argc, &argv)
                      : MPI_Init_thread(&argc, &argv, level_of(argv[1]), &provided);
    if (strcmp(argv[2], "refused") == 0)
        return err != MPI_ERR_ARG;
    expect_begin();
    MPI_Query_thread(&queried);
    EXPECT(queried, level_of(argv[2]));
    EXPECT(is_init || provided == queried, 1);
    return expect_end();
}
