/* SPDX-License-Identifier: BSD-3-Clause */
/* Every rank exchanges messages of many sizes with every other, by all modes of sending, contiguous
 * and not; what arrives is checked byte by byte. */
#include "../expect.h"
#include "memory_kinds.h"

#include <stdlib.h>
#include <string.h>

enum { LARGEST = 300000 };

enum { ROOM = LARGEST * 2 + 8 };
static unsigned char out[ROOM], in[ROOM]; /* on the host */
static char out_kind, in_kind;            /* of the buffers that MPI gets */
static void *out_at, *in_at;

static void put_both(size_t bytes)
{
    memset(in, 0xee, bytes + 8);
    memory_put(in_kind, in_at, in, bytes + 8);
    memory_put(out_kind, out_at, out, bytes);
}

static unsigned char value(int sender, int i, int salt)
{
    return (unsigned char)(sender * 31 + i * 7 + i / 256 + salt);
}

typedef int (*send_fn_t)(const void *, int, MPI_Datatype, int, int, MPI_Comm);

static void check_exchange(int peer, int bytes, int mode)
{
    static const send_fn_t sends[] = {MPI_Send, MPI_Ssend, MPI_Rsend, MPI_Bsend};
    MPI_Request request;
    MPI_Status status;
    for (int i = 0; i < bytes; i++)
        out[i] = value(expect_rank, i, mode);
    put_both((size_t)bytes);
    MPI_Irecv(in_at, bytes, MPI_BYTE, peer, 5, MPI_COMM_WORLD, &request);
    MPI_Sendrecv(NULL, 0, MPI_BYTE, peer, 6, NULL, 0, MPI_BYTE, peer, 6, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    sends[mode](out_at, bytes, MPI_BYTE, peer, 5, MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
    EXPECT(status.MPI_SOURCE, peer);
    EXPECT(status.MPI_TAG, 5);
    int count;
    MPI_Get_count(&status, MPI_BYTE, &count);
    EXPECT(count, bytes);
    memory_get(in_kind, in, in_at, (size_t)bytes + 8);
    for (int i = 0; i < bytes; i++)
        EXPECT(in[i], value(peer, i, mode));
    EXPECT(in[bytes], 0xee);
}

/* Every second byte is sent, and received into every second byte or all. */
static void check_strided(int peer, int blocks, int receive_strided)
{
    MPI_Datatype strided;
    MPI_Type_vector(blocks, 1, 2, MPI_BYTE, &strided);
    MPI_Type_commit(&strided);
    for (int i = 0; i < 2 * blocks; i++)
        out[i] = value(expect_rank, i, 9);
    put_both((size_t)blocks * 2);
    MPI_Sendrecv(out_at, 1, strided, peer, 7, in_at, receive_strided ? 1 : blocks,
                 receive_strided ? strided : MPI_BYTE, peer, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    memory_get(in_kind, in, in_at, (size_t)blocks * 2 + 8);
    for (int i = 0; i < blocks; i++) {
        EXPECT(in[receive_strided ? 2 * i : i], value(peer, 2 * i, 9));
        if (receive_strided && i + 1 < blocks)
            EXPECT(in[2 * i + 1], 0xee);
    }
    MPI_Type_free(&strided);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {0,    1,    7,    8,     48,    49,    64,     1000,
                                1024, 1025, 4096, 16384, 16385, 65536, LARGEST};
    MPI_Init(&argc, &argv);
    expect_begin();
    memory_begin(expect_rank);
    out_at = memory_take(out_kind = memory_next_kind(), ROOM);
    in_at = memory_take(in_kind = memory_next_kind(), ROOM);
    void *buffer = malloc(LARGEST + MPI_BSEND_OVERHEAD);
    int size;
    MPI_Buffer_attach(buffer, LARGEST + MPI_BSEND_OVERHEAD);
    for (int distance = 0; distance < expect_size; distance++) {
        /* Pairs (a, b) with a + b = distance modulo the number of ranks. */
        int peer = (distance - expect_rank + expect_size) % expect_size;
        for (int i = 0; i < (int)(sizeof(sizes) / sizeof(sizes[0])); i++) {
            for (int mode = 0; mode < 4; mode++) {
                if (peer != expect_rank || mode == 0 || mode == 3)
                    check_exchange(peer, sizes[i], mode);
            }
            if (sizes[i] > 0) {
                check_strided(peer, sizes[i], 0);
                check_strided(peer, sizes[i], 1);
            }
        }
    }
    MPI_Buffer_detach(&buffer, &size);
    EXPECT(size, LARGEST + MPI_BSEND_OVERHEAD);
    free(buffer);
    memory_give(out_kind, out_at);
    memory_give(in_kind, in_at);
    return expect_end();
}
