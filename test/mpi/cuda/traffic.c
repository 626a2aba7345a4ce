/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many messages at a time between all ranks and all kinds of memory, short and long, contiguous and
 * not, with receives posted before and after they arrive; they keep their order. All ranks draw the
 * same random numbers. Arguments: seed, rounds, messages per round, and any fourth word if even
 * short messages go by rendezvous.
 */
#include "device_memory.h"
#include "expect.h"

#include <stdbool.h>
#include <stdint.h>

enum { MOST = 256, ROOM = 1 << 20 };

static uint64_t state;

static unsigned pick(unsigned below)
{
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)(state >> 33) % below;
}

static MPI_Datatype strided; /* 8 bytes of 24 */

typedef struct message {
    int from, to, tag;
    int units; /* of 8 bytes */
    bool is_strided[2], is_synchronous;
    memory_kind_t kind[2];
    unsigned char mark;
} message_t;

static message_t messages[MOST];
static int message_count;

static int some_units(void)
{
    static const int most[] = {4, 200, 2000, 12000, 60000};
    return (int)pick((unsigned)most[pick(5)]);
}

/* The last sizes are sent in pieces; where kernels move the data they are shorter, as kernels are
 * slow on the simulated driver. */
static void draw_messages(int count)
{
    static const memory_kind_t kinds[] = {HOST, DEVICE, DEVICE, MANAGED, SHARED_VMM, PINNED};
    message_count = count;
    for (int i = 0; i < count; i++) {
        messages[i] = (message_t){
            .from = (int)pick((unsigned)expect_size),
            .to = (int)pick((unsigned)expect_size),
            .tag = (int)pick(3),
            .units = some_units(),
            .is_strided = {pick(3) == 0, pick(3) == 0},
            .is_synchronous = pick(4) == 0,
            .kind = {kinds[pick(6)], kinds[pick(6)]},
            .mark = (unsigned char)(i + 1),
        };
        for (int side = 0; side < 2; side++) {
            if (messages[i].is_strided[side] && messages[i].units > 5000)
                messages[i].units = 5000;
        }
    }
}

/* One allocation of each kind, of which each message has a part. */
typedef struct arena {
    memory_t memory;
    size_t used;
} arena_t;

static arena_t arenas[2][MEMORY_KINDS];

static char *part_of(arena_t *arena, memory_kind_t kind, size_t bytes)
{
    if (arena->memory.at == NULL)
        arena->memory = memory_take(kind, (size_t)MOST * ROOM / 8);
    char *at = (char *)arena->memory.at + arena->used;
    arena->used += (bytes + 63) / 64 * 64;
    if (arena->used > arena->memory.bytes) {
        fprintf(stderr, "rank %d: the arena is too small\n", expect_rank);
        MPI_Abort(MPI_COMM_WORLD, 4);
    }
    return at;
}

static size_t span(const message_t *m, int side)
{
    return (size_t)m->units * (m->is_strided[side] ? 24 : 8);
}

static void fill(const message_t *m, char *at)
{
    unsigned char *host = malloc(span(m, 0) + 1);
    for (size_t i = 0; i < span(m, 0); i++) {
        size_t number = m->is_strided[0] ? i / 24 * 8 + i % 24 : i;
        bool is_gap = m->is_strided[0] && i % 24 >= 8;
        host[i] = is_gap ? 0xee : (unsigned char)(number * 3 + number / 251 + m->mark);
    }
    memory_put(at, host, span(m, 0));
    free(host);
}

static void check(const message_t *m, const char *at)
{
    unsigned char *host = malloc(span(m, 1) + 1);
    size_t wrong = 0;
    memory_get(host, at, span(m, 1));
    for (int unit = 0; unit < m->units; unit++) {
        for (int i = 0; i < 8; i++) {
            size_t number = (size_t)unit * 8 + (size_t)i;
            unsigned char got = host[(size_t)unit * (m->is_strided[1] ? 24 : 8) + (size_t)i];
            wrong += got != (unsigned char)(number * 3 + number / 251 + m->mark);
        }
    }
    if (wrong > 0) {
        fprintf(stderr, "rank %d: %d units of %d (%s) for %s\n", expect_rank, m->units, m->from,
                memory_names[m->kind[0]], memory_names[m->kind[1]]);
        EXPECT(wrong, 0);
    }
    free(host);
}

static MPI_Datatype type_of(const message_t *m, int side)
{
    return m->is_strided[side] ? strided : MPI_INT64_T;
}

static char *places[2][MOST];
static MPI_Request requests[2 * MOST];

static void send_all(int *count)
{
    for (int i = 0; i < message_count; i++) {
        const message_t *m = &messages[i];
        if (m->from != expect_rank)
            continue;
        if (m->is_synchronous)
            MPI_Issend(places[0][i], m->units, type_of(m, 0), m->to, m->tag, MPI_COMM_WORLD,
                       &requests[(*count)++]);
        else
            MPI_Isend(places[0][i], m->units, type_of(m, 0), m->to, m->tag, MPI_COMM_WORLD,
                      &requests[(*count)++]);
    }
}

static void receive_all(int *count)
{
    for (int i = 0; i < message_count; i++) {
        const message_t *m = &messages[i];
        if (m->to == expect_rank)
            MPI_Irecv(places[1][i], m->units, type_of(m, 1), m->from, m->tag, MPI_COMM_WORLD,
                      &requests[(*count)++]);
    }
}

static void wait_all(int count)
{
    for (int left = count; left > 0; left--) {
        int index;
        MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE);
    }
}

static void run_round(bool sends_first)
{
    int count = 0;
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < MEMORY_KINDS; i++)
            arenas[side][i].used = 0;
    }
    for (int i = 0; i < message_count; i++) {
        message_t *m = &messages[i];
        if (m->from == expect_rank)
            fill(m, places[0][i] = part_of(&arenas[0][m->kind[0]], m->kind[0], span(m, 0)));
        if (m->to == expect_rank)
            places[1][i] = part_of(&arenas[1][m->kind[1]], m->kind[1], span(m, 1));
    }
    if (sends_first)
        send_all(&count);
    receive_all(&count);
    if (!sends_first)
        send_all(&count);
    wait_all(count);
    for (int i = 0; i < message_count; i++) {
        if (messages[i].to == expect_rank)
            check(&messages[i], places[1][i]);
    }
}

/* Ranks may send short messages to each other before they receive, as with host memory. */
static void send_before_receive(void)
{
    memory_t out = memory_take(DEVICE, 40), in = memory_take(DEVICE, 40);
    message_t m = {.units = 5, .mark = 9};
    int next = (expect_rank + 1) % expect_size;
    int previous = (expect_rank + expect_size - 1) % expect_size;
    fill(&m, out.at);
    MPI_Send(out.at, m.units, MPI_INT64_T, next, 4, MPI_COMM_WORLD);
    MPI_Recv(in.at, m.units, MPI_INT64_T, previous, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(&m, in.at);
    memory_give(&out);
    memory_give(&in);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin();
    memory_begin(expect_rank);
    state = (uint64_t)(argc > 1 ? atoi(argv[1]) : 1);
    int rounds = argc > 2 ? atoi(argv[2]) : 10, count = argc > 3 ? atoi(argv[3]) : 40;
    MPI_Type_create_resized(MPI_INT64_T, 0, 24, &strided);
    MPI_Type_commit(&strided);
    for (int round = 0; round < rounds; round++) {
        draw_messages(count < MOST ? count : MOST);
        run_round(round % 2 == 0);
        if (argc <= 4)
            send_before_receive();
    }
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < MEMORY_KINDS; i++) {
            if (arenas[side][i].memory.at != NULL)
                memory_give(&arenas[side][i].memory);
        }
    }
    MPI_Type_free(&strided);
    int failures = expect_end();
    memory_end();
    return failures;
}
