/* SPDX-License-Identifier: BSD-3-Clause */
/* Datatypes and operations as far as they need no messages: forms, envelopes, errors, packing,
 * local reductions. */
#include <mpi.h>
#include <mpix.h>

#include <limits.h>
#include <stdio.h>
#include <string.h>

static int failures;

static void expect(long long got, long long expected, const char *what)
{
    if (got != expected) {
        fprintf(stderr, "%s is %lld, not %lld\n", what, got, expected);
        failures++;
    }
}

static void expect_class(int error, int expected, const char *what)
{
    int class;
    MPI_Error_class(error, &class);
    expect(class, expected, what);
}

static void test_sizes(void)
{
    MPI_Datatype huge, huger;
    MPI_Count wide, lb, extent;
    MPI_Aint address_lb, address_extent;
    int size;
    MPI_Type_contiguous(INT_MAX, MPI_DOUBLE, &huge);
    MPI_Type_contiguous_c((MPI_Count)1 << 33, MPI_CHAR, &huger);
    MPI_Type_size(huge, &size);
    expect(size, MPI_UNDEFINED, "size beyond an int");
    MPI_Type_size_x(huge, &wide);
    expect(wide, 8LL * INT_MAX, "size_x");
    MPI_Type_size_c(huger, &wide);
    expect(wide, 1LL << 33, "size_c");
    MPI_Type_get_extent(huge, &address_lb, &address_extent);
    expect(address_extent, 8LL * INT_MAX, "extent");
    MPI_Type_get_true_extent_c(huger, &lb, &extent);
    expect(extent, 1LL << 33, "true extent");
    MPI_Type_free(&huge);
    MPI_Type_free(&huger);
    expect(huge == MPI_DATATYPE_NULL, 1, "a freed handle");
}

static void test_contents(void)
{
    MPI_Datatype type, wide, inner[1];
    int integers[3], addresses_count, integers_count, types_count, combiner;
    MPI_Aint addresses[1];
    MPI_Count ni, na, nl, nd, large[3];
    MPI_Type_create_hvector(3, 2, 100, MPI_INT, &type);
    MPI_Type_get_envelope(type, &integers_count, &addresses_count, &types_count, &combiner);
    expect(integers_count, 2, "integers");
    expect(addresses_count, 1, "addresses");
    expect(types_count, 1, "types");
    expect(combiner, MPI_COMBINER_HVECTOR, "combiner");
    MPI_Type_get_contents(type, 2, 1, 1, integers, addresses, inner);
    expect(integers[1], 2, "block length");
    expect(addresses[0], 100, "stride");
    expect(inner[0] == MPI_INT, 1, "inner type");
    expect_class(MPI_Type_get_contents(type, 1, 1, 1, integers, addresses, inner), MPI_ERR_ARG,
                 "too little room");
    MPI_Type_create_hvector_c(3, 2, 100, type, &wide);
    MPI_Type_get_envelope_c(wide, &ni, &na, &nl, &nd, &combiner);
    expect(ni, 0, "integers of the wide form");
    expect(nl, 3, "large counts of the wide form");
    MPI_Type_get_contents_c(wide, ni, na, nl, nd, NULL, NULL, large, inner);
    expect(large[2], 100, "wide stride");
    expect(inner[0] == type, 1, "derived inner type");
    MPI_Type_free(&inner[0]);
    expect_class(
        MPI_Type_get_envelope(wide, &integers_count, &addresses_count, &types_count, &combiner),
        MPI_ERR_TYPE, "narrow envelope of a wide type");
    MPI_Type_free(&wide);
    MPI_Type_free(&type);
}

static void test_errors(void)
{
    MPI_Datatype type = MPI_INT, made;
    int size;
    char text[MPI_MAX_ERROR_STRING];
    expect_class(MPI_Type_size(MPI_DATATYPE_NULL, &size), MPI_ERR_TYPE, "size of null");
    expect_class(MPI_Type_free(&type), MPI_ERR_TYPE, "free of MPI_INT");
    expect_class(MPI_Type_contiguous(-1, MPI_INT, &made), MPI_ERR_COUNT, "negative count");
    int position = 0, in = 1;
    MPI_Type_vector(2, 1, 2, MPI_INT, &made);
    expect_class(MPI_Pack(&in, 1, made, text, 8, &position, MPI_COMM_WORLD), MPI_ERR_TYPE,
                 "uncommitted type");
    expect_class(MPI_Pack(&in, 1, MPI_INT, text, 3, &position, MPI_COMM_WORLD), MPI_ERR_TRUNCATE,
                 "little room to pack");
    expect_class(MPI_Reduce_local(&in, &size, 1, MPI_INT, MPI_MINLOC), MPI_ERR_OP, "MINLOC on INT");
    MPI_Type_free(&made);
}

static void test_packing(void)
{
    enum { ROWS = 5, COLUMNS = 7 };
    double matrix[ROWS][COLUMNS], column[ROWS], back[ROWS][COLUMNS];
    char packed[200];
    int position = 0, size;
    MPI_Datatype type;
    for (int i = 0; i < ROWS * COLUMNS; i++)
        matrix[i / COLUMNS][i % COLUMNS] = i;
    MPI_Type_vector(ROWS, 1, COLUMNS, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    MPI_Pack_size(1, type, MPI_COMM_WORLD, &size);
    expect(size, ROWS * 8, "pack size");
    MPI_Pack(&position, 1, MPI_INT, packed, sizeof(packed), &position, MPI_COMM_WORLD);
    MPI_Pack(&matrix[0][2], 1, type, packed, sizeof(packed), &position, MPI_COMM_WORLD);
    expect(position, 4 + ROWS * 8, "position");
    position = 4;
    MPI_Unpack(packed, sizeof(packed), &position, column, ROWS, MPI_DOUBLE, MPI_COMM_WORLD);
    memset(back, 0, sizeof(back));
    position = 4;
    MPI_Unpack(packed, sizeof(packed), &position, &back[0][2], 1, type, MPI_COMM_WORLD);
    for (int i = 0; i < ROWS; i++) {
        expect((long long)column[i], i * COLUMNS + 2, "column");
        expect((long long)back[i][2], i * COLUMNS + 2, "column unpacked");
        expect((long long)back[i][3], 0, "next to the column");
    }
    MPI_Type_free(&type);
}

static void test_names_and_numbers(void)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    MPI_Datatype type, pair;
    MPI_Type_get_name(MPI_UNSIGNED_LONG, name, &length);
    expect(strcmp(name, "MPI_UNSIGNED_LONG"), 0, "name of MPI_UNSIGNED_LONG");
    MPI_Type_get_name(MPIX_BFLOAT16, name, &length);
    expect(strcmp(name, "MPIX_BFLOAT16"), 0, "name of MPIX_BFLOAT16");
    expect(MPI_Type_fromint(MPI_Type_toint(MPIX_C_FLOAT16)) == MPIX_C_FLOAT16, 1,
           "half through int");
    MPI_Type_dup(MPI_FLOAT, &type);
    MPI_Type_get_name(type, name, &length);
    expect(length, 0, "length of no name");
    MPI_Type_set_name(type, "mine");
    MPI_Type_get_name(type, name, &length);
    expect(strcmp(name, "mine"), 0, "name");
    expect(MPI_Type_fromint(MPI_Type_toint(type)) == type, 1, "type through int");
    expect(MPI_Type_fromint(MPI_Type_toint(MPI_INT)) == MPI_INT, 1, "MPI_INT through int");
    expect(MPI_Op_fromint(MPI_Op_toint(MPI_SUM)) == MPI_SUM, 1, "MPI_SUM through int");
    MPI_Type_free(&type);
    MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &type);
    expect(type == MPI_REAL8, 1, "8-byte real");
    MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &pair);
    expect(pair == MPI_DOUBLE_INT, 1, "pair of double and int");
    MPI_Type_get_value_index(MPI_DOUBLE, MPI_DOUBLE, &pair);
    expect(pair == MPI_DATATYPE_NULL, 1, "pair of doubles");
}

static void subtract(void *in, void *inout, int *count, MPI_Datatype *datatype)
{
    int size;
    MPI_Type_size(*datatype, &size);
    expect(size, 4, "size within a function of the user's");
    for (int i = 0; i < *count; i++)
        ((int *)inout)[i] = ((int *)in)[i] - ((int *)inout)[i];
}

static void test_operations(void)
{
    int in[] = {5, 6, 7}, inout[] = {1, 9, 3}, commutes;
    MPI_Op op;
    MPI_Reduce_local(in, inout, 3, MPI_INT, MPI_MAX);
    expect(inout[0], 5, "max");
    expect(inout[1], 9, "max");
    MPI_Op_create(subtract, 0, &op);
    MPI_Op_commutative(op, &commutes);
    expect(commutes, 0, "commutes");
    MPI_Reduce_local(in, inout, 3, MPI_INT, op);
    expect(inout[1], -3, "difference");
    MPI_Op_free(&op);
    expect(op == MPI_OP_NULL, 1, "a freed operation");
    MPI_Op_commutative(MPI_SUM, &commutes);
    expect(commutes, 1, "commutes");
}

/* A status of `set` basic elements: what it is said to have, in every form of the calls. */
static void check_status_elements(MPI_Datatype type, int set, int count)
{
    MPI_Status status;
    MPI_Count wide;
    int narrow;
    MPI_Status_set_elements(&status, type, set);
    MPI_Get_elements(&status, type, &narrow);
    expect(narrow, set, "elements of a status");
    MPI_Get_count(&status, type, &narrow);
    expect(narrow, count, "count of a status");
    MPI_Status_set_elements(&status, type, 0);
    MPI_Status_set_elements_x(&status, type, set);
    MPI_Get_elements_x(&status, type, &wide);
    expect(wide, set, "elements_x of a status");
    MPI_Status_set_elements(&status, type, 0);
    MPI_Status_set_elements_c(&status, type, set);
    MPI_Get_elements_c(&status, type, &wide);
    expect(wide, set, "elements_c of a status");
    MPI_Get_count_c(&status, type, &wide);
    expect(wide, count, "count_c of a status");
}

static void test_status_elements(void)
{
    MPI_Datatype four, mixed, parts[] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT_INT};
    int counts[] = {3, 2, 1};
    MPI_Aint places[] = {0, 8, 24};
    MPI_Status status;
    MPI_Type_contiguous(4, MPI_INT, &four);
    MPI_Type_commit(&four);
    MPI_Type_create_struct(3, counts, places, parts, &mixed);
    MPI_Type_commit(&mixed);
    check_status_elements(four, 4, 1);
    check_status_elements(four, 12, 3);
    check_status_elements(four, 5, MPI_UNDEFINED);
    check_status_elements(MPI_INT, 4, 4);
    check_status_elements(MPI_DOUBLE_INT, 6, 3);
    check_status_elements(MPI_DOUBLE_INT, 7, MPI_UNDEFINED);
    check_status_elements(mixed, 14, 2);
    for (int partial = 1; partial < 7; partial++)
        check_status_elements(mixed, 7 + partial, MPI_UNDEFINED);
    expect_class(MPI_Status_set_elements_c(&status, MPI_DOUBLE, (MPI_Count)1 << 62), MPI_ERR_COUNT,
                 "more elements than memory can hold");
    MPI_Type_free(&mixed);
    MPI_Type_free(&four);
}

static void test_in_place(void)
{
    int in = 1, inout = 2;
    MPI_Datatype derived;
    MPI_Type_contiguous(1, MPI_INT, &derived);
    MPI_Type_commit(&derived);
    expect_class(MPI_Reduce_local(MPI_IN_PLACE, &inout, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER,
                 "inbuf in place");
    expect_class(MPI_Reduce_local(&in, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER,
                 "inoutbuf in place");
    int position = 0;
    char room[8];
    expect_class(MPI_Pack(MPI_IN_PLACE, 1, derived, room, 8, &position, MPI_COMM_WORLD),
                 MPI_ERR_BUFFER, "packing in place");
    expect_class(MPI_Pack(&in, 1, MPI_INT, MPI_IN_PLACE, 8, &position, MPI_COMM_WORLD),
                 MPI_ERR_BUFFER, "packing to MPI_IN_PLACE");
    expect_class(MPI_Unpack(MPI_IN_PLACE, 8, &position, &in, 1, MPI_INT, MPI_COMM_WORLD),
                 MPI_ERR_BUFFER, "unpacking in place");
    expect_class(MPI_Unpack(room, 8, &position, NULL, 1, MPI_INT, MPI_COMM_WORLD), MPI_ERR_BUFFER,
                 "unpacking to nowhere");
    expect(position, 0, "position after failures");
    expect_class(MPI_Buffer_attach(MPI_IN_PLACE, 8), MPI_ERR_BUFFER, "a buffer in place");
    MPI_Type_free(&derived);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    test_sizes();
    test_contents();
    test_errors();
    test_packing();
    test_names_and_numbers();
    test_operations();
    test_status_elements();
    test_in_place();
    MPI_Finalize();
    return failures != 0;
}
