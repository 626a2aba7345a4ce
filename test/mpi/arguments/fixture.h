/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the cases of every_function.c are made of: valid values for every argument, and handles that
 * are none. All memory that a function gets as an argument is in `at`, so that one comparison shows
 * whether a failed call has changed anything.
 */
#ifndef TEST_MPI_ARGUMENTS_FIXTURE_H
#define TEST_MPI_ARGUMENTS_FIXTURE_H

#include "../expect.h"

#include <mpix.h>

#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRIES = 16, LETTERS = 1024, PARTITIONS = 4, LONG_TEXT = 2048 };

#define NUMBER          ((void *)0x7ff)
#define OTHER_THAN_COMM ((void *)info)
#define OTHER_THAN_INFO ((void *)comm)
#define HUGE_COUNT      (INT64_MAX / 2)

/* An array of each type of numbers. */
#define OF_EACH_TYPE(name)                                                                         \
    int name##_int[ENTRIES];                                                                       \
    MPI_Count name##_MPI_Count[ENTRIES];                                                           \
    MPI_Aint name##_MPI_Aint[ENTRIES]

typedef struct places {
    char in[LETTERS], out[LETTERS], text[LETTERS], changed[LETTERS];
    OF_EACH_TYPE(zeros);
    OF_EACH_TYPE(ones);
    OF_EACH_TYPE(fours);
    OF_EACH_TYPE(steps);
    int blocks[ENTRIES], defaults[ENTRIES], results[ENTRIES], ranges[1][3], length, comm_key,
        type_key;
    int position_int;
    MPI_Count position_MPI_Count;
    MPI_Aint position_MPI_Aint;
    MPI_Datatype types[ENTRIES], type_results[ENTRIES];
    MPI_Aint addresses[ENTRIES];
    MPI_Count large_counts[ENTRIES];
    MPI_Status status[2];
    MPI_Request request, requests[2];
    MPI_Message message;
    MPI_Comm comm;
    MPI_Group group;
    MPI_Info info;
    MPI_Op op;
    MPI_Datatype type;
    MPI_Errhandler handler;
    MPI_Session session;
    void *a_pointer;
    int a_int;
    MPI_Count a_MPI_Count;
    MPI_Aint a_MPI_Aint;
    MPI_Comm a_MPI_Comm;
    MPI_Datatype a_MPI_Datatype;
    MPI_Errhandler a_MPI_Errhandler;
    MPI_Group a_MPI_Group;
    MPI_Info a_MPI_Info;
    MPI_Message a_MPI_Message;
    MPI_Op a_MPI_Op;
    MPI_Request a_MPI_Request;
    MPI_Session a_MPI_Session;
    MPIX_Stream a_MPIX_Stream;
} places_t;

static places_t pristine, at, was; /* as each case finds it; as it is; as it must stay */

static int rank, size, next, previous;
static MPI_Comm comm, cart, line, graph, dist_graph, alone, inter = MPI_COMM_NULL, freed_comm;
static MPI_Group group, own_group, next_group, freed_group;
static MPI_Info info, freed_info;
static MPI_Op freed_op;
static MPI_Datatype fresh_type, made_type, made_type_c, freed_type;
static MPI_Errhandler handler, session_handler, freed_handler;
static MPI_Session session, freed_session;
static MPI_Request psend_request, precv_request, grequest;
static int comm_key, type_key, user_code;
static char long_text[LONG_TEXT];
static char *arguments[] = {(char *)"program", NULL};

/* ---- the program's functions ---- */

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static void add_c(void *in, void *inout, MPI_Count *count, MPI_Datatype *type)
{
    int narrow = (int)*count;
    add(in, inout, &narrow, type);
}

static int query(void *state, MPI_Status *status)
{
    (void)state;
    MPI_Status_set_elements(status, MPI_INT, 0);
    return MPI_SUCCESS;
}

static int release(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}

static int cancel(void *state, int is_complete)
{
    (void)state, (void)is_complete;
    return MPI_SUCCESS;
}

/* ---- what error handlers have heard ---- */

typedef struct heard {
    int times, code;
    const void *handle; /* of the last call; MPI_COMM_SELF for those of no object */
    char function[64], text[512];
} heard_t;

static heard_t heard;

const char *weft_fail_text(void); /* base/fail.h: what an abort would print */

static void note(const void *handle, int code, const char *function)
{
    heard.times++;
    heard.code = code;
    heard.handle = handle;
    snprintf(heard.function, sizeof(heard.function), "%s", function);
    snprintf(heard.text, sizeof(heard.text), "%s", weft_fail_text());
}

static void note_comm_error(MPI_Comm *which, int *code, ...)
{
    va_list rest;
    va_start(rest, code);
    note(*which, *code, va_arg(rest, const char *));
    va_end(rest);
}

static void note_session_error(MPI_Session *which, int *code, ...)
{
    va_list rest;
    va_start(rest, code);
    note(*which, *code, va_arg(rest, const char *));
    va_end(rest);
}

/* ---- making all that ---- */

static inline void make_handlers(void)
{
    MPI_Comm_create_errhandler(note_comm_error, &handler);
    MPI_Session_create_errhandler(note_session_error, &session_handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Session_init(MPI_INFO_NULL, session_handler, &session);
}

static inline void make_topologies(void)
{
    const int zero = 0, one = 1, dims[1] = {size};
    int index[ENTRIES], edges[ENTRIES];
    for (int i = 0; i < size; i++) {
        index[i] = i + 1;
        edges[i] = (i + 1) % size;
    }
    MPI_Cart_create(comm, 1, dims, &one, 0, &cart);
    MPI_Cart_create(comm, 1, dims, &zero, 0, &line);
    MPI_Graph_create(comm, size, index, edges, 0, &graph);
    MPI_Dist_graph_create_adjacent(comm, 1, &previous, &one, 1, &next, &one, MPI_INFO_NULL, 0,
                                   &dist_graph);
}

/* Each rank is the leader of a group of its own: others only hear that their leader failed. */
static inline void make_groups(void)
{
    MPI_Comm half;
    MPI_Comm_group(comm, &group);
    MPI_Group_incl(group, 1, &rank, &own_group);
    MPI_Group_incl(group, 1, &next, &next_group);
    MPI_Comm_split(comm, rank, 0, &alone);
    MPI_Comm_split(comm, rank > 0, 0, &half);
    if (size > 1)
        MPI_Intercomm_create(half, 0, comm, rank == 0, 7, &inter);
    MPI_Comm_free(&half);
}

static inline void make_types(void)
{
    const int ones[2] = {1, 1};
    const MPI_Aint steps[2] = {0, 8};
    const MPI_Count wide_ones[2] = {1, 1}, wide_steps[2] = {0, 8};
    MPI_Type_contiguous(2, MPI_INT, &fresh_type);
    MPI_Type_create_hindexed(2, ones, steps, MPI_INT, &made_type);
    MPI_Type_create_hindexed_c(2, wide_ones, wide_steps, MPI_INT, &made_type_c);
}

static inline void make_requests(void)
{
    MPI_Psend_init(at.in, PARTITIONS, 1, MPI_INT, next, 1, comm, MPI_INFO_NULL, &psend_request);
    MPI_Precv_init(at.out, PARTITIONS, 1, MPI_INT, previous, 1, comm, MPI_INFO_NULL,
                   &precv_request);
    MPI_Start(&psend_request);
    MPI_Start(&precv_request);
    MPI_Grequest_start(query, release, cancel, NULL, &grequest);
    for (int i = 0; i < 2; i++)
        MPI_Recv_init(pristine.out, 1, MPI_INT, previous, 2, comm, &pristine.requests[i]);
    pristine.request = pristine.requests[0];
    MPI_Request sent;
    MPI_Isend(at.in, 0, MPI_INT, next, 4, comm, &sent);
    MPI_Mprobe(previous, 4, comm, &pristine.message, MPI_STATUS_IGNORE);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
}

static inline void make_attributes(void)
{
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &comm_key, NULL);
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &type_key, NULL);
    MPI_Comm_set_attr(comm, comm_key, NULL);
    MPI_Add_error_code(MPI_ERR_OTHER, &user_code);
    MPI_Add_error_string(user_code, "the program's");
    MPI_Info_create(&info);
    MPI_Info_set(info, "key", "value");
    memset(long_text, 'x', sizeof(long_text) - 1);
}

/* Handles of objects that are gone: no object of their kinds is made after them. */
static inline void free_some(void)
{
    MPI_Comm a_comm;
    MPI_Group a_group;
    MPI_Info an_info;
    MPI_Op an_op;
    MPI_Datatype a_type;
    MPI_Errhandler a_handler;
    MPI_Session a_session;
    MPI_Comm_dup(comm, &a_comm);
    MPI_Group_incl(group, 1, pristine.zeros_int, &a_group);
    MPI_Info_create(&an_info);
    MPI_Op_create(add, 1, &an_op);
    MPI_Type_dup(made_type, &a_type);
    MPI_Comm_create_errhandler(note_comm_error, &a_handler);
    MPI_Session_init(MPI_INFO_NULL, session_handler, &a_session);
    freed_comm = a_comm;
    freed_group = a_group;
    freed_info = an_info;
    freed_op = an_op;
    freed_type = a_type;
    freed_handler = a_handler;
    freed_session = a_session;
    MPI_Comm_free(&a_comm);
    MPI_Group_free(&a_group);
    MPI_Info_free(&an_info);
    MPI_Op_free(&an_op);
    MPI_Type_free(&a_type);
    MPI_Errhandler_free(&a_handler);
    MPI_Session_finalize(&a_session);
}

static inline void fill_arrays(void)
{
    places_t *p = &pristine;
    memset(p, 0x5a, sizeof(*p));
    memset(p->zeros_int, 0, sizeof(p->zeros_int));
    memset(p->zeros_MPI_Count, 0, sizeof(p->zeros_MPI_Count));
    memset(p->zeros_MPI_Aint, 0, sizeof(p->zeros_MPI_Aint));
    for (int i = 0; i < ENTRIES; i++) {
        p->ones_int[i] = p->ones_MPI_Count[i] = p->ones_MPI_Aint[i] = 1;
        p->fours_int[i] = p->fours_MPI_Count[i] = p->fours_MPI_Aint[i] = 4;
        p->steps_int[i] = p->steps_MPI_Count[i] = p->steps_MPI_Aint[i] = i;
        p->blocks[i] = MPI_DISTRIBUTE_BLOCK;
        p->defaults[i] = MPI_DISTRIBUTE_DFLT_DARG;
        p->types[i] = MPI_INT;
    }
    memset(p->ranges, 0, sizeof(p->ranges));
    p->ranges[0][2] = 1;
    p->length = 8;
    p->position_int = p->position_MPI_Count = p->position_MPI_Aint = 0;
}

static inline void make_fixture(void)
{
    rank = expect_rank;
    size = expect_size;
    next = (rank + 1) % size;
    previous = (rank + size - 1) % size;
    fill_arrays();
    make_handlers();
    make_topologies();
    make_groups();
    make_types();
    make_attributes();
    make_requests();
    MPI_Op_create(add, 1, &pristine.op);
    free_some();
    pristine.comm = comm;
    pristine.group = group;
    pristine.info = info;
    pristine.handler = handler;
    pristine.session = session;
    pristine.type = fresh_type;
    pristine.comm_key = comm_key;
    pristine.type_key = type_key;
}

/* ---- taking it apart ---- */

static inline void end_requests(void)
{
    MPI_Pready_range(0, PARTITIONS - 1, psend_request);
    MPI_Wait(&psend_request, MPI_STATUS_IGNORE);
    MPI_Wait(&precv_request, MPI_STATUS_IGNORE);
    MPI_Request_free(&psend_request);
    MPI_Request_free(&precv_request);
    MPI_Grequest_complete(grequest);
    MPI_Wait(&grequest, MPI_STATUS_IGNORE);
    MPI_Request_free(&pristine.requests[0]);
    MPI_Request_free(&pristine.requests[1]);
    MPI_Mrecv(at.out, 0, MPI_INT, &pristine.message, MPI_STATUS_IGNORE);
}

static inline void free_fixture(void)
{
    MPI_Comm *comms[] = {&cart, &line, &graph, &dist_graph, &alone, &inter, &comm};
    MPI_Group *groups[] = {&group, &own_group, &next_group};
    MPI_Datatype *types[] = {&fresh_type, &made_type, &made_type_c};
    end_requests();
    for (size_t i = 0; i < sizeof(comms) / sizeof(comms[0]); i++) {
        if (*comms[i] != MPI_COMM_NULL)
            MPI_Comm_free(comms[i]);
    }
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
        MPI_Group_free(groups[i]);
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        MPI_Type_free(types[i]);
    MPI_Info_free(&info);
    MPI_Op_free(&pristine.op);
    MPI_Comm_free_keyval(&comm_key);
    MPI_Type_free_keyval(&type_key);
    MPI_Remove_error_string(user_code);
    MPI_Remove_error_code(user_code);
    MPI_Session_finalize(&session);
    MPI_Errhandler_free(&session_handler);
    MPI_Errhandler_free(&handler);
}

#endif
