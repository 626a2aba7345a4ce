/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles of variables by name, for the tests of the tool information interface. */
#ifndef TEST_MPI_TOOL_VARIABLES_H
#define TEST_MPI_TOOL_VARIABLES_H

#include "../expect.h"

#include <stdlib.h>

/* Functions of MPI_T return their errors as they are, without an error handler. */
#define EXPECT_T(call) EXPECT(call, MPI_SUCCESS)

static inline int pvar_index(const char *name, int its_class)
{
    int index = -1;
    EXPECT_T(MPI_T_pvar_get_index(name, its_class, &index));
    return index;
}

/* A handle, not started; `comm` NULL: of a variable that is bound to no object. */
static inline MPI_T_pvar_handle pvar_handle(MPI_T_pvar_session session, const char *name,
                                            int its_class, MPI_Comm *comm)
{
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    int count = 0, size = 1;
    EXPECT_T(MPI_T_pvar_handle_alloc(session, pvar_index(name, its_class), comm, &handle, &count));
    if (comm != NULL && its_class != MPI_T_PVAR_CLASS_LEVEL)
        MPI_Comm_size(*comm, &size);
    EXPECT(count, size);
    return handle;
}

static inline MPI_T_pvar_handle counter(MPI_T_pvar_session session, const char *name)
{
    return pvar_handle(session, name, MPI_T_PVAR_CLASS_COUNTER, NULL);
}

static inline unsigned long long pvar_value(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    unsigned long long value = 1ull << 63;
    EXPECT_T(MPI_T_pvar_read(session, handle, &value));
    return value;
}

static inline MPI_T_cvar_handle cvar_handle(const char *name)
{
    int index = -1, count = 0;
    MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
    EXPECT_T(MPI_T_cvar_get_index(name, &index));
    EXPECT_T(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count));
    return handle;
}

/* The value of an item of a variable's enumeration. */
static inline int item_value(MPI_T_enum names, const char *wanted)
{
    int items = 0, value = -1;
    EXPECT_T(MPI_T_enum_get_info(names, &items, NULL, NULL));
    for (int i = 0; i < items; i++) {
        char name[64];
        int room = sizeof(name);
        EXPECT_T(MPI_T_enum_get_item(names, i, &value, name, &room));
        if (strcmp(name, wanted) == 0)
            return value;
    }
    return -1;
}

/* How `rank` of MPI_COMM_WORLD is reached: "self", "shm", ...; the names belong to MPI_T. */
static inline const char *transport_to(MPI_T_pvar_session session, int rank)
{
    static char name[64];
    MPI_Comm world = MPI_COMM_WORLD;
    int size, room = sizeof(name);
    MPI_T_enum names;
    MPI_Comm_size(world, &size);
    int *states = calloc((size_t)size, sizeof(int));
    MPI_T_pvar_handle handle =
        pvar_handle(session, "comm_transports", MPI_T_PVAR_CLASS_STATE, &world);
    EXPECT_T(MPI_T_pvar_read(session, handle, states));
    EXPECT_T(MPI_T_pvar_get_info(pvar_index("comm_transports", MPI_T_PVAR_CLASS_STATE), NULL, NULL,
                                 NULL, NULL, NULL, &names, NULL, NULL, NULL, NULL, NULL, NULL));
    EXPECT_T(MPI_T_enum_get_item(names, states[rank], NULL, name, &room));
    EXPECT_T(MPI_T_pvar_handle_free(session, &handle));
    free(states);
    return name;
}

#endif
