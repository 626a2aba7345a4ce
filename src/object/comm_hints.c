/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "object/comm_hints.h"

#include "runtime/device.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Assertions of the program, "true" or "false". */
static const char *const assertions[] = {
    "mpi_assert_no_any_tag",
    "mpi_assert_no_any_source",
    "mpi_assert_exact_length",
    "mpi_assert_allow_overtaking",
};

enum { ASSERTIONS = sizeof(assertions) / sizeof(assertions[0]) };

/* Kinds of memory (MPI 5.0 section 12.4.3): those of Weft, and those that the program uses. */
static const char kinds_key[] = "mpi_memory_alloc_kinds";
static const char kinds_assertion[] = "mpi_assert_memory_alloc_kinds";
static const char host_kinds[] = "mpi,system";

static bool is_boolean(const char *value)
{
    return value != NULL && (strcmp(value, "true") == 0 || strcmp(value, "false") == 0);
}

static int set(weft_comm_t *comm, const char *key, const char *value)
{
    int err = comm->info == NULL ? weft_info_create(&comm->info) : MPI_SUCCESS;
    return err == MPI_SUCCESS ? weft_info_set(comm->info, key, value) : err;
}

/* Kinds are separated by commas; "system:..." and "mpi:..." restrict those of the host. */
static bool is_host_kind(const char *kind, size_t bytes)
{
    const char *end = memchr(kind, ':', bytes);
    size_t name_bytes = end == NULL ? bytes : (size_t)(end - kind);
    return bytes == 0 || (name_bytes == 3 && memcmp(kind, "mpi", 3) == 0) ||
           (name_bytes == 6 && memcmp(kind, "system", 6) == 0);
}

static bool are_host_kinds(const char *kinds)
{
    for (const char *at = kinds;;) {
        const char *end = strchrnul(at, ',');
        if (!is_host_kind(at, (size_t)(end - at)))
            return false;
        if (*end == '\0')
            return true;
        at = end + 1;
    }
}

/* Buffers are not tested for device memory if the program asserts that it uses host memory only. */
static int assert_kinds(weft_comm_t *comm, const char *kinds)
{
    if (kinds == NULL)
        return MPI_SUCCESS;
    comm->is_host_only = are_host_kinds(kinds);
    return set(comm, kinds_assertion, kinds);
}

int weft_comm_set_hints(weft_comm_t *comm, const weft_info_t *info)
{
    int err = MPI_SUCCESS;
    for (int i = 0; info != NULL && err == MPI_SUCCESS && i < ASSERTIONS; i++) {
        const char *value = weft_info_get(info, assertions[i]);
        if (is_boolean(value))
            err = set(comm, assertions[i], value);
    }
    if (info != NULL && err == MPI_SUCCESS)
        err = assert_kinds(comm, weft_info_get(info, kinds_assertion));
    return err;
}

void weft_memory_kinds(char *out, size_t bytes)
{
    const weft_device_ops_t *ops = weft_device;
    snprintf(out, bytes, "%s%s%s", host_kinds, ops == NULL ? "" : ",",
             ops == NULL ? "" : ops->memory_kinds);
}

static int get_kinds(const weft_comm_t *comm, weft_info_t *info)
{
    char kinds[MPI_MAX_INFO_VAL];
    const char *asserted = comm->info == NULL ? NULL : weft_info_get(comm->info, kinds_assertion);
    weft_memory_kinds(kinds, sizeof(kinds));
    int err = weft_info_set(info, kinds_key, kinds);
    if (err == MPI_SUCCESS && asserted != NULL)
        err = weft_info_set(info, kinds_assertion, asserted);
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
    if (err == MPI_SUCCESS)
        err = get_kinds(comm, info);
    if (err != MPI_SUCCESS) {
        weft_info_release(info);
        return err;
    }
    *out = info;
    return MPI_SUCCESS;
}
