/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench_method.h"

#include <mpi.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define PREFIX       "device_calls_"
#define METHODS_MAX  16
#define NAME_BYTES   64
#define METHOD_BYTES 24

typedef unsigned long long count_t;

typedef struct method {
    char name[METHOD_BYTES];
    MPI_T_pvar_handle handle;
    count_t before;
} method_t;

static method_t methods[METHODS_MAX];
static int method_count;
static MPI_T_pvar_session session;
static bool is_open;

/* Keeps a variable that counts the calls of a method. */
static void add(int variable)
{
    char name[NAME_BYTES];
    int name_bytes = sizeof(name), verbosity, class, bind, is_readonly, is_continuous, is_atomic;
    int help_bytes = 0, count;
    MPI_Datatype type;
    MPI_T_enum values;
    method_t *method = &methods[method_count];

    if (MPI_T_pvar_get_info(variable, name, &name_bytes, &verbosity, &class, &type, &values, NULL,
                            &help_bytes, &bind, &is_readonly, &is_continuous,
                            &is_atomic) != MPI_SUCCESS ||
        strncmp(name, PREFIX, strlen(PREFIX)) != 0 || type != MPI_UNSIGNED_LONG_LONG ||
        bind != MPI_T_BIND_NO_OBJECT || method_count == METHODS_MAX)
        return;
    if (MPI_T_pvar_handle_alloc(session, variable, NULL, &method->handle, &count) != MPI_SUCCESS)
        return;
    if (!is_continuous)
        MPI_T_pvar_start(session, method->handle);
    snprintf(method->name, sizeof(method->name), "%.*s", METHOD_BYTES - 1, name + strlen(PREFIX));
    method_count += count == 1;
}

void bench_method_open(void)
{
    int provided, variables = 0;

    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS)
        return;
    is_open = MPI_T_pvar_session_create(&session) == MPI_SUCCESS;
    if (!is_open || MPI_T_pvar_get_num(&variables) != MPI_SUCCESS)
        return;
    for (int i = 0; i < variables; i++)
        add(i);
}

void bench_method_close(void)
{
    if (!is_open)
        return;
    MPI_T_pvar_session_free(&session); /* and its handles */
    MPI_T_finalize();
    is_open = false;
    method_count = 0;
}

static count_t read_count(method_t *method)
{
    count_t count = 0;

    MPI_T_pvar_read(session, method->handle, &count);
    return count;
}

void bench_method_begin(void)
{
    for (int i = 0; i < method_count; i++)
        methods[i].before = read_count(&methods[i]);
}

/* Appends each method that was used, with its share unless it is the only one. */
static void name_methods(const count_t *counts, char *out, size_t bytes)
{
    count_t total = 0;
    size_t used = 0;

    for (int i = 0; i < method_count; i++)
        total += counts[i];
    for (int i = 0; i < method_count && used < bytes; i++) {
        if (counts[i] == 0)
            continue;
        used += (size_t)snprintf(out + used, bytes - used, "%s%s", used > 0 ? ", " : "",
                                 methods[i].name);
        if (counts[i] < total && used < bytes)
            used += (size_t)snprintf(out + used, bytes - used, " %.3g%%",
                                     100 * (double)counts[i] / (double)total);
    }
}

void bench_method_end(char *out, size_t bytes)
{
    count_t own[METHODS_MAX] = {0}, all[METHODS_MAX] = {0};

    out[0] = '\0';
    for (int i = 0; i < method_count; i++)
        own[i] = read_count(&methods[i]) - methods[i].before;
    if (method_count > 0) /* alike on all ranks */
        MPI_Reduce(own, all, method_count, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    name_methods(all, out, bytes);
}
