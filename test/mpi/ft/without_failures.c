/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of fault tolerance where nobody fails, on communicators of both kinds. */
#include "expect.h"

#include <mpi.h>
#include <mpix.h>

#include <string.h>

static void check_class(int err, int wanted, const char *what)
{
    expect_equal(expect_class(err), wanted, what, __FILE__, __LINE__);
}

static void check_int(const char *what, int wanted, int got)
{
    expect_equal(got, wanted, what, __FILE__, __LINE__);
}

static void check(int is_right, const char *what)
{
    expect_equal(is_right, 1, what, __FILE__, __LINE__);
}

static void check_texts(void)
{
    static const int classes[] = {MPIX_ERR_PROC_FAILED, MPIX_ERR_PROC_FAILED_PENDING,
                                  MPIX_ERR_REVOKED};
    char text[MPI_MAX_ERROR_STRING];
    for (int i = 0; i < 3; i++) {
        int length = 0;
        check_class(classes[i], classes[i], "the class of a class");
        check_int("MPI_Error_string", MPI_SUCCESS, MPI_Error_string(classes[i], text, &length));
        check(length > 0 && (size_t)length == strlen(text), "a class has no text");
    }
}

static void check_acknowledgements(MPI_Comm comm)
{
    MPI_Group failed, acked;
    int count, result;
    MPIX_Comm_get_failed(comm, &failed);
    MPIX_Comm_failure_ack(comm);
    MPIX_Comm_failure_get_acked(comm, &acked);
    MPI_Group_compare(failed, MPI_GROUP_EMPTY, &result);
    check(result == MPI_IDENT || result == MPI_CONGRUENT, "some have failed");
    MPI_Group_compare(acked, failed, &result);
    check(result == MPI_IDENT || result == MPI_CONGRUENT, "some are acknowledged");
    MPI_Group_free(&failed);
    MPI_Group_free(&acked);
    MPIX_Comm_ack_failed(comm, 10, &count);
    check_int("num_acked", 0, count);
}

/* Several at once, which end in any order of waits. */
static void check_agreements(MPI_Comm comm, int rank, int size)
{
    enum { AT_ONCE = 5 };
    MPI_Request requests[AT_ONCE];
    int flags[AT_ONCE], flag, wanted;
    for (int i = 0; i < 4; i++) {
        flag = ~(1 << (rank + i) % 30);
        wanted = ~0;
        for (int other = 0; other < size; other++)
            wanted &= ~(1 << (other + i) % 30);
        check_int("MPIX_Comm_agree", MPI_SUCCESS, MPIX_Comm_agree(comm, &flag));
        check_int("flag", wanted, flag);
    }
    for (int i = 0; i < AT_ONCE; i++) {
        flags[i] = 1 << i | (rank == i % size ? 0 : 1 << 20);
        MPIX_Comm_iagree(comm, &flags[i], &requests[i]);
    }
    for (int i = AT_ONCE - 1; i >= 0; i--) {
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        check_int("flag of a nonblocking agreement", 1 << i, flags[i]);
    }
}

static void check_made(MPI_Comm comm, MPI_Comm made)
{
    int result, out = 1, sum = 0, size;
    MPI_Comm_compare(comm, made, &result);
    check_int("the new communicator", MPI_CONGRUENT, result);
    MPI_Allreduce(&out, &sum, 1, MPI_INT, MPI_SUM, made);
    int is_inter;
    MPI_Comm_test_inter(comm, &is_inter);
    if (is_inter)
        MPI_Comm_remote_size(comm, &size);
    else
        MPI_Comm_size(comm, &size);
    check_int("a sum on the new communicator", size, sum);
    MPI_Comm_free(&made);
}

static void check_shrinks(MPI_Comm comm)
{
    MPI_Comm first, second, third;
    MPI_Request request;
    check_int("MPIX_Comm_shrink", MPI_SUCCESS, MPIX_Comm_shrink(comm, &first));
    MPIX_Comm_ishrink(comm, &second, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check_int("MPIX_Comm_shrink", MPI_SUCCESS, MPIX_Comm_shrink(first, &third));
    check_made(comm, first);
    check_made(comm, second);
    check_made(comm, third);
}

static void check_revocation(MPI_Comm comm, int is_inter)
{
    MPI_Comm copy, made, other;
    MPI_Request request;
    int flag = 0, data = 0;
    MPI_Comm_dup(comm, &copy);
    MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
    MPIX_Comm_is_revoked(copy, &flag);
    check(!flag, "a new communicator is revoked");
    MPI_Irecv(&data, 1, MPI_INT, 0, 9, copy, &request);
    int rank;
    MPI_Comm_rank(copy, &rank);
    if (rank == 0)
        MPIX_Comm_revoke(copy);
    check_class(MPI_Wait(&request, MPI_STATUS_IGNORE), MPIX_ERR_REVOKED, "a receive under way");
    check_class(MPI_Barrier(copy), MPIX_ERR_REVOKED, "a barrier");
    check_class(MPI_Send(&data, 1, MPI_INT, MPI_PROC_NULL, 0, copy), MPIX_ERR_REVOKED, "a send");
    check_class(MPI_Recv(&data, 1, MPI_INT, MPI_PROC_NULL, 0, copy, MPI_STATUS_IGNORE),
                MPIX_ERR_REVOKED, "a receive");
    check_class(MPI_Comm_dup(copy, &other), MPIX_ERR_REVOKED, "a copy");
    if (!is_inter)
        check_class(MPI_Comm_split(copy, 0, 0, &other), MPIX_ERR_REVOKED, "a split");
    MPIX_Comm_is_revoked(copy, &flag);
    check(flag, "a revoked communicator is none");
    flag = 5;
    check_int("MPIX_Comm_agree after a revocation", MPI_SUCCESS, MPIX_Comm_agree(copy, &flag));
    check_int("MPIX_Comm_shrink after a revocation", MPI_SUCCESS, MPIX_Comm_shrink(copy, &made));
    MPI_Comm_free(&copy);
    check_made(comm, made);
}

static void check_all(MPI_Comm comm, int rank, int size, int is_inter)
{
    check_acknowledgements(comm);
    check_agreements(comm, rank, size);
    check_shrinks(comm);
    check_revocation(comm, is_inter);
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Comm part, inter;
    MPI_Init(&argc, &argv);
    expect_begin();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    check_texts();
    check_all(MPI_COMM_WORLD, rank, size, 0);
    check_all(MPI_COMM_SELF, 0, 1, 0);
    if (size > 1) {
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &part);
        MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, 1 - rank % 2, 0, &inter);
        check_all(inter, rank, size, 1);
        MPI_Comm_free(&inter);
        MPI_Comm_free(&part);
    }
    return expect_end();
}
