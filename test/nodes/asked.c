/* SPDX-License-Identifier: BSD-3-Clause */
/* asked [large] [small]: each rank offers the next one thousands of messages that the receiver must
 * ask for, and sends the one before it thousands of packets that are not read yet; then all ranks
 * receive all of them. So the receivers ask for thousands of messages while there is no room to
 * ask. Prints nothing. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGE_BYTES = 20000, SMALL_BYTES = 16000, TAG_LARGE = 1, TAG_SMALL = 2 };

static int rank;

typedef struct flow {
    int count, tag, peer;
    size_t bytes;
    char *data;
    MPI_Request *requests;
} flow_t;

static flow_t make_flow(int count, size_t bytes, int tag, int peer)
{
    flow_t flow = {count,
                   tag,
                   peer,
                   bytes,
                   calloc((size_t)count, bytes),
                   calloc((size_t)count, sizeof(MPI_Request))};
    if (flow.data == NULL || flow.requests == NULL) {
        fprintf(stderr, "rank %d: no memory for %d messages\n", rank, count);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return flow;
}

static void send_all(flow_t *flow)
{
    for (int i = 0; i < flow->count; i++) {
        char *data = flow->data + (size_t)i * flow->bytes;
        memset(data, rank + flow->tag + i, flow->bytes);
        MPI_Isend(data, (int)flow->bytes, MPI_BYTE, flow->peer, flow->tag, MPI_COMM_WORLD,
                  &flow->requests[i]);
    }
}

static void receive_all(flow_t *flow)
{
    for (int i = 0; i < flow->count; i++)
        MPI_Irecv(flow->data + (size_t)i * flow->bytes, (int)flow->bytes, MPI_BYTE, flow->peer,
                  flow->tag, MPI_COMM_WORLD, &flow->requests[i]);
}

static void check(const flow_t *flow)
{
    for (size_t at = 0; at < (size_t)flow->count * flow->bytes; at++) {
        char expected = (char)(flow->peer + flow->tag + (int)(at / flow->bytes));
        if (flow->data[at] == expected)
            continue;
        fprintf(stderr, "rank %d: byte %zu of the messages with tag %d is %d, expected %d\n", rank,
                at, flow->tag, flow->data[at], expected);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void end_flow(flow_t *flow)
{
    MPI_Waitall(flow->count, flow->requests, MPI_STATUSES_IGNORE);
    check(flow);
    free(flow->data);
    free(flow->requests);
}

int main(int argc, char **argv)
{
    int size, large = argc > 1 ? atoi(argv[1]) : 2500, small = argc > 2 ? atoi(argv[2]) : 3000;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    flow_t large_out = make_flow(large, LARGE_BYTES, TAG_LARGE, next);
    flow_t small_out = make_flow(small, SMALL_BYTES, TAG_SMALL, before);
    flow_t large_in = make_flow(large, LARGE_BYTES, TAG_LARGE, before);
    flow_t small_in = make_flow(small, SMALL_BYTES, TAG_SMALL, next);
    send_all(&large_out);
    send_all(&small_out);
    MPI_Barrier(MPI_COMM_WORLD);
    receive_all(&large_in);
    receive_all(&small_in);
    /* What was sent is as its sender wrote it: check() expects the sender's rank there. */
    large_out.peer = small_out.peer = rank;
    end_flow(&large_in);
    end_flow(&small_in);
    end_flow(&large_out);
    end_flow(&small_out);
    MPI_Finalize();
    return 0;
}
