/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packing of derived datatypes, beside the loop that a programmer would write by hand:
 * pack_<layout> and unpack_<layout>, with one of the layouts below. Sizes are bytes of data.
 *
 * First column: data per second. Second: the time of MPI divided by that of the loop; the two are
 * timed in turns. Every rank does the same, by itself.
 *
 *   vector4, vector8   every other int, or double, of a row
 *   vector24           three doubles of every four
 *   face               a face of a cube: blocks of two doubles, in rows, in planes
 *   particles          an array of struct { double x[3]; float charge; char kind; }
 *   pairs              an array of struct { short number; double value; }
 *   listed             three doubles at each of a list of places
 *   ragged             1 to 7 doubles at each of a list of places
 *   two_vectors        an array of structs of two vectors: 4 of 8 floats, and 2 of 4 doubles
 */
#include "bench.h"

#include <mpi.h>

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The loops are as quick as the compiler can make them. */
#ifndef __clang__
#pragma GCC optimize("O3")
#endif

enum { NAME_BYTES = 40, PLANE_ROWS = 8, ROW_DOUBLES = 8, TURNS = 8 };

typedef struct pack_bench pack_bench_t;

/* One repetition of a layout, the unit, has unit_bytes of data in `spacing` bytes of memory. */
typedef struct memory_layout {
    const char *name;
    size_t unit_bytes, spacing;
    MPI_Datatype (*make)(const pack_bench_t *p);
    void (*pack)(const pack_bench_t *p, char *typed, char *stream);
    void (*unpack)(const pack_bench_t *p, char *typed, char *stream);
} memory_layout_t;

struct pack_bench {
    const memory_layout_t *layout;
    bool unpacks;
    int units;
    int *places, *lengths; /* [units] of listed and ragged: in doubles */
    char *typed, *stream;
    size_t stream_bytes;
    MPI_Datatype type;
    double loop_us; /* of one iteration */
};

/* ---- the loops ---- */

#define TO_STREAM(typed, stream, bytes)   memcpy(stream, typed, bytes)
#define FROM_STREAM(typed, stream, bytes) memcpy(typed, stream, bytes)

/* A loop in both directions; it moves data by MOVE. */
#define LOOP(name, BODY)                                                                           \
    static void pack_##name(const pack_bench_t *p, char *typed, char *stream)                      \
    {                                                                                              \
        BODY(TO_STREAM)                                                                            \
    }                                                                                              \
    static void unpack_##name(const pack_bench_t *p, char *typed, char *stream)                    \
    {                                                                                              \
        BODY(FROM_STREAM)                                                                          \
    }

#define EVERY_OTHER_INT(MOVE)                                                                      \
    for (size_t i = 0; i < (size_t)p->units; i++)                                                  \
        MOVE(typed + 8 * i, stream + 4 * i, 4);
#define EVERY_OTHER_DOUBLE(MOVE)                                                                   \
    for (size_t i = 0; i < (size_t)p->units; i++)                                                  \
        MOVE(typed + 16 * i, stream + 8 * i, 8);
#define THREE_OF_FOUR(MOVE)                                                                        \
    for (size_t i = 0; i < (size_t)p->units; i++)                                                  \
        MOVE(typed + 32 * i, stream + 24 * i, 24);
#define ROWS_OF_PLANES(MOVE)                                                                       \
    for (size_t i = 0; i < (size_t)p->units; i++, typed += 2 * PLANE_ROWS * ROW_DOUBLES * 8)       \
        for (size_t row = 0; row < PLANE_ROWS; row++, stream += 16)                                \
            MOVE(typed + 8 * ROW_DOUBLES * row, stream, 16);

LOOP(vector4, EVERY_OTHER_INT)
LOOP(vector8, EVERY_OTHER_DOUBLE)
LOOP(vector24, THREE_OF_FOUR)
LOOP(face, ROWS_OF_PLANES)

typedef struct particle {
    double x[3];
    float charge;
    char kind;
} particle_t;

#define MEMBERS_OF_PARTICLES(MOVE)                                                                 \
    particle_t *at = (particle_t *)(void *)typed;                                                  \
    for (int i = 0; i < p->units; i++, at++, stream += 29) {                                       \
        MOVE((char *)at->x, stream, 24);                                                           \
        MOVE((char *)&at->charge, stream + 24, 4);                                                 \
        MOVE((char *)&at->kind, stream + 28, 1);                                                   \
    }

typedef struct pair {
    short number;
    double value;
} pair_t;

#define MEMBERS_OF_PAIRS(MOVE)                                                                     \
    pair_t *at = (pair_t *)(void *)typed;                                                          \
    for (int i = 0; i < p->units; i++, at++, stream += 10) {                                       \
        MOVE((char *)&at->number, stream, 2);                                                      \
        MOVE((char *)&at->value, stream + 2, 8);                                                   \
    }

#define PLACES(MOVE)                                                                               \
    for (int i = 0; i < p->units; i++, stream += 24)                                               \
        MOVE(typed + 8 * (size_t)p->places[i], stream, 24);

#define RUNS(MOVE)                                                                                 \
    for (int i = 0; i < p->units; i++)                                                             \
        for (int j = 0; j < p->lengths[i]; j++, stream += 8)                                       \
            MOVE(typed + 8 * (size_t)(p->places[i] + j), stream, 8);

/* 4 of 8 floats, then 2 of 4 doubles. */
typedef struct grids {
    float fine[8];
    double coarse[4];
} grids_t;

#define BOTH_VECTORS(MOVE)                                                                         \
    grids_t *at = (grids_t *)(void *)typed;                                                        \
    for (int i = 0; i < p->units; i++, at++, stream += 32) {                                       \
        for (int j = 0; j < 4; j++)                                                                \
            MOVE((char *)&at->fine[2 * j], stream + 4 * j, 4);                                     \
        for (int j = 0; j < 2; j++)                                                                \
            MOVE((char *)&at->coarse[2 * j], stream + 16 + 8 * j, 8);                              \
    }

LOOP(particles, MEMBERS_OF_PARTICLES)
LOOP(pairs, MEMBERS_OF_PAIRS)
LOOP(listed, PLACES)
LOOP(ragged, RUNS)
LOOP(two_vectors, BOTH_VECTORS)

/* ---- the types ---- */

static MPI_Datatype vector_of(int units, int length, int stride, MPI_Datatype old)
{
    MPI_Datatype type;
    MPI_Type_vector(units, length, stride, old, &type);
    return type;
}

static MPI_Datatype make_vector4(const pack_bench_t *p)
{
    return vector_of(p->units, 1, 2, MPI_INT);
}

static MPI_Datatype make_vector8(const pack_bench_t *p)
{
    return vector_of(p->units, 1, 2, MPI_DOUBLE);
}

static MPI_Datatype make_vector24(const pack_bench_t *p)
{
    return vector_of(p->units, 3, 4, MPI_DOUBLE);
}

/* A cube of units * 2 planes; every other plane is taken. */
static MPI_Datatype make_face(const pack_bench_t *p)
{
    MPI_Datatype type, plane = vector_of(PLANE_ROWS, 2, ROW_DOUBLES, MPI_DOUBLE);
    MPI_Type_create_hvector(p->units, 1, 2 * PLANE_ROWS * ROW_DOUBLES * 8, plane, &type);
    MPI_Type_free(&plane);
    return type;
}

/* `units` of a struct of `count` members. */
static MPI_Datatype array_of(const pack_bench_t *p, int count, const int *lengths,
                             const MPI_Aint *places, const MPI_Datatype *types)
{
    MPI_Datatype members, element, type;
    MPI_Type_create_struct(count, lengths, places, types, &members);
    MPI_Type_create_resized(members, 0, (MPI_Aint)p->layout->spacing, &element);
    MPI_Type_contiguous(p->units, element, &type);
    MPI_Type_free(&members);
    MPI_Type_free(&element);
    return type;
}

static MPI_Datatype make_particles(const pack_bench_t *p)
{
    static const int lengths[] = {3, 1, 1};
    static const MPI_Aint places[] = {offsetof(particle_t, x), offsetof(particle_t, charge),
                                      offsetof(particle_t, kind)};
    const MPI_Datatype types[] = {MPI_DOUBLE, MPI_FLOAT, MPI_CHAR};
    return array_of(p, 3, lengths, places, types);
}

static MPI_Datatype make_pairs(const pack_bench_t *p)
{
    static const int lengths[] = {1, 1};
    static const MPI_Aint places[] = {offsetof(pair_t, number), offsetof(pair_t, value)};
    const MPI_Datatype types[] = {MPI_SHORT, MPI_DOUBLE};
    return array_of(p, 2, lengths, places, types);
}

static MPI_Datatype make_two_vectors(const pack_bench_t *p)
{
    static const int lengths[] = {1, 1};
    static const MPI_Aint places[] = {offsetof(grids_t, fine), offsetof(grids_t, coarse)};
    MPI_Datatype parts[] = {vector_of(4, 1, 2, MPI_FLOAT), vector_of(2, 1, 2, MPI_DOUBLE)};
    MPI_Datatype type = array_of(p, 2, lengths, places, parts);
    MPI_Type_free(&parts[0]);
    MPI_Type_free(&parts[1]);
    return type;
}

static MPI_Datatype make_listed(const pack_bench_t *p)
{
    MPI_Datatype type;
    MPI_Type_create_indexed_block(p->units, 3, p->places, MPI_DOUBLE, &type);
    return type;
}

static MPI_Datatype make_ragged(const pack_bench_t *p)
{
    MPI_Datatype type;
    MPI_Type_indexed(p->units, p->lengths, p->places, MPI_DOUBLE, &type);
    return type;
}

static const memory_layout_t layouts[] = {
    {"vector4", 4, 8, make_vector4, pack_vector4, unpack_vector4},
    {"vector8", 8, 16, make_vector8, pack_vector8, unpack_vector8},
    {"vector24", 24, 32, make_vector24, pack_vector24, unpack_vector24},
    {"face", 128, 1024, make_face, pack_face, unpack_face},
    {"particles", 29, sizeof(particle_t), make_particles, pack_particles, unpack_particles},
    {"pairs", 10, sizeof(pair_t), make_pairs, pack_pairs, unpack_pairs},
    {"listed", 24, 64, make_listed, pack_listed, unpack_listed},
    {"ragged", 32, 64, make_ragged, pack_ragged, unpack_ragged}, /* on average */
    {"two_vectors", 32, sizeof(grids_t), make_two_vectors, pack_two_vectors, unpack_two_vectors},
};
enum { LAYOUTS = sizeof(layouts) / sizeof(layouts[0]) };

/* ---- running ---- */

/* Where the entries of a list are: each within 64 bytes of its own, in order. */
static void place_entries(pack_bench_t *p)
{
    size_t bytes = (size_t)p->units * sizeof(int);
    p->places = malloc(bytes);
    p->lengths = malloc(bytes);
    if (p->places == NULL || p->lengths == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    unsigned random = 1;
    for (int i = 0; i < p->units; i++) {
        random = random * 1103515245 + 12345;
        p->lengths[i] = 1 + (int)(random >> 16) % 7;
        p->places[i] = 8 * i + (p->lengths[i] < 5 ? (int)(random >> 24) % 4 : 0);
    }
}

static void prepare(bench_t *bench, size_t bytes)
{
    pack_bench_t *p = bench->own;
    size_t units = bytes / p->layout->unit_bytes;
    p->units = units == 0 ? 1 : (int)units;
    place_entries(p);
    p->type = p->layout->make(p);
    MPI_Type_commit(&p->type);
    int size;
    MPI_Type_size(p->type, &size);
    p->stream_bytes = (size_t)size;
    p->typed = bench_buffer(bench, (size_t)p->units * p->layout->spacing, 1);
    p->stream = bench_buffer(bench, p->stream_bytes, 2);
}

static void release(bench_t *bench)
{
    pack_bench_t *p = bench->own;
    MPI_Type_free(&p->type);
    free(p->places);
    free(p->lengths);
}

static double time_loop(const pack_bench_t *p, int iterations)
{
    double begin_us = bench_now_us();
    for (int i = 0; i < iterations; i++) {
        (p->unpacks ? p->layout->unpack : p->layout->pack)(p, p->typed, p->stream);
        __asm__ volatile("" ::: "memory"); /* none of it is left out */
    }
    return bench_now_us() - begin_us;
}

static double time_mpi(const pack_bench_t *p, int iterations)
{
    double begin_us = bench_now_us();
    for (int i = 0; i < iterations; i++) {
        int position = 0, room = (int)p->stream_bytes;
        if (p->unpacks)
            MPI_Unpack(p->stream, room, &position, p->typed, 1, p->type, MPI_COMM_SELF);
        else
            MPI_Pack(p->typed, 1, p->type, p->stream, room, &position, MPI_COMM_SELF);
    }
    return bench_now_us() - begin_us;
}

static double run(bench_t *bench, size_t bytes, int iterations)
{
    pack_bench_t *p = bench->own;
    (void)bytes;
    int each = iterations < TURNS ? 1 : iterations / TURNS;
    double loop_us = 0, mpi_us = 0;
    for (int i = 0; i < TURNS; i++) {
        loop_us += time_loop(p, each);
        mpi_us += time_mpi(p, each);
    }
    p->loop_us = loop_us / (each * TURNS);
    return mpi_us * iterations / (each * TURNS);
}

/* What MPI moves is what the loop moves. */
static size_t check(bench_t *bench, size_t bytes)
{
    pack_bench_t *p = bench->own;
    size_t typed_bytes = (size_t)p->units * p->layout->spacing, wrong = 0;
    size_t moved_bytes = p->unpacks ? typed_bytes : p->stream_bytes;
    char *source = p->unpacks ? p->stream : p->typed, *target = p->unpacks ? p->typed : p->stream;
    char *expected = malloc(moved_bytes);
    (void)bytes;
    if (expected == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (size_t i = 0; i < (p->unpacks ? p->stream_bytes : typed_bytes); i++)
        source[i] = (char)(i * 7 + i / 256);
    memset(target, 0, moved_bytes);
    time_loop(p, 1);
    memcpy(expected, target, moved_bytes);
    memset(target, 0, moved_bytes);
    time_mpi(p, 1);
    for (size_t i = 0; i < moved_bytes; i++)
        wrong += expected[i] != target[i];
    free(expected);
    return wrong;
}

static double megabytes_a_second(const bench_t *bench, size_t bytes, double us)
{
    const pack_bench_t *p = bench->own;
    (void)bytes;
    return (double)p->stream_bytes / us;
}

static double of_the_loop(const bench_t *bench, size_t bytes, double us)
{
    const pack_bench_t *p = bench->own;
    (void)bytes;
    return us / p->loop_us;
}

int main(int argc, char **argv)
{
    char own_names[2 * LAYOUTS][NAME_BYTES], name[NAME_BYTES + 8];
    const char *names[2 * LAYOUTS + 1] = {NULL};
    for (int i = 0; i < 2 * LAYOUTS; i++) {
        snprintf(own_names[i], NAME_BYTES, "%s_%s", i < LAYOUTS ? "pack" : "unpack",
                 layouts[i % LAYOUTS].name);
        names[i] = own_names[i];
    }
    int chosen = bench_choose(names, &argc, &argv);
    if (chosen < 0)
        return 2;
    pack_bench_t own = {.layout = &layouts[chosen % LAYOUTS], .unpacks = chosen >= LAYOUTS};
    snprintf(name, sizeof(name), "weft_%s", names[chosen]);
    bench_test_t test = {.name = name,
                         .column = "Bandwidth(MB/s)",
                         .second_column = "Time / loop",
                         .value = megabytes_a_second,
                         .second = of_the_loop,
                         .min_bytes = 1024,
                         .max_bytes = 1 << 20,
                         .unit = 1,
                         .min_ranks = 1,
                         .iterations = 4000,
                         .large_iterations = 400,
                         .prepare = prepare,
                         .run = run,
                         .check = check,
                         .release = release,
                         .own = &own};
    return bench_main(&test, 1, argc, argv);
}
