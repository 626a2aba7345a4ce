/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages between memory of any two kinds: contiguous and not, of all sizes, in all modes, to the
 * next rank and to the rank itself. Arguments: kinds of memory (all of them if none is given).
 */
#include "guarded_bytes.h"
#include "expect.h"

#include <stdint.h>

enum { TAG = 7 };

/* The last size is sent in several pieces. Data that are not contiguous are shorter: on the
 * simulated driver kernels take 100 ns a byte. */
static const size_t sizes[] = {0, 1, 8, 1000, 4096, 20000, 100000, 3 << 20};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]), SHORTER = 8 };

typedef struct shape {
    const char *name;
    size_t unit; /* data bytes of an element */
    size_t extent;
    MPI_Datatype type;
} shape_t;

static shape_t shapes[3];

static void make_shapes(void)
{
    MPI_Datatype vector, list;
    int lengths[] = {3, 1, 5}, places[] = {0, 8, 20};
    MPI_Type_vector(4, 3, 7, MPI_INT16_T, &vector);
    MPI_Type_indexed(3, lengths, places, MPI_BYTE, &list);
    MPI_Type_commit(&vector);
    MPI_Type_commit(&list);
    shapes[0] = (shape_t){"bytes", 1, 1, MPI_BYTE};
    shapes[1] = (shape_t){"vector", 24, 0, vector};
    shapes[2] = (shape_t){"indexed", 9, 0, list};
    for (int i = 1; i < 3; i++) {
        MPI_Aint lb, extent;
        MPI_Type_get_extent(shapes[i].type, &lb, &extent);
        shapes[i].extent = (size_t)extent;
    }
}

/* One message, which its receiver knows as well. */
typedef struct test {
    memory_kind_t from, to;
    const shape_t *shape;
    int count;
    int mode;
    unsigned seed;
} test_t;

static size_t room_for(const test_t *test)
{
    return (size_t)test->count * test->shape->extent + 2 * GUARD;
}

static memory_t make_buffer(const test_t *test, memory_kind_t kind, unsigned seed)
{
    return take_guarded(kind, room_for(test) - 2 * GUARD, seed);
}

/* The data bytes must be those of the sender, in order, and all other bytes unchanged. */
static void check_buffer(const test_t *test, const memory_t *memory, unsigned own_seed)
{
    size_t room = room_for(test), bytes = (size_t)test->count * test->shape->unit;
    unsigned char *got = malloc(room), *sent = calloc(1, room), *expected = malloc(room);
    unsigned char *packed = malloc(bytes + 1);
    int position = 0;
    for (size_t i = 0; i < room; i++) {
        sent[i] = byte_at(i, test->seed);
        expected[i] = byte_at(i, own_seed);
    }
    MPI_Pack(sent + GUARD, test->count, test->shape->type, packed, (int)bytes, &position,
             MPI_COMM_SELF);
    position = 0;
    MPI_Unpack(packed, (int)bytes, &position, expected + GUARD, test->count, test->shape->type,
               MPI_COMM_SELF);
    memory_get(got, memory->at, room);
    size_t wrong = 0, at = 0;
    for (size_t i = 0; i < room; i++) {
        if (got[i] != expected[i] && wrong++ == 0)
            at = i;
    }
    if (wrong > 0) {
        fprintf(stderr, "%s -> %s, %d of %s, mode %d: byte %zu is %d, not %d\n",
                memory_names[test->from], memory_names[test->to], test->count, test->shape->name,
                test->mode, at, got[at], expected[at]);
        EXPECT(wrong, 0);
    }
    free(got);
    free(sent);
    free(expected);
    free(packed);
}

enum { MODES = 8 };

static void send_message(const test_t *test, char *buf, int peer)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Datatype type = test->shape->type;
    switch (test->mode) {
    case 0:
        MPI_Send(buf, test->count, type, peer, TAG, MPI_COMM_WORLD);
        return;
    case 1:
        MPI_Ssend(buf, test->count, type, peer, TAG, MPI_COMM_WORLD);
        return;
    case 2:
        MPI_Bsend(buf, test->count, type, peer, TAG, MPI_COMM_WORLD);
        return;
    case 3:
        MPI_Isend(buf, test->count, type, peer, TAG, MPI_COMM_WORLD, &request);
        break;
    case 4:
        MPI_Issend(buf, test->count, type, peer, TAG, MPI_COMM_WORLD, &request);
        break;
    case 5:
        MPI_Send_init(buf, test->count, type, peer, TAG, MPI_COMM_WORLD, &request);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
        return;
    case 6:
        MPI_Ibsend(buf, test->count, type, peer, TAG, MPI_COMM_WORLD, &request);
        break;
    default:
        MPI_Isend(buf, test->count, type, peer, TAG, MPI_COMM_WORLD, &request);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void receive_message(const test_t *test, char *buf, int peer)
{
    MPI_Status status;
    MPI_Message message;
    MPI_Request request;
    int count;
    MPI_Datatype type = test->shape->type;
    switch (test->mode) {
    case 5:
        MPI_Recv_init(buf, test->count, type, peer, TAG, MPI_COMM_WORLD, &request);
        MPI_Start(&request);
        MPI_Wait(&request, &status);
        MPI_Request_free(&request);
        break;
    case 7:
        MPI_Mprobe(peer, TAG, MPI_COMM_WORLD, &message, &status);
        MPI_Mrecv(buf, test->count, type, &message, &status);
        break;
    default:
        MPI_Recv(buf, test->count, type, peer, TAG, MPI_COMM_WORLD, &status);
    }
    MPI_Get_count(&status, type, &count);
    EXPECT(count, test->shape->unit == 0 ? 0 : test->count);
}

/* From each rank to the next; even ones send first. */
static void pass_on(const test_t *test)
{
    int next = (expect_rank + 1) % expect_size;
    int previous = (expect_rank + expect_size - 1) % expect_size;
    memory_t out = make_buffer(test, test->from, test->seed);
    memory_t in = make_buffer(test, test->to, test->seed + 100);
    char *from = (char *)out.at + GUARD, *to = (char *)in.at + GUARD;
    MPI_Request request;
    if (expect_size == 1) {
        MPI_Irecv(to, test->count, test->shape->type, 0, TAG, MPI_COMM_WORLD, &request);
        send_message(test, from, 0);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (expect_rank % 2 == 0 && expect_rank + 1 < expect_size) {
        send_message(test, from, next);
        receive_message(test, to, previous);
    } else {
        receive_message(test, to, previous);
        send_message(test, from, next);
    }
    check_buffer(test, &in, test->seed + 100);
    memory_give(&out);
    memory_give(&in);
}

static void exchange_in_place(memory_kind_t kind, size_t bytes)
{
    test_t test = {kind, kind, &shapes[0], (int)bytes, 90, 5};
    int next = (expect_rank + 1) % expect_size;
    int previous = (expect_rank + expect_size - 1) % expect_size;
    memory_t memory = make_buffer(&test, kind, test.seed);
    MPI_Sendrecv_replace((char *)memory.at + GUARD, test.count, MPI_BYTE, next, TAG, previous, TAG,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check_buffer(&test, &memory, test.seed);
    memory_give(&memory);
}

int main(int argc, char **argv)
{
    memory_kind_t kinds[MEMORY_KINDS];
    int kind_count = 0;
    MPI_Init(&argc, &argv);
    expect_begin();
    memory_begin(expect_rank);
    for (int i = 1; i < argc; i++)
        kinds[kind_count++] = memory_kind_named(argv[i]);
    for (int i = 0; argc == 1 && i < MEMORY_KINDS; i++)
        kinds[kind_count++] = (memory_kind_t)i;
    make_shapes();
    MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0);
    unsigned number = 0;
    for (int from = 0; from < kind_count; from++) {
        for (int to = 0; to < kind_count; to++) {
            for (int size = 0; size < SIZES; size++, number++) {
                const shape_t *shape = &shapes[number % 3];
                size_t bytes =
                    shape == shapes || size < SIZES - 1 ? sizes[size] : sizes[size] / SHORTER;
                int count = (int)((bytes + shape->unit - 1) / shape->unit);
                test_t test = {kinds[from], kinds[to], shape, count, (int)(number / 3 % MODES),
                               number};
                pass_on(&test);
            }
        }
        for (int size = 0; size < SIZES; size++)
            exchange_in_place(kinds[from], sizes[size]);
    }
    MPI_Type_free(&shapes[1].type);
    MPI_Type_free(&shapes[2].type);
    memory_end();
    return expect_end();
}
