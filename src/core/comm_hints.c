/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/comm_hints.h"

#include <stddef.h>
#include <string.h>

/* Promises of the program, "true" or "false". */
static const char *const assertions[] = {
    "mpi_assert_no_any_tag",
    "mpi_assert_no_any_source",
    "mpi_assert_exact_length",
    "mpi_assert_allow_overtaking",
};

enum { ASSERTIONS = sizeof(assertions) / sizeof(assertions[0]) };

static bool is_boolean(const char *value)
{
    return value != NULL && (strcmp(value, "true") == 0 || strcmp(value, "false") == 0);
}

int weft_comm_set_hints(weft_comm_t *comm, const weft_info_t *info)
{
    int err = MPI_SUCCESS;
    for (int i = 0; info != NULL && err == MPI_SUCCESS && i < ASSERTIONS; i++) {
        const char *value = weft_info_get(info, assertions[i]);
        if (!is_boolean(value))
            continue;
        if (comm->info == NULL)
            err = weft_info_create(&comm->info);
        if (err == MPI_SUCCESS)
            err = weft_info_set(comm->info, assertions[i], value);
    }
    return err;
}

int weft_comm_get_hints(const weft_comm_t *comm, weft_info_t **out)
{
    weft_info_t *info;
    int err = weft_info_create(&info);
    if (err != MPI_SUCCESS)
        return err;
    for (int i = 0; err == MPI_SUCCESS && i < ASSERTIONS; i++) {
        const char *value = comm->info == NULL ? NULL : weft_info_get(comm->info, assertions[i]);
        err = weft_info_set(info, assertions[i], value == NULL ? "false" : value);
    }
    if (err != MPI_SUCCESS) {
        weft_info_release(info);
        return err;
    }
    *out = info;
    return MPI_SUCCESS;
}
