/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * small [messages] [collectives] [freed]: few bytes of device memory, of odd sizes at odd places. A
 * run in which every copy and kernel of the driver fails shows that none is needed.
 */
#include "device_memory.h"
#include "expect.h"

enum { BYTES = (4 << 20) + 777, LARGEST = 2048, EDGE = 8, TAG = 3 };

static memory_t device_out, device_in;
static unsigned char host_out[BYTES], host_in[BYTES];
static int right, left;

static unsigned char byte_of(int rank, int at, int salt)
{
    return (unsigned char)(rank * 41 + at * 7 + at / 251 + salt * 3 + 1);
}

/* The place and length of one message. */
typedef struct letter {
    size_t at;
    int bytes, salt;
    int from_device, to_device;
} letter_t;

static void *out_at(const letter_t *letter)
{
    return (char *)(letter->from_device ? device_out.at : host_out) + letter->at;
}

static void *in_at(const letter_t *letter)
{
    return (char *)(letter->to_device ? device_in.at : host_in) + letter->at;
}

static void prepare(const letter_t *letter)
{
    unsigned char out[LARGEST], in[LARGEST + 2 * EDGE];
    for (int i = 0; i < letter->bytes; i++)
        out[i] = byte_of(expect_rank, i, letter->salt);
    memset(in, 0xee, sizeof(in));
    memory_put(out_at(letter), out, (size_t)letter->bytes);
    memory_put((char *)in_at(letter) - EDGE, in, (size_t)letter->bytes + 2 * EDGE);
}

static void check(const letter_t *letter, int source)
{
    unsigned char in[LARGEST + 2 * EDGE];
    memory_get(in, (char *)in_at(letter) - EDGE, (size_t)letter->bytes + 2 * EDGE);
    for (int i = 0; i < letter->bytes; i++)
        EXPECT(in[EDGE + i], byte_of(source, i, letter->salt));
    EXPECT(in[EDGE - 1], 0xee);
    EXPECT(in[EDGE + letter->bytes], 0xee);
}

/* ---- messages ---- */

static void receive_late(const letter_t *letter)
{
    MPI_Message message;
    MPI_Status status;
    int bytes;
    MPI_Mprobe(left, TAG, MPI_COMM_WORLD, &message, &status);
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    EXPECT(bytes, letter->bytes);
    MPI_Mrecv(in_at(letter), letter->bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE);
}

static void exchange_late(const letter_t *letter)
{
    MPI_Send(out_at(letter), letter->bytes, MPI_BYTE, right, TAG, MPI_COMM_WORLD);
    receive_late(letter);
}

static void exchange_early(const letter_t *letter)
{
    MPI_Request requests[2];
    MPI_Irecv(in_at(letter), letter->bytes, MPI_BYTE, left, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out_at(letter), letter->bytes, MPI_BYTE, right, TAG, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void exchange_again(const letter_t *letter)
{
    MPI_Request requests[2];
    MPI_Recv_init(in_at(letter), letter->bytes, MPI_BYTE, left, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(out_at(letter), letter->bytes, MPI_BYTE, right, TAG, MPI_COMM_WORLD,
                  &requests[1]);
    for (int i = 0; i < 3; i++) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

/* The data begin behind the address that is passed to MPI. */
static void exchange_displaced(const letter_t *letter)
{
    MPI_Datatype type;
    MPI_Aint displacement = 100;
    MPI_Type_create_hindexed_block(1, letter->bytes, &displacement, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    MPI_Sendrecv((char *)out_at(letter) - displacement, 1, type, right, TAG,
                 (char *)in_at(letter) - displacement, 1, type, left, TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Type_free(&type);
}

static void exchange(const letter_t *letter)
{
    static void (*const ways[])(const letter_t *) = {exchange_late, exchange_early, exchange_again,
                                                     exchange_displaced};
    prepare(letter);
    ways[letter->salt % 4](letter);
    check(letter, left);
}

static void test_messages(void)
{
    static const int sizes[] = {1, 3, 7, 8, 63, 64, 65, 500, 1000, 1531, LARGEST};
    static const size_t places[] = {
        256, 1025, 65536 - 3, 2 * 65536 + 100, (2 << 20) - 5, BYTES - LARGEST - EDGE};
    letter_t letter = {.salt = 0};
    for (int sides = 0; sides < 4; sides++) {
        for (size_t place = 0; place < sizeof(places) / sizeof(places[0]); place++) {
            for (size_t size = 0; size < sizeof(sizes) / sizeof(sizes[0]); size++) {
                letter =
                    (letter_t){places[place], sizes[size], letter.salt + 1, sides & 1, sides >> 1};
                exchange(&letter);
            }
        }
    }
}

/* ---- collectives ---- */

static void test_allreduce(int round)
{
    int numbers[3] = {expect_rank, round, -expect_rank}, sums[3] = {0};
    char *from = (char *)device_out.at + 4 * (size_t)round, *to = (char *)device_in.at + 4096;
    memory_put(from, numbers, sizeof(numbers));
    MPI_Allreduce(from, to, 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    memory_get(sums, to, sizeof(sums));
    EXPECT(sums[0], expect_size * (expect_size - 1) / 2);
    EXPECT(sums[1], round * expect_size);
    EXPECT(sums[2], -sums[0]);
}

static void test_bcast(int round)
{
    int root = round % expect_size, number = expect_rank * 100 + round;
    memory_put(device_in.at, &number, sizeof(number));
    MPI_Bcast(device_in.at, 1, MPI_INT, root, MPI_COMM_WORLD);
    memory_get(&number, device_in.at, sizeof(number));
    EXPECT(number, root * 100 + round);
}

static void test_collectives(void)
{
    for (int round = 0; round < 20; round++) {
        test_allreduce(round);
        test_bcast(round);
    }
}

/* ---- freed memory ---- */

/* New memory at the address of freed memory must be treated as different memory. */
static void test_freed(void)
{
    static const size_t sizes[] = {4096, 3 << 20, 70000, 8 << 20};
    for (int round = 0; round < 40; round++) {
        memory_give(&device_in);
        memory_give(&device_out);
        device_out = memory_take(DEVICE, sizes[round % 4]);
        device_in = memory_take(DEVICE, sizes[round % 4]);
        letter_t letter = {512, 100 + round, round, 1, 1};
        exchange(&letter);
        exchange(&letter);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin();
    memory_begin(expect_rank);
    right = (expect_rank + 1) % expect_size;
    left = (expect_rank + expect_size - 1) % expect_size;
    device_out = memory_take(DEVICE, BYTES);
    device_in = memory_take(DEVICE, BYTES);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "messages") == 0)
            test_messages();
        else if (strcmp(argv[i], "collectives") == 0)
            test_collectives();
        else
            test_freed();
    }
    memory_give(&device_out);
    memory_give(&device_in);
    int failed = expect_end();
    memory_end();
    return failed;
}
