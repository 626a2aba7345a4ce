/* SPDX-License-Identifier: BSD-3-Clause */
/* Kinds of memory as info (MPI 5.0 section 12.4.3): which are supported, which are asserted. */
#include "expect.h"

#include <stdlib.h>

/* The value of a key of a communicator; "-": it has none. */
static const char *hint(MPI_Comm comm, const char *key)
{
    static char value[MPI_MAX_INFO_VAL];
    int bytes = sizeof(value), is_there;
    MPI_Info info;
    MPI_Comm_get_info(comm, &info);
    MPI_Info_get_string(info, key, &bytes, value, &is_there);
    MPI_Info_free(&info);
    return is_there ? value : "-";
}

static void assert_kinds(MPI_Comm comm, const char *kinds)
{
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_assert_memory_alloc_kinds", kinds);
    MPI_Comm_set_info(comm, info);
    MPI_Info_free(&info);
}

/* Messages go on as before, whatever was asserted. */
static void exchange(MPI_Comm comm)
{
    int next = (expect_rank + 1) % expect_size;
    int previous = (expect_rank + expect_size - 1) % expect_size, got = -1;
    MPI_Sendrecv(&expect_rank, 1, MPI_INT, next, 0, &got, 1, MPI_INT, previous, 0, comm,
                 MPI_STATUS_IGNORE);
    EXPECT(got, previous);
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    const char *device = getenv("WEFT_DEVICE");
    MPI_Init(&argc, &argv);
    expect_begin();
    EXPECT_TEXT(hint(MPI_COMM_WORLD, "mpi_memory_alloc_kinds"),
                device != NULL && strcmp(device, "no") == 0
                    ? "mpi,system"
                    : "mpi,system,cuda,cuda:host,cuda:device,cuda:managed");
    EXPECT_TEXT(hint(MPI_COMM_WORLD, "mpi_assert_memory_alloc_kinds"), "-");
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < 4; i++) {
        static const char *const kinds[] = {"mpi,system", "system", "mpi:alloc_mem,cuda", ""};
        assert_kinds(comm, kinds[i]);
        EXPECT_TEXT(hint(comm, "mpi_assert_memory_alloc_kinds"), kinds[i]);
        exchange(comm);
    }
    MPI_Comm_free(&comm);
    return expect_end();
}
