/* SPDX-License-Identifier: BSD-3-Clause */
/* Fortran's types of a given precision and range: which type it is, that the same arguments give
 * the same, that it is predefined; in messages, reductions, packing and other types; errors. */
#include "expect.h"

#include <complex.h>
#include <float.h>
#include <limits.h>

static MPI_Datatype real_of(int p, int r)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    EXPECT(MPI_Type_create_f90_real(p, r, &type), MPI_SUCCESS);
    return type;
}

static MPI_Datatype complex_of(int p, int r)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    EXPECT(MPI_Type_create_f90_complex(p, r, &type), MPI_SUCCESS);
    return type;
}

static MPI_Datatype integer_of(int r)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    EXPECT(MPI_Type_create_f90_integer(r, &type), MPI_SUCCESS);
    return type;
}

/* The sizes in memory and in external32 (section 19.1.5). */
static void check_sizes(MPI_Datatype type, int bytes)
{
    int size;
    MPI_Aint lb, extent, external;
    MPI_Type_size(type, &size);
    MPI_Type_get_extent(type, &lb, &extent);
    MPI_Pack_external_size("external32", 1, type, &external);
    EXPECT(size, bytes);
    EXPECT(lb, 0);
    EXPECT(extent, bytes);
    EXPECT(external, bytes);
}

static void test_sizes(void)
{
    for (int p = 0; p <= 33; p++) {
        const int ranges[] = {0, 37, 38, 307, 308, 4931, MPI_UNDEFINED};
        for (int i = 0; i < 7; i++) {
            int r = ranges[i], bytes = p > 15 || r > 307 ? 16 : p > 6 || r > 37 ? 8 : 4;
            check_sizes(real_of(p, r), bytes);
            check_sizes(complex_of(p, r), 2 * bytes);
        }
    }
    for (int r = 0; r <= 38; r++)
        check_sizes(integer_of(r), r > 18 ? 16 : r > 9 ? 8 : r > 4 ? 4 : r > 2 ? 2 : 1);
    check_sizes(real_of(MPI_UNDEFINED, 300), 8);
}

static void test_identity(void)
{
    for (int p = 0; p <= 33; p++) {
        for (int r = 0; r < 200; r++)
            EXPECT(real_of(p, r) == real_of(p, r), 1);
    }
    EXPECT(real_of(6, 30) != real_of(6, 31), 1);
    EXPECT(real_of(6, 30) != complex_of(6, 30), 1);
    EXPECT(real_of(6, MPI_UNDEFINED) != real_of(6, 0), 1);
    EXPECT(integer_of(9) == integer_of(9), 1);
    EXPECT(integer_of(9) != integer_of(8), 1);
    MPI_Datatype type = real_of(12, 100);
    EXPECT(MPI_Type_fromint(MPI_Type_toint(type)) == type, 1);
}

static void check_contents(MPI_Datatype type, int combiner, int first, int second)
{
    int values[2] = {0, 0}, counts[3], found,
        integers = combiner == MPI_COMBINER_F90_INTEGER ? 1 : 2;
    MPI_Count wide[4];
    MPI_Type_get_envelope(type, &counts[0], &counts[1], &counts[2], &found);
    EXPECT(found, combiner);
    EXPECT(counts[0], integers);
    EXPECT(counts[1], 0);
    EXPECT(counts[2], 0);
    MPI_Type_get_contents(type, integers, 0, 0, values, NULL, NULL);
    EXPECT(values[0], first);
    EXPECT(values[1], second);
    MPI_Type_get_envelope_c(type, &wide[0], &wide[1], &wide[2], &wide[3], &found);
    EXPECT(wide[0], integers);
    EXPECT(wide[2], 0);
    values[0] = values[1] = 0;
    MPI_Type_get_contents_c(type, integers, 0, 0, 0, values, NULL, NULL, NULL);
    EXPECT(values[0], first);
    EXPECT(values[1], second);
}

static void test_contents(void)
{
    check_contents(real_of(7, 50), MPI_COMBINER_F90_REAL, 7, 50);
    check_contents(real_of(MPI_UNDEFINED, 50), MPI_COMBINER_F90_REAL, MPI_UNDEFINED, 50);
    check_contents(complex_of(30, MPI_UNDEFINED), MPI_COMBINER_F90_COMPLEX, 30, MPI_UNDEFINED);
    check_contents(integer_of(18), MPI_COMBINER_F90_INTEGER, 18, 0);
}

static void test_life(void)
{
    char name[MPI_MAX_OBJECT_NAME] = "x";
    int length = -1;
    MPI_Datatype type = real_of(15, 300), same = type, copy, inner[1];
    EXPECT_ERROR(MPI_Type_free(&type), MPI_ERR_TYPE);
    EXPECT(type == same, 1);
    MPI_Type_get_name(type, name, &length);
    EXPECT(length, 0);
    EXPECT(MPI_Type_commit(&type), MPI_SUCCESS);
    MPI_Type_dup(type, &copy);
    MPI_Type_get_contents(copy, 0, 0, 1, NULL, NULL, inner);
    EXPECT(inner[0] == type, 1);
    MPI_Type_free(&copy);
    check_sizes(type, 8);
}

/* Sums of all ranks, after a trip around the ring. */
static void test_reductions(void)
{
    int next = (expect_rank + 1) % expect_size,
        previous = (expect_rank + expect_size - 1) % expect_size;
    double numbers[2] = {expect_rank, 0.5}, moved[2], sums[2];
    MPI_Sendrecv(numbers, 2, real_of(15, 307), next, 0, moved, 2, real_of(15, 307), previous, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT(moved[0] == previous, 1);
    MPI_Allreduce(moved, sums, 2, real_of(15, 307), MPI_SUM, MPI_COMM_WORLD);
    EXPECT(sums[0] == expect_size * (expect_size - 1) / 2.0, 1);
    EXPECT(sums[1] == expect_size * 0.5, 1);
    short least = (short)(100 - expect_rank), result;
    MPI_Allreduce(&least, &result, 1, integer_of(4), MPI_MIN, MPI_COMM_WORLD);
    EXPECT(result, 101 - expect_size);
    float _Complex unit = 1.0f + 2.0f * I, sum;
    MPI_Allreduce(&unit, &sum, 1, complex_of(6, 37), MPI_SUM, MPI_COMM_WORLD);
    EXPECT(crealf(sum) == (float)expect_size && cimagf(sum) == 2.0f * (float)expect_size, 1);
    EXPECT_ERROR(MPI_Allreduce(&unit, &sum, 1, complex_of(6, 37), MPI_MAX, MPI_COMM_WORLD),
                 MPI_ERR_OP);
}

#if LDBL_MANT_DIG == 64
/* The kind between 8 and 16 bytes is a long double's. */
static void test_extended(void)
{
    long double number = 1.0L / 3, sum = 0;
    char packed[16];
    MPI_Aint position = 0;
    MPI_Allreduce(&number, &sum, 1, real_of(18, 4931), MPI_MAX, MPI_COMM_WORLD);
    EXPECT(sum == number, 1);
    MPI_Pack_external("external32", &number, 1, real_of(18, 4931), packed, 16, &position);
    EXPECT((unsigned char)packed[0], 0x3f);
    EXPECT((unsigned char)packed[1], 0xfd);
    EXPECT((unsigned char)packed[2], 0x55);
    position = 0;
    MPI_Unpack_external("external32", packed, 16, &position, &sum, 1, real_of(18, 4931));
    EXPECT(sum == number, 1);
}
#else
static void test_extended(void)
{
}
#endif

/* As members of a struct, packed either way. */
static void test_packing(void)
{
    struct {
        char letter;
        double number;
        int count;
    } from[2] = {{'a', 1.5, 7}, {'b', -2.5, -8}}, to[2];
    const int ones[] = {1, 1, 1};
    const MPI_Aint places[] = {0, 8, 16};
    MPI_Datatype type, members[] = {MPI_CHAR, real_of(10, 10), integer_of(9)};
    char packed[40];
    int position = 0, elements;
    MPI_Aint external = 0;
    MPI_Status status;
    MPI_Type_create_struct(3, ones, places, members, &type);
    MPI_Type_commit(&type);
    memset(to, 0, sizeof(to));
    MPI_Pack(from, 2, type, packed, 40, &position, MPI_COMM_WORLD);
    EXPECT(position, 26);
    position = 0;
    MPI_Unpack(packed, 40, &position, to, 2, type, MPI_COMM_WORLD);
    EXPECT(to[1].letter == 'b' && to[1].number == -2.5 && to[1].count == -8, 1);
    MPI_Pack_external("external32", from, 2, type, packed, 40, &external);
    EXPECT(external, 26);
    EXPECT((unsigned char)packed[1], 0x3f); /* 1.5 is 3ff8... */
    EXPECT(packed[12], 7);
    memset(to, 0, sizeof(to));
    external = 0;
    MPI_Unpack_external("external32", packed, 40, &external, to, 2, type);
    EXPECT(to[0].number == 1.5 && to[1].number == -2.5 && to[1].count == -8, 1);
    MPI_Status_set_elements(&status, type, 5);
    MPI_Get_elements(&status, type, &elements);
    EXPECT(elements, 5);
    MPI_Type_free(&type);
}

static void test_errors(void)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    EXPECT_ERROR(MPI_Type_create_f90_real(34, 0, &type), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Type_create_f90_real(0, 4932, &type), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Type_create_f90_real(-1, 0, &type), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Type_create_f90_real(MPI_UNDEFINED, MPI_UNDEFINED, &type), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Type_create_f90_complex(INT_MAX, 0, &type), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Type_create_f90_complex(0, INT_MIN, &type), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Type_create_f90_integer(39, &type), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Type_create_f90_integer(-2, &type), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Type_create_f90_integer(MPI_UNDEFINED, &type), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Type_create_f90_real(6, 30, NULL), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Type_create_f90_complex(6, 30, NULL), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Type_create_f90_integer(6, NULL), MPI_ERR_ARG);
    EXPECT(type == MPI_DATATYPE_NULL, 1);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    expect_begin();
    test_sizes();
    test_identity();
    test_contents();
    test_life();
    test_reductions();
    test_extended();
    test_packing();
    test_errors();
    return expect_end();
}
