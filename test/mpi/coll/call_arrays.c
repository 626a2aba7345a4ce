/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The arrays of nonblocking collectives are gone when the call returns, as in programs that free
 * them too early, which other libraries let them. And collectives between MPI_BOTTOM and
 * MPI_BOTTOM, whose types have the addresses.
 */
#include "expect.h"
#include "memory_kinds.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* Rank r sends r + i + 1 numbers to rank i. */
static int count_of(int from, int to)
{
    return from + to + 1;
}

static int value_of(int from, int to, int index)
{
    return from * 10000 + to * 100 + index;
}

/* Arrays of one side, in one piece of memory that is spoilt and freed by spoil(). */
typedef struct arrays {
    int *counts, *displs;
    MPI_Datatype *types;
} arrays_t;

static arrays_t make(int (*count)(int peer), int unit)
{
    arrays_t made = {malloc((size_t)expect_size * sizeof(int)),
                     malloc((size_t)expect_size * sizeof(int)),
                     malloc((size_t)expect_size * sizeof(MPI_Datatype))};
    for (int i = 0, at = 0; i < expect_size; i++) {
        made.counts[i] = count(i);
        made.displs[i] = at * unit;
        made.types[i] = MPI_INT;
        at += made.counts[i];
    }
    return made;
}

static void spoil(arrays_t *arrays)
{
    memset(arrays->counts, 0x7a, (size_t)expect_size * sizeof(int));
    memset(arrays->displs, 0x7a, (size_t)expect_size * sizeof(int));
    memset((void *)arrays->types, 0, (size_t)expect_size * sizeof(MPI_Datatype));
    free(arrays->counts);
    free(arrays->displs);
    free((void *)arrays->types);
}

static int to_peer(int peer)
{
    return count_of(expect_rank, peer);
}

static int from_peer(int peer)
{
    return count_of(peer, expect_rank);
}

static int sum_of(int (*count)(int peer))
{
    int sum = 0;
    for (int i = 0; i < expect_size; i++)
        sum += count(i);
    return sum;
}

typedef struct buffer {
    char kind;
    int *at, numbers;
} buffer_t;

static buffer_t take(const int *content, int numbers)
{
    buffer_t buffer = {memory_next_kind(), NULL, numbers};
    buffer.at = memory_take(buffer.kind, (size_t)numbers * sizeof(int));
    memory_put(buffer.kind, buffer.at, content, (size_t)numbers * sizeof(int));
    return buffer;
}

static buffer_t take_sent(void)
{
    int numbers = sum_of(to_peer), at = 0;
    int *content = malloc((size_t)numbers * sizeof(int));
    for (int to = 0; to < expect_size; to++) {
        for (int i = 0; i < to_peer(to); i++)
            content[at++] = value_of(expect_rank, to, i);
    }
    buffer_t buffer = take(content, numbers);
    free(content);
    return buffer;
}

static buffer_t take_blank(int numbers)
{
    int *content = calloc((size_t)numbers, sizeof(int));
    buffer_t buffer = take(content, numbers);
    free(content);
    return buffer;
}

/* Every number that came, by rank; `from` -1: each rank's. */
static void expect_received(buffer_t *received)
{
    int *got = malloc((size_t)received->numbers * sizeof(int)), at = 0;
    memory_get(received->kind, got, received->at, (size_t)received->numbers * sizeof(int));
    for (int from = 0; from < expect_size; from++) {
        for (int i = 0; i < from_peer(from); i++)
            EXPECT(got[at++], value_of(from, expect_rank, i));
    }
    free(got);
    memory_give(received->kind, received->at);
}

typedef int (*begin_fn_t)(const buffer_t *, const arrays_t *, const buffer_t *, const arrays_t *,
                          MPI_Request *);

static int begin_alltoallv(const buffer_t *sent, const arrays_t *send, const buffer_t *received,
                           const arrays_t *recv, MPI_Request *request)
{
    return MPI_Ialltoallv(sent->at, send->counts, send->displs, MPI_INT, received->at, recv->counts,
                          recv->displs, MPI_INT, MPI_COMM_WORLD, request);
}

static int begin_alltoallw(const buffer_t *sent, const arrays_t *send, const buffer_t *received,
                           const arrays_t *recv, MPI_Request *request)
{
    return MPI_Ialltoallw(sent->at, send->counts, send->displs, send->types, received->at,
                          recv->counts, recv->displs, recv->types, MPI_COMM_WORLD, request);
}

static void run_exchange(begin_fn_t begin, int unit)
{
    MPI_Request request;
    buffer_t sent = take_sent(), received = take_blank(sum_of(from_peer));
    arrays_t send = make(to_peer, unit), recv = make(from_peer, unit);
    EXPECT(begin(&sent, &send, &received, &recv, &request), MPI_SUCCESS);
    spoil(&send);
    spoil(&recv);
    EXPECT(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    expect_received(&received);
    memory_give(sent.kind, sent.at);
}

static int own_count(int peer)
{
    return peer + 1;
}

/* The sum of what each rank gives: value_of(rank, to, index). */
static void run_reduce_scatter(void)
{
    MPI_Request request;
    int numbers = sum_of(own_count), at = 0, *content = malloc((size_t)numbers * sizeof(int));
    for (int to = 0; to < expect_size; to++) {
        for (int i = 0; i < own_count(to); i++)
            content[at++] = value_of(expect_rank, to, i);
    }
    buffer_t sent = take(content, numbers), received = take_blank(own_count(expect_rank));
    arrays_t recv = make(own_count, 1);
    EXPECT(MPI_Ireduce_scatter(sent.at, received.at, recv.counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                               &request),
           MPI_SUCCESS);
    spoil(&recv);
    EXPECT(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    memory_get(received.kind, content, received.at, (size_t)received.numbers * sizeof(int));
    for (int i = 0; i < received.numbers; i++) {
        int sum = 0;
        for (int from = 0; from < expect_size; from++)
            sum += value_of(from, expect_rank, i);
        EXPECT(content[i], sum);
    }
    free(content);
    memory_give(sent.kind, sent.at);
    memory_give(received.kind, received.at);
}

static void run_gathered(bool to_all)
{
    MPI_Request request;
    int root = expect_size - 1, numbers = sum_of(own_count), at = 0;
    int *content = malloc((size_t)numbers * sizeof(int));
    for (int i = 0; i < own_count(expect_rank); i++)
        content[i] = value_of(expect_rank, 0, i);
    buffer_t sent = take(content, own_count(expect_rank)), received = take_blank(numbers);
    arrays_t recv = make(own_count, 1);
    EXPECT(to_all ? MPI_Iallgatherv(sent.at, sent.numbers, MPI_INT, received.at, recv.counts,
                                    recv.displs, MPI_INT, MPI_COMM_WORLD, &request)
                  : MPI_Igatherv(sent.at, sent.numbers, MPI_INT, received.at, recv.counts,
                                 recv.displs, MPI_INT, root, MPI_COMM_WORLD, &request),
           MPI_SUCCESS);
    spoil(&recv);
    EXPECT(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    memory_get(received.kind, content, received.at, (size_t)numbers * sizeof(int));
    for (int from = 0; (to_all || expect_rank == root) && from < expect_size; from++) {
        for (int i = 0; i < own_count(from); i++)
            EXPECT(content[at++], value_of(from, 0, i));
    }
    free(content);
    memory_give(sent.kind, sent.at);
    memory_give(received.kind, received.at);
}

/* Types with the addresses of the blocks for or from each rank. */
static void make_absolute(const buffer_t *buffer, int (*count)(int peer), MPI_Datatype *types)
{
    for (int i = 0, at = 0; i < expect_size; at += count(i++)) {
        int numbers = count(i);
        MPI_Aint address = (MPI_Aint)(uintptr_t)(buffer->at + at);
        EXPECT(MPI_Type_create_hindexed(1, &numbers, &address, MPI_INT, &types[i]), MPI_SUCCESS);
        EXPECT(MPI_Type_commit(&types[i]), MPI_SUCCESS);
    }
}

static int one(int peer)
{
    (void)peer;
    return 1;
}

static void run_bottom(void)
{
    MPI_Request request;
    buffer_t sent = take_sent(), received = take_blank(sum_of(from_peer));
    arrays_t send = make(one, 0), recv = make(one, 0);
    make_absolute(&sent, to_peer, send.types);
    make_absolute(&received, from_peer, recv.types);
    EXPECT(MPI_Ialltoallw(MPI_BOTTOM, send.counts, send.displs, send.types, MPI_BOTTOM, recv.counts,
                          recv.displs, recv.types, MPI_COMM_WORLD, &request),
           MPI_SUCCESS);
    for (int i = 0; i < expect_size; i++) {
        EXPECT(MPI_Type_free(&send.types[i]), MPI_SUCCESS);
        EXPECT(MPI_Type_free(&recv.types[i]), MPI_SUCCESS);
    }
    spoil(&send);
    spoil(&recv);
    EXPECT(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    expect_received(&received);
    memory_give(sent.kind, sent.at);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin();
    memory_begin(expect_rank);
    for (int round = 0; round < 2; round++) {
        run_exchange(begin_alltoallv, 1);
        run_exchange(begin_alltoallw, (int)sizeof(int));
        run_reduce_scatter();
        run_gathered(true);
        run_gathered(false);
        run_bottom();
    }
    MPI_Finalize();
    return 0;
}
