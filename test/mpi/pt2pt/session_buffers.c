/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers of sessions: used by buffered sends of a session's communicators that have none of their
 * own, before the process's. */
#include "../expect.h"

#include <stdlib.h>

enum { BYTES = 1000, MESSAGES = 10, ROOM = MESSAGES * (BYTES + MPI_BSEND_OVERHEAD) };

static MPI_Session session;
static int left, right;

static MPI_Comm make_comm(MPI_Session of, const char *tag)
{
    MPI_Group group;
    MPI_Comm comm;
    MPI_Group_from_session_pset(of, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Group_free(&group);
    return comm;
}

static void check_detach(void *expected, int bytes)
{
    void *buffer = NULL;
    int got = -1;
    EXPECT(MPI_Session_detach_buffer(session, &buffer, &got), MPI_SUCCESS);
    EXPECT(buffer == expected, 1);
    EXPECT(got, bytes);
}

static int send_some(MPI_Comm comm, int bytes)
{
    char *data = malloc((size_t)bytes);
    memset(data, expect_rank, (size_t)bytes);
    int err = MPI_Bsend(data, bytes, MPI_CHAR, right, 7, comm);
    free(data);
    return err;
}

static void receive(MPI_Comm comm)
{
    char data[BYTES];
    MPI_Recv(data, BYTES, MPI_CHAR, left, 7, comm, MPI_STATUS_IGNORE);
    EXPECT(data[0] == left && data[BYTES - 1] == left, 1);
}

/* Also in a buffer that was attached twice, and in one that is too small. */
static void test_messages(MPI_Comm comm)
{
    char *memory = malloc(ROOM);
    EXPECT_ERROR(send_some(comm, BYTES), MPI_ERR_BUFFER);
    EXPECT(MPI_Session_attach_buffer(session, memory, ROOM), MPI_SUCCESS);
    EXPECT_ERROR(MPI_Session_attach_buffer(session, memory, ROOM), MPI_ERR_BUFFER);
    EXPECT_ERROR(send_some(comm, ROOM), MPI_ERR_BUFFER);
    for (int i = 0; i < MESSAGES; i++)
        EXPECT(send_some(comm, BYTES), MPI_SUCCESS);
    for (int i = 0; i < MESSAGES; i++)
        receive(comm);
    check_detach(memory, ROOM);
    free(memory);
}

/* A split, a duplicate and a communicator of a smaller group come from the session too. */
static void test_derived(MPI_Comm comm)
{
    MPI_Comm copy, split, part;
    MPI_Group group, reversed;
    int range[1][3] = {{expect_size - 1, 0, -1}};
    MPI_Comm_dup(comm, &copy);
    MPI_Comm_split(comm, 0, -expect_rank, &split);
    MPI_Comm_group(comm, &group);
    MPI_Group_range_incl(group, 1, range, &reversed);
    MPI_Comm_create_group(comm, reversed, 0, &part);
    MPI_Group_free(&reversed);
    MPI_Group_free(&group);
    MPI_Comm comms[] = {copy, split, part};
    MPI_Session_attach_buffer_c(session, MPI_BUFFER_AUTOMATIC, 0);
    for (int i = 0; i < 3; i++) {
        char data = 1;
        int rank;
        MPI_Comm_set_errhandler(comms[i], MPI_ERRORS_RETURN);
        MPI_Comm_rank(comms[i], &rank);
        EXPECT(MPI_Bsend(&data, 1, MPI_CHAR, rank, 0, comms[i]), MPI_SUCCESS);
        MPI_Recv(&data, 1, MPI_CHAR, rank, 0, comms[i], MPI_STATUS_IGNORE);
    }
    check_detach(MPI_BUFFER_AUTOMATIC, 0);
    for (int i = 0; i < 3; i++)
        MPI_Comm_free(&comms[i]);
}

/* The communicator's own buffer comes first, the process's last; another session's is not used. */
static void test_order(MPI_Comm comm)
{
    static char small[BYTES / 2];
    MPI_Session other;
    void *buffer;
    int bytes;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &other);
    MPI_Session_attach_buffer(other, MPI_BUFFER_AUTOMATIC, 0);
    EXPECT_ERROR(send_some(comm, BYTES), MPI_ERR_BUFFER);
    MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0);
    EXPECT(send_some(comm, BYTES), MPI_SUCCESS);
    MPI_Session_attach_buffer(session, small, sizeof(small));
    EXPECT_ERROR(send_some(comm, BYTES), MPI_ERR_BUFFER);
    MPI_Comm_attach_buffer(comm, MPI_BUFFER_AUTOMATIC, 0);
    EXPECT(send_some(comm, BYTES), MPI_SUCCESS);
    receive(comm);
    receive(comm);
    MPI_Comm_detach_buffer(comm, &buffer, &bytes);
    check_detach(small, sizeof(small));
    MPI_Buffer_detach(&buffer, &bytes);
    MPI_Session_finalize(&other);
}

static void test_flush(MPI_Comm comm)
{
    MPI_Request request, incoming;
    static char data[1 << 20], got[1 << 20];
    EXPECT(MPI_Session_flush_buffer(session), MPI_SUCCESS); /* there is none */
    MPI_Session_attach_buffer(session, MPI_BUFFER_AUTOMATIC, 0);
    MPI_Irecv(got, sizeof(got), MPI_CHAR, left, 1, comm, &incoming);
    data[0] = data[sizeof(data) - 1] = (char)expect_rank;
    EXPECT(MPI_Bsend(data, sizeof(data), MPI_CHAR, right, 1, comm), MPI_SUCCESS);
    EXPECT(MPI_Session_iflush_buffer(session, &request), MPI_SUCCESS);
    MPI_Wait(&incoming, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT(got[0] == left && got[sizeof(got) - 1] == left, 1);
    MPI_Irecv(got, sizeof(got), MPI_CHAR, left, 1, comm, &incoming);
    MPI_Bsend(data, sizeof(data), MPI_CHAR, right, 1, comm);
    MPI_Session_flush_buffer(session);
    MPI_Wait(&incoming, MPI_STATUS_IGNORE);
}

int main(void)
{
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Comm comm = make_comm(session, "buffers");
    MPI_Comm_rank(comm, &expect_rank);
    MPI_Comm_size(comm, &expect_size);
    left = (expect_rank + expect_size - 1) % expect_size;
    right = (expect_rank + 1) % expect_size;
    test_messages(comm);
    test_derived(comm);
    test_order(comm);
    test_flush(comm); /* leaves a buffer, which goes with the session */
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    return expect_failures != 0;
}
