/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the tests of collectives: elements of two numbers in datatypes of several shapes,
 * buffers that are compared byte by byte with their expected contents (gaps and surroundings
 * included), and one text for all forms of a call.
 */
#ifndef TEST_MPI_ELEMENTS_H
#define TEST_MPI_ELEMENTS_H

#include "expect.h"
#include "memory_kinds.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct element {
    uint32_t a, b;
} element_t;

/* ---- datatypes of two MPI_UINT32_T ---- */

typedef struct kind {
    const char *name;
    MPI_Datatype type;
    MPI_Aint extent, a, b; /* offsets of the two numbers */
} kind_t;

enum { KINDS = 5, BACKGROUND = 0x5a };

static kind_t kinds[KINDS] = {
    {.name = "contiguous", .extent = 8, .a = 0, .b = 4},
    {.name = "vector", .extent = 12, .a = 0, .b = 8},
    {.name = "struct with a negative lower bound", .extent = 24, .a = 4, .b = 12},
    {.name = "shifted up", .extent = 8, .a = 4, .b = 8},
    {.name = "downwards", .extent = -8, .a = 0, .b = 4},
};

static inline void make_kinds(void)
{
    int ones[2] = {1, 1};
    MPI_Aint apart[2] = {4, 12}, shifted[2] = {4, 8};
    MPI_Datatype numbers[2] = {MPI_UINT32_T, MPI_UINT32_T}, raw;
    MPI_Type_contiguous(2, MPI_UINT32_T, &kinds[0].type);
    MPI_Type_vector(2, 1, 2, MPI_UINT32_T, &kinds[1].type);
    MPI_Type_create_struct(2, ones, apart, numbers, &raw);
    MPI_Type_create_resized(raw, -8, 24, &kinds[2].type);
    MPI_Type_free(&raw);
    MPI_Type_create_struct(2, ones, shifted, numbers, &raw);
    MPI_Type_create_resized(raw, 4, 8, &kinds[3].type);
    MPI_Type_free(&raw);
    MPI_Type_create_resized(kinds[0].type, 0, -8, &kinds[4].type);
    for (int i = 0; i < KINDS; i++)
        MPI_Type_commit(&kinds[i].type);
}

static inline void free_kinds(void)
{
    for (int i = 0; i < KINDS; i++)
        MPI_Type_free(&kinds[i].type);
}

static inline element_t load(const char *at, const kind_t *kind)
{
    element_t element;
    memcpy(&element.a, at + kind->a, sizeof(element.a));
    memcpy(&element.b, at + kind->b, sizeof(element.b));
    return element;
}

static inline void store(char *at, const kind_t *kind, element_t element)
{
    memcpy(at + kind->a, &element.a, sizeof(element.a));
    memcpy(at + kind->b, &element.b, sizeof(element.b));
}

/* Element `index` of what rank `from` has for rank `to`. */
static inline element_t content(int from, int to, size_t index)
{
    uint32_t seed =
        (uint32_t)from * 7919u + (uint32_t)to * 104729u + (uint32_t)index * 1299709u + 1;
    return (element_t){seed * 2654435761u | 1, seed * 40503u};
}

/* ---- buffers ---- */

/* A buffer begins in the middle of its memory: lower bounds and extents may be negative. */
typedef struct area {
    const kind_t *kind;
    char where;        /* a letter of memory_kinds.h */
    char *memory, *at; /* the buffer, of any kind of memory */
    char *content,
        /* in host memory: the contents at the beginning, and those expected at the end */
        *expected;
    size_t bytes;
} area_t;

static inline area_t area_make(const kind_t *kind, size_t elements)
{
    MPI_Aint stride = kind->extent < 0 ? -kind->extent : kind->extent;
    size_t up = elements * (size_t)stride + 64, down = kind->extent < 0 ? up : 64;
    area_t area = {.kind = kind, .where = memory_next_kind(), .bytes = down + up};
    area.memory = memory_take(area.where, area.bytes);
    area.content = malloc(area.bytes);
    area.expected = malloc(area.bytes);
    area.at = area.memory + down;
    memset(area.content, BACKGROUND, area.bytes);
    memset(area.expected, BACKGROUND, area.bytes);
    memory_put(area.where, area.memory, area.content, area.bytes);
    return area;
}

/* Elements [first, first + count) are in the buffer from the beginning, and must stay unchanged. */
static inline void area_fill(area_t *area, MPI_Aint first, size_t count, int from, int to)
{
    ptrdiff_t start = area->at - area->memory;
    for (size_t i = 0; i < count; i++) {
        MPI_Aint offset = start + (first + (MPI_Aint)i) * area->kind->extent;
        store(area->content + offset, area->kind, content(from, to, i));
        store(area->expected + offset, area->kind, content(from, to, i));
    }
    if (count > 0)
        memory_put(area->where, area->memory, area->content, area->bytes);
}

/* Elements [first, first + count) must be in the buffer at the end. */
static inline void area_expect(area_t *area, MPI_Aint first, size_t count, int from, int to)
{
    char *expected = area->expected + (area->at - area->memory);
    for (size_t i = 0; i < count; i++)
        store(expected + (first + (MPI_Aint)i) * area->kind->extent, area->kind,
              content(from, to, i));
}

static inline void area_expect_element(area_t *area, size_t index, element_t element)
{
    char *expected = area->expected + (area->at - area->memory);
    store(expected + (MPI_Aint)index * area->kind->extent, area->kind, element);
}

/* The name of the collective under test, for messages. */
static const char *test_name = "";
static int test_form, test_root;
static size_t test_count;

/* Compares and frees. */
static inline void area_end(area_t *area, const char *name)
{
    memory_get(area->where, area->content, area->memory, area->bytes);
    if (memcmp(area->content, area->expected, area->bytes) != 0 && ++expect_failures <= 10) {
        size_t i = 0;
        while (area->content[i] == area->expected[i])
            i++;
        fprintf(stderr,
                "rank %d of %d: %s, form %d, root %d, count %zu, %s, memory %c: byte %td of %s is "
                "0x%02x, "
                "not 0x%02x\n",
                expect_rank, expect_size, test_name, test_form, test_root, test_count,
                area->kind->name, area->where, area->memory + i - area->at, name,
                (unsigned char)area->content[i], (unsigned char)area->expected[i]);
    }
    memory_give(area->where, area->memory);
    free(area->content);
    free(area->expected);
}

/* ---- forms of a call ---- */

enum { BLOCKING, WAITED, TESTED, WIDE, WIDE_WAITED, PERSISTENT, WIDE_PERSISTENT, FORMS };

/* The form of the next call. It is the same on all ranks of a communicator, and all forms come up
 * in turn. */
static inline int next_form(void)
{
    static int calls;
    test_form = calls++ % FORMS;
    return test_form;
}

static inline void complete(MPI_Request *request)
{
    int is_over = 0;
    if (test_form != TESTED)
        MPI_Wait(request, MPI_STATUS_IGNORE);
    else
        while (!is_over)
            MPI_Test(request, &is_over, MPI_STATUS_IGNORE);
    EXPECT(*request == MPI_REQUEST_NULL, 1);
}

/* Runs a persistent request once. */
static inline void run_prepared(MPI_Request *request)
{
    EXPECT(MPI_Start(request), MPI_SUCCESS);
    EXPECT(MPI_Wait(request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT(*request != MPI_REQUEST_NULL, 1);
    EXPECT(MPI_Request_free(request), MPI_SUCCESS);
}

/* One call in the next form; `lower` is the name after MPI_I. NARROW and WIDE are the arguments in
 * brackets, which differ where there are arrays. */
#define OPEN(...) __VA_ARGS__
#define RUN_FORMS(name, lower, NARROW, WIDER)                                                      \
    do {                                                                                           \
        MPI_Request request;                                                                       \
        test_name = "MPI_" #name;                                                                  \
        switch (next_form()) {                                                                     \
        case BLOCKING:                                                                             \
            EXPECT(MPI_##name(OPEN NARROW), MPI_SUCCESS);                                          \
            break;                                                                                 \
        case WIDE:                                                                                 \
            EXPECT(MPI_##name##_c(OPEN WIDER), MPI_SUCCESS);                                       \
            break;                                                                                 \
        case WIDE_WAITED:                                                                          \
            EXPECT(MPI_I##lower##_c(OPEN WIDER, &request), MPI_SUCCESS);                           \
            complete(&request);                                                                    \
            break;                                                                                 \
        case PERSISTENT:                                                                           \
            EXPECT(MPI_##name##_init(OPEN NARROW, MPI_INFO_NULL, &request), MPI_SUCCESS);          \
            run_prepared(&request);                                                                \
            break;                                                                                 \
        case WIDE_PERSISTENT:                                                                      \
            EXPECT(MPI_##name##_init_c(OPEN WIDER, MPI_INFO_NULL, &request), MPI_SUCCESS);         \
            run_prepared(&request);                                                                \
            break;                                                                                 \
        default:                                                                                   \
            EXPECT(MPI_I##lower(OPEN NARROW, &request), MPI_SUCCESS);                              \
            complete(&request);                                                                    \
        }                                                                                          \
    } while (0)

/* ---- communicators ---- */

enum { COMMS = 3 };

/* The world, the world in reverse order, and the ranks of the same parity. */
static inline void make_comms(MPI_Comm comms[COMMS])
{
    comms[0] = MPI_COMM_WORLD;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -expect_rank, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, expect_rank % 2, expect_rank / 2, &comms[2]);
}

/* How often collectives of a count are tried on such a communicator: types and forms change with
 * each turn. Long ones take long, so beyond the world there is one turn. */
static inline int turns_of(size_t count, int comm_index)
{
    if (count >= 5000 && comm_index > 0)
        return 1;
    return count == 7 ? 10 : 3;
}

static inline void free_comms(MPI_Comm comms[COMMS])
{
    for (int i = 1; i < COMMS; i++)
        MPI_Comm_free(&comms[i]);
}

#endif
