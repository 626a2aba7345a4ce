/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random nested types against their type maps: type_stress [seed [rounds [first round]]].
 *
 * In each round all ranks draw the same type, the same count and the same data. Each packs them in
 * several calls and unpacks them in others; then they go around the ring of ranks three times: as
 * the type at both ends, and with MPI_PACKED at one of them, which matches any type (MPI 5.0,
 * section 5.2). The lengths go from nothing to beyond every eager limit. TEST_MEMORY says where
 * buffers are. A failure prints the arguments that repeat its round alone.
 */
#include "../expect.h"
#include "datatype/arena.h"
#include "../memory_kinds.h"

typedef struct trial {
    unsigned long long seed, round;
    model_t model;
    MPI_Datatype type;
    size_t count, total;          /* elements, and bytes of data */
    arena_t arena;                /* the data, in host memory */
    unsigned char *stream;        /* the same, packed */
    unsigned char *back, *result; /* what is to be in a receive buffer, and what was in one */
    bool overlaps;                /* nothing may be received so */
} trial_t;

static void fail_trial(const trial_t *trial, const char *what)
{
    if (++expect_failures <= 10)
        fprintf(stderr, "rank %d of %d: %s; repeat: type_stress %llu 1 %llu\n", expect_rank,
                expect_size, what, trial->seed, trial->round);
}

/* The memory that a call works on, filled with `fill`. */
typedef struct place {
    char kind;
    unsigned char *memory;
    size_t bytes;
} place_t;

static place_t take_place(const void *fill, size_t bytes)
{
    place_t place = {memory_next_kind(), NULL, bytes};
    place.memory = memory_take(place.kind, bytes + 1);
    memory_put(place.kind, place.memory, fill, bytes);
    return place;
}

static void give_place(const place_t *place, void *result)
{
    if (result != NULL)
        memory_get(place->kind, result, place->memory, place->bytes);
    memory_give(place->kind, place->memory);
}

static void *at_of(const trial_t *trial, const place_t *place)
{
    return (void *)((uintptr_t)place->memory - (uintptr_t)trial->arena.low);
}

static void *element_at(const trial_t *trial, const place_t *place, size_t index)
{
    ptrdiff_t extent = trial->model.ub - trial->model.lb;
    return (void *)((uintptr_t)at_of(trial, place) + (uintptr_t)((ptrdiff_t)index * extent));
}

/* ---- what is drawn ---- */

static size_t draw_count(const model_t *model)
{
    static const size_t limits[] = {0, 60, 2000, 70000, 300000};
    size_t limit = limits[model_random(5)], extent = (size_t)labs((long)(model->ub - model->lb));
    return (size_t)model_random(40) == 0 ? 0 : 1 + limit / (model->bytes + 1 + extent / 8);
}

static void open_trial(trial_t *trial, unsigned long long seed, unsigned long long round)
{
    *trial = (trial_t){.seed = seed, .round = round};
    model_seed = seed * 1000003 + round;
    trial->model = model_random_type(model_random(5));
    trial->type = weft_type_handle(trial->model.type);
    MPI_Type_commit(&trial->type);
    trial->count = draw_count(&trial->model);
    trial->total = trial->count * trial->model.bytes;
    trial->arena = make_arena(&trial->model, trial->count);
    trial->overlaps = overlaps(&trial->model, trial->count, &trial->arena);
    trial->stream = malloc(trial->total + 1);
    trial->back = malloc(trial->arena.bytes);
    trial->result = malloc(trial->arena.bytes + trial->total);
    memset(trial->back, 0x5a, trial->arena.bytes);
    for (size_t i = 0; i < trial->total; i++) {
        ptrdiff_t place = place_of(&trial->model, i) - trial->arena.low;
        trial->stream[i] = trial->arena.memory[place];
        trial->back[place] = trial->stream[i];
    }
}

static void close_trial(trial_t *trial)
{
    free(trial->arena.memory);
    free(trial->stream);
    free(trial->back);
    free(trial->result);
    model_free(&trial->model);
}

static void check_stream(const trial_t *trial, const unsigned char *got, const char *what)
{
    if (trial->total > 0 && memcmp(got, trial->stream, trial->total) != 0)
        fail_trial(trial, what);
}

static void check_back(const trial_t *trial, const char *what)
{
    if (memcmp(trial->result, trial->back, trial->arena.bytes) != 0)
        fail_trial(trial, what);
}

static place_t take_target(const trial_t *trial)
{
    memset(trial->result, 0x5a, trial->arena.bytes);
    return take_place(trial->result, trial->arena.bytes);
}

/* ---- packing ---- */

/* Some of the elements that are left: all of them in a few calls. */
static int draw_some(size_t left)
{
    return model_random(3) == 0 ? (int)left : model_random((int)left + 1);
}

static void check_pack(const trial_t *trial)
{
    place_t typed = take_place(trial->arena.memory, trial->arena.bytes);
    int position = 0;
    memset(trial->result, 0, trial->total);
    place_t packed = take_place(trial->result, trial->total);
    for (size_t done = 0; done < trial->count;) {
        int some = draw_some(trial->count - done);
        MPI_Pack(element_at(trial, &typed, done), some, trial->type, packed.memory,
                 (int)trial->total, &position, MPI_COMM_WORLD);
        done += (size_t)some;
        if ((size_t)position != done * trial->model.bytes)
            fail_trial(trial, "the position after MPI_Pack is wrong");
    }
    give_place(&packed, trial->result);
    give_place(&typed, NULL);
    check_stream(trial, trial->result, "MPI_Pack gives other bytes");
}

static void check_unpack(const trial_t *trial)
{
    place_t packed = take_place(trial->stream, trial->total), typed = take_target(trial);
    MPI_Count position = 0;
    for (size_t done = 0; done < trial->count;) {
        int some = draw_some(trial->count - done);
        MPI_Unpack_c(packed.memory, (MPI_Count)trial->total, &position,
                     element_at(trial, &typed, done), some, trial->type, MPI_COMM_WORLD);
        done += (size_t)some;
    }
    if ((size_t)position != trial->total)
        fail_trial(trial, "the position after MPI_Unpack is wrong");
    give_place(&typed, trial->result);
    give_place(&packed, NULL);
    check_back(trial, "MPI_Unpack writes other bytes");
}

/* ---- messages ---- */

/* One side of a message. */
typedef struct message_side {
    void *buf;
    int count;
    MPI_Datatype type;
} message_side_t;

static MPI_Status move(const message_side_t *from, const message_side_t *to)
{
    int next = (expect_rank + 1) % expect_size;
    int previous = (expect_rank + expect_size - 1) % expect_size;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    bool is_late = model_random(2) != 0; /* for all ranks: the messages are unexpected */
    if (!is_late)
        MPI_Irecv(to->buf, to->count, to->type, previous, 1, MPI_COMM_WORLD, &requests[0]);
    if (model_random(4) == 0)
        MPI_Issend(from->buf, from->count, from->type, next, 1, MPI_COMM_WORLD, &requests[1]);
    else
        MPI_Isend(from->buf, from->count, from->type, next, 1, MPI_COMM_WORLD, &requests[1]);
    if (is_late)
        MPI_Irecv(to->buf, to->count, to->type, previous, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Waitall(2, requests, statuses);
    return statuses[0];
}

static void check_status(const trial_t *trial, MPI_Status *status)
{
    MPI_Count count, elements, expected = 0;
    MPI_Get_count_c(status, trial->type, &count);
    MPI_Get_elements_c(status, trial->type, &elements);
    for (size_t i = 0; i < trial->model.bytes; i++)
        expected += trial->model.ends_basic[i];
    if (elements != expected * (MPI_Count)trial->count)
        fail_trial(trial, "MPI_Get_elements is wrong");
    if (trial->total > 0 && count != (MPI_Count)trial->count)
        fail_trial(trial, "MPI_Get_count is wrong");
}

/* The type at both ends; sometimes there is room for more. */
static void check_typed_message(const trial_t *trial)
{
    place_t source = take_place(trial->arena.memory, trial->arena.bytes),
            target = take_target(trial);
    message_side_t from = {at_of(trial, &source), (int)trial->count, trial->type},
                   to = {at_of(trial, &target), (int)trial->count + model_random(2), trial->type};
    MPI_Status status = move(&from, &to);
    give_place(&source, NULL);
    give_place(&target, trial->result);
    check_back(trial, "a message brings other bytes");
    check_status(trial, &status);
}

static void check_packed_arrival(const trial_t *trial)
{
    memset(trial->result, 0, trial->total);
    place_t source = take_place(trial->arena.memory, trial->arena.bytes),
            target = take_place(trial->result, trial->total);
    message_side_t from = {at_of(trial, &source), (int)trial->count, trial->type},
                   to = {target.memory, (int)trial->total, MPI_PACKED};
    move(&from, &to);
    give_place(&source, NULL);
    give_place(&target, trial->result);
    check_stream(trial, trial->result, "a message received as MPI_PACKED has other bytes");
}

static void check_packed_departure(const trial_t *trial)
{
    place_t source = take_place(trial->stream, trial->total), target = take_target(trial);
    message_side_t from = {source.memory, (int)trial->total, MPI_PACKED},
                   to = {at_of(trial, &target), (int)trial->count, trial->type};
    MPI_Status status = move(&from, &to);
    give_place(&source, NULL);
    give_place(&target, trial->result);
    check_back(trial, "a message sent as MPI_PACKED brings other bytes");
    check_status(trial, &status);
}

/* A type is refused for receives only if its data really overlap; nothing has to be received. */
static void check_refusal(const trial_t *trial)
{
    MPI_Request request;
    if (trial->model.type->can_receive)
        return;
    arena_t arena = make_arena(&trial->model, 1);
    if (!overlaps(&trial->model, 1, &arena))
        fail_trial(trial, "the type is said to have overlapping entries");
    free(arena.memory);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    EXPECT_ERROR(
        MPI_Irecv(trial->result, 1, trial->type, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &request),
        MPI_ERR_TYPE);
    EXPECT(MPI_Recv(trial->result, 0, trial->type, MPI_PROC_NULL, 1, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE),
           MPI_SUCCESS);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void try_type(unsigned long long seed, unsigned long long round)
{
    trial_t trial;
    open_trial(&trial, seed, round);
    check_pack(&trial);
    check_packed_arrival(&trial);
    check_refusal(&trial);
    if (!trial.overlaps && trial.model.type->can_receive) {
        check_unpack(&trial);
        check_typed_message(&trial);
        check_packed_departure(&trial);
    }
    close_trial(&trial);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin();
    memory_begin(expect_rank);
    unsigned long long seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    unsigned long long rounds = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000;
    unsigned long long first = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
    for (unsigned long long round = first; round < first + rounds; round++)
        try_type(seed, round);
    return expect_end();
}
