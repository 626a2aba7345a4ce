/* SPDX-License-Identifier: BSD-3-Clause */
/* Actors of thread_pairs.c: calls that send nothing, on objects of the thread and on objects that
 * all threads share. */
#ifndef TEST_MPI_LOCAL_ACTORS_H
#define TEST_MPI_LOCAL_ACTORS_H

#include "stage.h"

static void combine_groups(stage_t *stage)
{
    MPI_Group all, even, odd, both;
    int first[1][3] = {{0, stage->size - 1, 2}}, result = -1, rank = -1, there = -1;
    MPI_Comm_group(stage->shared, &all);
    MPI_Group_range_incl(all, 1, first, &even);
    MPI_Group_difference(all, even, &odd);
    MPI_Group_union(odd, even, &both);
    MPI_Group_compare(both, all, &result);
    CHECK(stage, result != MPI_UNEQUAL, 1);
    MPI_Group_rank(all, &rank);
    MPI_Group_translate_ranks(all, 1, &rank, stage->rank % 2 ? odd : even, &there);
    CHECK(stage, there, stage->rank / 2);
    MPI_Group_free(&both);
    MPI_Group_free(&odd);
    MPI_Group_free(&even);
    MPI_Group_free(&all);
}

static void construct_types(stage_t *stage)
{
    MPI_Datatype pair, many, inner[2];
    int lengths[3] = {1, 3}, size = 0, counts[4] = {0};
    MPI_Aint places[2] = {0, 8}, lb, extent = 0, addresses[2];
    MPI_Type_create_struct(2, lengths, places, (MPI_Datatype[]){MPI_DOUBLE, MPI_INT}, &pair);
    MPI_Type_create_hvector(10, 2, 64, pair, &many);
    MPI_Type_commit(&many);
    MPI_Type_size(many, &size);
    CHECK(stage, size, 10 * 2 * 20);
    MPI_Type_get_extent(pair, &lb, &extent);
    CHECK(stage, extent, 24);
    MPI_Type_get_envelope(pair, &counts[0], &counts[1], &counts[2], &counts[3]);
    CHECK(stage, counts[3], MPI_COMBINER_STRUCT);
    MPI_Type_get_contents(pair, 3, 2, 2, lengths, addresses, inner);
    CHECK(stage, inner[0] == MPI_DOUBLE && inner[1] == MPI_INT && addresses[1] == 8, 1);
    MPI_Type_free(&pair);
    MPI_Type_free(&many);
}

static void pack_and_unpack(stage_t *stage)
{
    enum { BLOCKS = 200 };
    char packed[4 * BLOCKS + 64];
    MPI_Datatype gaps;
    MPI_Aint external = 0;
    int place = 0, wrong = 0;
    MPI_Type_vector(BLOCKS, 1, 3, MPI_INT, &gaps);
    MPI_Type_commit(&gaps);
    stage_fill(stage, stage->out, 3 * BLOCKS);
    memset(stage->in, 0, 3 * BLOCKS * sizeof(int));
    MPI_Pack(stage->out, 1, gaps, packed, sizeof(packed), &place, stage->shared);
    CHECK(stage, place, 4 * BLOCKS);
    place = 0;
    MPI_Unpack(packed, sizeof(packed), &place, stage->in, 1, gaps, stage->shared);
    for (int i = 0; i < 3 * BLOCKS; i += 3)
        wrong += stage->in[i] != stage->out[i];
    MPI_Pack_external("external32", stage->out, 1, gaps, packed, sizeof(packed), &external);
    external = 0;
    memset(stage->in, 0, 3 * BLOCKS * sizeof(int));
    MPI_Unpack_external("external32", packed, sizeof(packed), &external, stage->in, 1, gaps);
    for (int i = 0; i < 3 * BLOCKS; i += 3)
        wrong += stage->in[i] != stage->out[i];
    CHECK(stage, wrong, 0);
    MPI_Type_free(&gaps);
}

static void multiply(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *length; i++)
        ((int *)inout)[i] *= ((const int *)in)[i];
}

static void reduce_locally(stage_t *stage)
{
    int in[3] = {2, 3, 4}, out[3] = {5, 6, 7}, commutes = -1;
    MPI_Op op;
    MPI_Op_create(multiply, 1, &op);
    MPI_Op_commutative(op, &commutes);
    CHECK(stage, commutes, 1);
    MPI_Reduce_local(in, out, 3, MPI_INT, op);
    MPI_Reduce_local(in, out, 3, MPI_INT, MPI_SUM);
    CHECK(stage, out[0] == 12 && out[1] == 21 && out[2] == 32, 1);
    MPI_Op_free(&op);
}

/* ---- info, names, error handlers ---- */

static void check_key(stage_t *stage, MPI_Info info, const char *key, const char *expected)
{
    char value[64] = "";
    int length = sizeof(value), flag = 0;
    MPI_Info_get_string(info, key, &length, value, &flag);
    CHECK(stage, flag, 1);
    CHECK(stage, strcmp(value, expected), 0);
}

static void note_infos(stage_t *stage)
{
    MPI_Info info, copy;
    int keys = -1;
    char value[32];
    snprintf(value, sizeof(value), "%d of %d", stage->rank, stage->slot);
    MPI_Info_create(&info);
    MPI_Info_set(info, "who", value);
    MPI_Info_set(info, "mpi_assert_no_any_tag", "false");
    MPI_Info_dup(info, &copy);
    MPI_Info_delete(info, "who");
    MPI_Info_get_nkeys(info, &keys);
    CHECK(stage, keys, 1);
    check_key(stage, copy, "who", value);
    MPI_Comm_set_info(stage->own, info);
    MPI_Info_free(&copy);
    MPI_Info_free(&info);
    MPI_Comm_get_info(stage->shared, &info);
    MPI_Info_free(&info);
    MPI_Comm_get_info(stage->own, &info);
    MPI_Info_free(&info);
    check_key(stage, MPI_INFO_ENV, "thread_level", "MPI_THREAD_MULTIPLE");
}

static void give_names(stage_t *stage)
{
    char name[MPI_MAX_OBJECT_NAME] = "", own[32];
    MPI_Datatype type;
    int length = 0;
    snprintf(own, sizeof(own), "thread %d", stage->slot);
    MPI_Comm_set_name(stage->own, own);
    MPI_Comm_get_name(stage->own, name, &length);
    CHECK(stage, strcmp(name, own), 0);
    /* All threads give the same name to what they share. */
    MPI_Comm_set_name(stage->shared, "shared");
    MPI_Comm_get_name(stage->shared, name, &length);
    CHECK(stage, strcmp(name, "shared"), 0);
    MPI_Type_dup(MPI_INT, &type);
    MPI_Type_set_name(type, own);
    MPI_Type_get_name(type, name, &length);
    CHECK(stage, strcmp(name, own), 0);
    MPI_Type_free(&type);
}

static _Thread_local int errors_handled;

static void note_error(MPI_Comm *comm, int *code, ...)
{
    char text[MPI_MAX_ERROR_STRING];
    int length = 0, rank;
    errors_handled++;
    MPI_Comm_rank(*comm, &rank);
    MPI_Error_string(*code, text, &length);
}

/* The handler runs in the thread whose call has failed, and nowhere else. */
static void raise_errors(stage_t *stage)
{
    MPI_Errhandler handler, old;
    MPI_Comm comm;
    MPI_Comm_create_errhandler(note_error, &handler);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_get_errhandler(comm, &old);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Errhandler_free(&handler);
    errors_handled = 0;
    CHECK_CLASS(stage, MPI_Send(stage->out, 1, MPI_INT, 1, 0, comm), MPI_ERR_RANK);
    CHECK_CLASS(stage, MPI_Bcast(stage->out, 1, MPI_INT, 3, comm), MPI_ERR_ROOT);
    MPI_Comm_call_errhandler(comm, MPI_ERR_TOPOLOGY);
    CHECK(stage, errors_handled, 3);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    CHECK_CLASS(stage, MPI_Send(stage->out, -1, MPI_INT, 0, 0, comm), MPI_ERR_COUNT);
    CHECK(stage, errors_handled, 3);
    MPI_Comm_set_errhandler(comm, old);
    MPI_Errhandler_free(&old);
    MPI_Comm_free(&comm);
}

/* A message that is too long, in two calls that report it differently. */
static void truncate_message(stage_t *stage)
{
    MPI_Request request;
    MPI_Status status;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Isend(stage->out, 4, MPI_INT, 0, 0, comm, &request);
    CHECK_CLASS(stage, MPI_Recv(stage->in, 2, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE),
                MPI_ERR_TRUNCATE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Irecv(stage->in, 2, MPI_INT, 0, 0, comm, &request);
    MPI_Send(stage->out, 4, MPI_INT, 0, 0, comm);
    CHECK_CLASS(stage, MPI_Waitall(1, &request, &status), MPI_ERR_IN_STATUS);
    CHECK_CLASS(stage, status.MPI_ERROR, MPI_ERR_TRUNCATE);
    MPI_Comm_free(&comm);
}

static void add_error_codes(stage_t *stage)
{
    int error_class = -1, code = -1, of_code = -1, length;
    char text[MPI_MAX_ERROR_STRING] = "";
    MPI_Add_error_class(&error_class);
    MPI_Add_error_code(error_class, &code);
    MPI_Add_error_string(code, "it rains");
    MPI_Error_class(code, &of_code);
    CHECK(stage, of_code, error_class);
    MPI_Error_string(code, text, &length);
    CHECK(stage, strcmp(text, "it rains"), 0);
    MPI_Remove_error_string(code);
    MPI_Remove_error_code(code);
    MPI_Remove_error_class(error_class);
}

/* ---- attributes ---- */

static int copy_counted(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    int rank;
    (void)keyval;
    MPI_Comm_rank(comm, &rank);
    ++*(int *)extra;
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete_counted(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm, (void)keyval, (void)extra;
    ++*(int *)value;
    return MPI_SUCCESS;
}

static void attach_attributes(stage_t *stage)
{
    int keyval, copies = 0, deleted = 0, flag = 0, *value = NULL, *bound = NULL;
    MPI_Comm self, copy;
    MPI_Comm_create_keyval(copy_counted, delete_counted, &keyval, &copies);
    MPI_Comm_dup(MPI_COMM_SELF, &self);
    MPI_Comm_set_attr(self, keyval, &deleted);
    MPI_Comm_dup(self, &copy);
    CHECK(stage, copies, 1);
    MPI_Comm_get_attr(copy, keyval, &value, &flag);
    CHECK(stage, flag && value == &deleted, 1);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&self);
    CHECK(stage, deleted, 2);
    /* On what all threads share, under a key of its own. */
    MPI_Comm_set_attr(stage->shared, keyval, &deleted);
    MPI_Comm_get_attr(stage->shared, keyval, &value, &flag);
    CHECK(stage, flag && value == &deleted, 1);
    MPI_Comm_delete_attr(stage->shared, keyval);
    CHECK(stage, deleted, 3);
    MPI_Comm_free_keyval(&keyval);
    MPI_Comm_get_attr(stage->shared, MPI_TAG_UB, &bound, &flag);
    CHECK(stage, flag && *bound >= 32767, 1);
}

static void attach_to_types(stage_t *stage)
{
    int keyval, value = 7, *got = NULL, flag = 0;
    MPI_Datatype type;
    MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, &keyval, NULL);
    MPI_Type_dup(MPI_FLOAT, &type);
    MPI_Type_set_attr(type, keyval, &value);
    MPI_Type_get_attr(type, keyval, &got, &flag);
    CHECK(stage, flag && got == &value, 1);
    MPI_Type_delete_attr(type, keyval);
    MPI_Type_free(&type);
    MPI_Type_free_keyval(&keyval);
}

/* ---- what else may be called at any time ---- */

static void change_status(stage_t *stage)
{
    MPI_Status status;
    MPI_Count elements = -1;
    int got = -1, flag = -1;
    memset(&status, 0, sizeof(status));
    MPI_Status_set_elements(&status, MPI_INT, 9);
    MPI_Status_set_cancelled(&status, 1);
    MPI_Status_set_source(&status, 3);
    MPI_Status_get_source(&status, &got);
    CHECK(stage, got, 3);
    MPI_Get_count(&status, MPI_INT, &got);
    CHECK(stage, got, 9);
    MPI_Get_elements_c(&status, MPI_INT, &elements);
    CHECK(stage, elements, 9);
    MPI_Test_cancelled(&status, &flag);
    CHECK(stage, flag, 1);
}

static void ask_library(stage_t *stage)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING], host[MPI_MAX_PROCESSOR_NAME];
    int length = 0, flag = 0, level = -1, is_main = -1;
    int *memory = NULL;
    MPI_Get_library_version(text, &length);
    MPI_Get_processor_name(host, &length);
    MPI_Initialized(&flag);
    CHECK(stage, flag, 1);
    MPI_Finalized(&flag);
    CHECK(stage, flag, 0);
    MPI_Query_thread(&level);
    CHECK(stage, level, MPI_THREAD_MULTIPLE);
    MPI_Is_thread_main(&is_main);
    CHECK(stage, is_main, 0);
    MPI_Alloc_mem(1000, MPI_INFO_NULL, &memory);
    memory[249] = stage->rank;
    MPI_Free_mem(memory);
    CHECK(stage, MPI_Wtime() > 0 && MPI_Wtick() > 0, 1);
    CHECK(stage, MPI_Comm_fromint(MPI_Comm_toint(stage->own)) == stage->own, 1);
    CHECK(stage, MPI_Type_fromint(MPI_Type_toint(MPI_INT)) == MPI_INT, 1);
}

static const actor_t local_actors[] = {
    {"combine_groups", combine_groups, 1},   {"construct_types", construct_types, 1},
    {"pack_and_unpack", pack_and_unpack, 1}, {"reduce_locally", reduce_locally, 1},
    {"note_infos", note_infos, 1},           {"give_names", give_names, 1},
    {"raise_errors", raise_errors, 1},       {"truncate_message", truncate_message, 1},
    {"add_error_codes", add_error_codes, 1}, {"attach_attributes", attach_attributes, 1},
    {"attach_to_types", attach_to_types, 1}, {"change_status", change_status, 1},
    {"ask_library", ask_library, 1},
};

#endif
