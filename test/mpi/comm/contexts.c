/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * contexts STEPS [THREADED]: communicators are made and freed in STEPS steps, out of each other, by
 * all functions that make them, and then THREADED times by each of several threads. No two that are
 * live at a rank have the same context; members have the same one, also when it takes them several
 * rounds to agree; and in the end all are free.
 *
 * All ranks go through the same random steps. A slot holds one communicator at each rank, or none
 * where the rank is no member; disjoint groups may have different ones in a slot.
 */
#include "../expect.h"

#include "comm/context_agree.h"
#include "object/comm.h"
#include "object/group.h"
#include "runtime/lock.h"
#include "base/fail.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

enum { SLOTS = 24, AT_ONCE = 4, CHECK_EVERY = 64, THREADS = 3 };

static MPI_Comm slots[SLOTS];
static int made; /* at this rank */

static unsigned next_random(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static uint32_t context_of(MPI_Comm comm)
{
    return weft_comm_of(comm)->context;
}

/* The communicator gets the slot, and is compared with all others. */
static void put(int slot, MPI_Comm comm)
{
    slots[slot] = comm;
    if (comm == MPI_COMM_NULL)
        return;
    made++;
    EXPECT(context_of(comm) % 2, 0);
    EXPECT(context_of(comm) > 2, 1);
    for (int i = 0; i < SLOTS; i++) {
        if (i != slot && slots[i] != MPI_COMM_NULL)
            EXPECT(context_of(slots[i]) == context_of(comm), 0);
    }
}

static void free_slot(int slot)
{
    if (slots[slot] != MPI_COMM_NULL)
        MPI_Comm_free(&slots[slot]);
}

/* ---- steps ---- */

static void duplicate(MPI_Comm parent, int slot, unsigned choice)
{
    MPI_Comm copy;
    (void)choice;
    MPI_Comm_dup(parent, &copy);
    put(slot, copy);
}

static void split(MPI_Comm parent, int slot, unsigned choice)
{
    MPI_Comm part;
    int rank;
    MPI_Comm_rank(parent, &rank);
    unsigned color = (choice >> rank % 16) % 3;
    MPI_Comm_split(parent, color == 2 ? MPI_UNDEFINED : (int)color, (int)(choice % 2) * -rank,
                   &part);
    put(slot, part);
}

static MPI_Group random_group(MPI_Comm parent, unsigned choice)
{
    MPI_Group all, part;
    int size, count = 0, *ranks;
    MPI_Comm_size(parent, &size);
    MPI_Comm_group(parent, &all);
    ranks = malloc((size_t)size * sizeof(*ranks));
    for (int i = 0; i < size; i++) {
        int rank = (i + (int)(choice % 64)) % size; /* in an order of its own */
        if ((choice >> rank % 16 & 1) != 0)
            ranks[count++] = rank;
    }
    MPI_Group_incl(all, count, ranks, &part);
    free(ranks);
    MPI_Group_free(&all);
    return part;
}

static void create_group(MPI_Comm parent, int slot, unsigned choice)
{
    MPI_Group part = random_group(parent, choice);
    MPI_Comm comm = MPI_COMM_NULL;
    int rank;
    MPI_Group_rank(part, &rank);
    if (rank != MPI_UNDEFINED)
        MPI_Comm_create_group(parent, part, (int)(choice >> 4 & 1) * 0x7ffffff0, &comm);
    MPI_Group_free(&part);
    put(slot, comm);
}

static void create(MPI_Comm parent, int slot, unsigned choice)
{
    MPI_Group part = random_group(parent, choice);
    MPI_Comm comm;
    MPI_Comm_create(parent, part, &comm);
    MPI_Group_free(&part);
    put(slot, comm);
}

/* Several copies at once, and a collective among them. */
static void idup(MPI_Comm parent, int slot, unsigned choice)
{
    MPI_Comm copies[AT_ONCE];
    MPI_Request requests[AT_ONCE], reduction;
    int rank, one = 1, sum, size;
    MPI_Comm_rank(parent, &rank);
    MPI_Comm_size(parent, &size);
    for (int i = 0; i < AT_ONCE; i++) {
        if (i == (int)(choice % AT_ONCE))
            MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, parent, &reduction);
        MPI_Comm_idup(parent, &copies[i], &requests[i]);
    }
    /* Each rank waits in another order. */
    for (int i = 0; i < AT_ONCE; i++)
        MPI_Wait(&requests[(i + rank) % AT_ONCE], MPI_STATUS_IGNORE);
    MPI_Wait(&reduction, MPI_STATUS_IGNORE);
    EXPECT(sum, size);
    for (int i = 0; i < AT_ONCE; i++) {
        put(slot, copies[i]);
        for (int j = 0; j < i; j++)
            EXPECT(context_of(copies[i]) == context_of(copies[j]), 0);
    }
    for (int i = 0; i < AT_ONCE - 1; i++)
        MPI_Comm_free(&copies[i]);
}

/* Copies of all communicators at once; each rank begins them in an order of its own. */
static void copy_all(void)
{
    MPI_Comm copies[SLOTS];
    MPI_Request requests[SLOTS];
    for (int i = 0; i < SLOTS; i++) {
        int slot = expect_rank % 2 == 0 ? i : SLOTS - 1 - i;
        requests[slot] = MPI_REQUEST_NULL;
        if (slots[slot] != MPI_COMM_NULL)
            MPI_Comm_idup(slots[slot], &copies[slot], &requests[slot]);
    }
    MPI_Waitall(SLOTS, requests, MPI_STATUSES_IGNORE);
    for (int slot = 0; slot < SLOTS; slot++) {
        if (slots[slot] == MPI_COMM_NULL)
            continue;
        free_slot(slot);
        put(slot, copies[slot]);
    }
}

/* ---- messages on all live communicators, sent in one order, received in the other ---- */

static void begin_ring(int slot, int sent[2], MPI_Request *request)
{
    int rank, size;
    MPI_Comm_rank(slots[slot], &rank);
    MPI_Comm_size(slots[slot], &size);
    sent[0] = slot;
    sent[1] = (int)context_of(slots[slot]);
    MPI_Isend(sent, 2, MPI_INT, (rank + 1) % size, 0, slots[slot], request);
}

static void check_slots(void)
{
    static int sent[SLOTS][2], got[2];
    MPI_Request requests[SLOTS];
    for (int i = 0; i < SLOTS; i++) {
        requests[i] = MPI_REQUEST_NULL;
        if (slots[i] != MPI_COMM_NULL)
            begin_ring(i, sent[i], &requests[i]);
    }
    for (int i = SLOTS - 1; i >= 0; i--) {
        if (slots[i] == MPI_COMM_NULL)
            continue;
        MPI_Recv(got, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, slots[i], MPI_STATUS_IGNORE);
        EXPECT(got[0], i);
        EXPECT(got[1], (int)context_of(slots[i]));
    }
    MPI_Waitall(SLOTS, requests, MPI_STATUSES_IGNORE);
}

static void make_many(int steps)
{
    static void (*const kinds[])(MPI_Comm, int, unsigned) = {duplicate, split, create_group, create,
                                                             idup};
    unsigned state = 1;
    for (int step = 0; step < steps; step++) {
        int slot = (int)(next_random(&state) % SLOTS),
            from = (int)(next_random(&state) % (2 * SLOTS));
        unsigned choice = next_random(&state), kind = next_random(&state) % 5;
        MPI_Comm parent = from < SLOTS && from != slot ? slots[from] : MPI_COMM_WORLD;
        free_slot(slot);
        if (parent != MPI_COMM_NULL)
            kinds[kind](parent, slot, choice);
        if (step % CHECK_EVERY == 0)
            check_slots();
        if (step % (CHECK_EVERY * 4) == 0)
            copy_all();
    }
}

/* The first rank meets each other one in turn, with one tag. */
static void make_pairs(int rounds)
{
    MPI_Group all, pair;
    uint32_t before = WEFT_NO_CONTEXT;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    for (int i = 0; expect_size > 1 && i < rounds; i++) {
        int ranks[] = {0, 1 + i % (expect_size - 1)};
        MPI_Comm comm;
        if (expect_rank != ranks[0] && expect_rank != ranks[1])
            continue;
        MPI_Group_incl(all, 2, ranks, &pair);
        MPI_Comm_create_group(MPI_COMM_WORLD, pair, 3, &comm);
        EXPECT(context_of(comm) == before, 0);
        before = context_of(comm);
        made++;
        MPI_Comm_free(&comm);
        MPI_Group_free(&pair);
    }
    MPI_Group_free(&all);
}

/* ---- a member that fails ---- */

static int make_failing(int who)
{
    weft_members_t members = {.parent = &weft_comm_world, .rank = expect_rank, .size = expect_size};
    weft_comm_t *comm = NULL;
    int err = MPI_SUCCESS;
    weft_lock();
    weft_creation_t creation = wefti_creation_next(&weft_comm_world);
    if (expect_rank == who)
        err = weft_fail(MPI_ERR_NO_MEM, "no memory at rank %d", who);
    err = wefti_comm_make(&members, &creation, weft_comm_world.group, err, &comm);
    weft_unlock();
    EXPECT(comm == NULL, 1);
    return err;
}

static void fail_together(void)
{
    static const char others_failure[] =
        "another member of the new communicator has failed to make it";
    char own_failure[40];
    size_t before = weft_contexts.count;
    for (int who = 0; who < expect_size; who++) {
        EXPECT(make_failing(who), expect_rank == who ? MPI_ERR_NO_MEM : MPI_ERR_OTHER);
        snprintf(own_failure, sizeof(own_failure), "no memory at rank %d", who);
        EXPECT_TEXT(weft_fail_text(), expect_rank == who ? own_failure : others_failure);
        EXPECT(weft_contexts.count, before);
    }
}

/* ---- several rounds: at each rank some of the contexts that would come first are taken ---- */

enum { CROWDED = 60, PLACES = 6 };

/* Take them, or give them back. */
static void crowd(uint64_t seed, uint32_t from, bool is_taking)
{
    unsigned state = (unsigned)seed * 31 + (unsigned)expect_rank;
    for (uint32_t place = from; place < from + PLACES; place++) {
        uint32_t context = wefti_context_at(seed, place);
        if (next_random(&state) % 2 != 0)
            continue;
        EXPECT(weft_context_set_has(&weft_contexts, context), !is_taking);
        if (is_taking)
            weft_context_set_add(&weft_contexts, context);
        else
            weft_context_set_remove(&weft_contexts, context);
    }
}

static void check_same(MPI_Comm comm)
{
    long long mine = context_of(comm), both[2] = {mine, -mine}, most[2];
    MPI_Allreduce(both, most, 2, MPI_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
    EXPECT(most[0], mine);
    EXPECT(most[1], -mine);
}

static void copy_in_crowd(void)
{
    MPI_Comm copies[CROWDED];
    MPI_Request requests[CROWDED];
    weft_creation_t creations[CROWDED];
    uint32_t number = weft_comm_world.creations;
    for (int i = 0; i < CROWDED; i++) {
        creations[i] = wefti_creation_next(&weft_comm_world);
        crowd(creations[i].seed, 0, true);
    }
    weft_comm_world.creations = number;
    for (int i = 0; i < CROWDED; i++) {
        requests[i] = MPI_REQUEST_NULL;
        if (i % 3 == 0)
            MPI_Comm_dup(MPI_COMM_WORLD, &copies[i]);
        else
            MPI_Comm_idup(MPI_COMM_WORLD, &copies[i], &requests[i]);
    }
    MPI_Waitall(CROWDED, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < CROWDED; i++) {
        check_same(copies[i]);
        MPI_Comm_free(&copies[i]);
        crowd(creations[i].seed, 0, false);
    }
}

static void create_in_crowd(void)
{
    MPI_Group all;
    weft_members_t members = {.parent = &weft_comm_world, .rank = expect_rank, .size = expect_size};
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    for (int i = 0; i < CROWDED; i++) {
        MPI_Comm comm;
        weft_creation_t creation = wefti_creation_of(&members, i % 5);
        uint32_t from = *creation.next_place;
        crowd(creation.seed, from, true);
        MPI_Comm_create_group(MPI_COMM_WORLD, all, i % 5, &comm);
        check_same(comm);
        MPI_Comm_free(&comm);
        crowd(creation.seed, from, false);
    }
    MPI_Group_free(&all);
}

/* ---- threads ---- */

static MPI_Comm own[THREADS];
static int wrong[THREADS], threaded;

static void pass_on(MPI_Comm comm, int thread)
{
    int rank, size, out[2] = {thread, (int)context_of(comm)}, got[2] = {-1, -1};
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Sendrecv(out, 2, MPI_INT, (rank + 1) % size, 0, got, 2, MPI_INT, MPI_ANY_SOURCE, 0, comm,
                 MPI_STATUS_IGNORE);
    wrong[thread] += got[0] != out[0] || got[1] != out[1];
}

static void *make_in_thread(void *argument)
{
    int thread = (int)(long)argument;
    MPI_Group all;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    for (int i = 0; i < threaded; i++) {
        MPI_Comm comms[4];
        MPI_Request request;
        MPI_Comm_idup(own[thread], &comms[0], &request);
        MPI_Comm_dup(own[thread], &comms[1]);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Comm_split(comms[1], expect_rank % 2, 0, &comms[2]);
        MPI_Comm_create_group(MPI_COMM_WORLD, all, thread, &comms[3]);
        for (int j = 0; j < 4; j++)
            pass_on(comms[j], thread);
        for (int j = 0; j < 4; j++)
            MPI_Comm_free(&comms[(j + i) % 4]);
    }
    MPI_Group_free(&all);
    return NULL;
}

static void make_in_threads(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &own[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, make_in_thread, (void *)(long)i);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        EXPECT(wrong[i], 0);
        MPI_Comm_free(&own[i]);
    }
}

int main(int argc, char **argv)
{
    int granted, steps = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 1000;
    threaded = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0;
    MPI_Init_thread(NULL, NULL, threaded > 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &granted);
    expect_begin();
    size_t before = weft_contexts.count;
    for (int i = 0; i < SLOTS; i++)
        slots[i] = MPI_COMM_NULL;
    make_many(steps);
    for (int i = 0; i < SLOTS; i++)
        free_slot(i);
    make_pairs(steps / 4);
    EXPECT(weft_contexts.count, before);
    fail_together();
    copy_in_crowd();
    create_in_crowd();
    if (threaded > 0)
        make_in_threads();
    EXPECT(weft_contexts.count, before);
    EXPECT(made >= steps / 4, 1);
    return expect_end();
}
