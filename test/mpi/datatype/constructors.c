/* SPDX-License-Identifier: BSD-3-Clause */
/* Every constructor in both forms: envelope and contents give the arguments back, the large-count
 * form gives them as large counts, and a type that is made of the contents is the same. */
#include "expect.h"

#include <stdbool.h>
#include <stdlib.h>

enum { FEW = 3, MOST = 32 };

static const int ints[FEW] = {2, 0, 5}, places[FEW] = {-4, 3, 12}, sizes[FEW] = {4, 5, 6},
                 subsizes[FEW] = {2, 5, 3}, starts[FEW] = {1, 0, 3};
static const MPI_Aint addresses[FEW] = {-40, 16, 100};
static const MPI_Count wide_ints[FEW] = {2, 0, 5}, wide_places[FEW] = {-4, 3, 12},
                       wide_addresses[FEW] = {-40, 16, 100}, wide_sizes[FEW] = {4, 5, 6},
                       wide_subsizes[FEW] = {2, 5, 3}, wide_starts[FEW] = {1, 0, 3};
static MPI_Datatype pair, members[FEW];

static MPI_Datatype make_narrow(int combiner)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    switch (combiner) {
    case MPI_COMBINER_CONTIGUOUS:
        MPI_Type_contiguous(7, pair, &type);
        break;
    case MPI_COMBINER_VECTOR:
        MPI_Type_vector(7, 2, -3, pair, &type);
        break;
    case MPI_COMBINER_HVECTOR:
        MPI_Type_create_hvector(7, 2, -300, pair, &type);
        break;
    case MPI_COMBINER_INDEXED:
        MPI_Type_indexed(FEW, ints, places, pair, &type);
        break;
    case MPI_COMBINER_HINDEXED:
        MPI_Type_create_hindexed(FEW, ints, addresses, pair, &type);
        break;
    case MPI_COMBINER_INDEXED_BLOCK:
        MPI_Type_create_indexed_block(FEW, 2, places, pair, &type);
        break;
    case MPI_COMBINER_HINDEXED_BLOCK:
        MPI_Type_create_hindexed_block(FEW, 2, addresses, pair, &type);
        break;
    case MPI_COMBINER_STRUCT:
        MPI_Type_create_struct(FEW, ints, addresses, members, &type);
        break;
    case MPI_COMBINER_SUBARRAY:
        MPI_Type_create_subarray(FEW, sizes, subsizes, starts, MPI_ORDER_C, pair, &type);
        break;
    case MPI_COMBINER_RESIZED:
        MPI_Type_create_resized(pair, -8, 64, &type);
        break;
    default:
        MPI_Type_dup(pair, &type);
    }
    return type;
}

static MPI_Datatype make_wide(int combiner)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    switch (combiner) {
    case MPI_COMBINER_CONTIGUOUS:
        MPI_Type_contiguous_c(7, pair, &type);
        break;
    case MPI_COMBINER_VECTOR:
        MPI_Type_vector_c(7, 2, -3, pair, &type);
        break;
    case MPI_COMBINER_HVECTOR:
        MPI_Type_create_hvector_c(7, 2, -300, pair, &type);
        break;
    case MPI_COMBINER_INDEXED:
        MPI_Type_indexed_c(FEW, wide_ints, wide_places, pair, &type);
        break;
    case MPI_COMBINER_HINDEXED:
        MPI_Type_create_hindexed_c(FEW, wide_ints, wide_addresses, pair, &type);
        break;
    case MPI_COMBINER_INDEXED_BLOCK:
        MPI_Type_create_indexed_block_c(FEW, 2, wide_places, pair, &type);
        break;
    case MPI_COMBINER_HINDEXED_BLOCK:
        MPI_Type_create_hindexed_block_c(FEW, 2, wide_addresses, pair, &type);
        break;
    case MPI_COMBINER_STRUCT:
        MPI_Type_create_struct_c(FEW, wide_ints, wide_addresses, members, &type);
        break;
    case MPI_COMBINER_SUBARRAY:
        MPI_Type_create_subarray_c(FEW, wide_sizes, wide_subsizes, wide_starts, MPI_ORDER_C, pair,
                                   &type);
        break;
    case MPI_COMBINER_RESIZED:
        MPI_Type_create_resized_c(pair, -8, 64, &type);
        break;
    default:
        MPI_Type_dup(pair, &type);
    }
    return type;
}

/* What section 5.1.13 says of a constructor: the arguments in the order of the call, each with the
 * letter of its class in the int form (i: an int, c: an int that is a count, a: an address). */
typedef struct constructor {
    int combiner, types;
    const char *classes;
    long long values[MOST];
} constructor_t;

static const constructor_t constructors[] = {
    {MPI_COMBINER_DUP, 1, "", {0}},
    {MPI_COMBINER_CONTIGUOUS, 1, "c", {7}},
    {MPI_COMBINER_VECTOR, 1, "ccc", {7, 2, -3}},
    {MPI_COMBINER_HVECTOR, 1, "cca", {7, 2, -300}},
    {MPI_COMBINER_INDEXED, 1, "ccccccc", {3, 2, 0, 5, -4, 3, 12}},
    {MPI_COMBINER_HINDEXED, 1, "ccccaaa", {3, 2, 0, 5, -40, 16, 100}},
    {MPI_COMBINER_INDEXED_BLOCK, 1, "ccccc", {3, 2, -4, 3, 12}},
    {MPI_COMBINER_HINDEXED_BLOCK, 1, "ccaaa", {3, 2, -40, 16, 100}},
    {MPI_COMBINER_STRUCT, 3, "ccccaaa", {3, 2, 0, 5, -40, 16, 100}},
    {MPI_COMBINER_SUBARRAY, 1, "iccccccccci", {3, 4, 5, 6, 2, 5, 3, 1, 0, 3, MPI_ORDER_C}},
    {MPI_COMBINER_RESIZED, 1, "aa", {-8, 64}},
};

/* How many of the classes are among `letters`. */
static int count_letters(const char *classes, const char *letters)
{
    int count = 0;
    for (; *classes != '\0'; classes++)
        count += strchr(letters, *classes) != NULL;
    return count;
}

/* The types of the contents; the derived ones are new handles, which are freed. */
static void check_types(const constructor_t *constructor, MPI_Datatype *types)
{
    for (int i = 0; i < constructor->types; i++) {
        MPI_Datatype expected = constructor->types == 1 ? pair : members[i];
        EXPECT(types[i] == expected, 1);
        if (expected == pair)
            MPI_Type_free(&types[i]);
    }
}

static void check_narrow(const constructor_t *constructor)
{
    int integers[MOST], combiner, ni, na, nd, n = 0, a = 0;
    MPI_Aint found[MOST];
    MPI_Datatype types[FEW], type = make_narrow(constructor->combiner);
    MPI_Type_get_envelope(type, &ni, &na, &nd, &combiner);
    EXPECT(combiner, constructor->combiner);
    EXPECT(ni, count_letters(constructor->classes, "ic"));
    EXPECT(na, count_letters(constructor->classes, "a"));
    EXPECT(nd, constructor->types);
    MPI_Type_get_contents(type, ni, na, nd, integers, found, types);
    for (int i = 0; constructor->classes[i] != '\0'; i++)
        EXPECT(constructor->classes[i] == 'a' ? found[a++] : integers[n++], constructor->values[i]);
    check_types(constructor, types);
    MPI_Count wide[4], large[1];
    MPI_Type_get_envelope_c(type, &wide[0], &wide[1], &wide[2], &wide[3], &combiner);
    EXPECT(wide[0], ni);
    EXPECT(wide[1], na);
    EXPECT(wide[2], 0);
    EXPECT(wide[3], nd);
    memset(integers, 0, sizeof(integers));
    MPI_Type_get_contents_c(type, ni, na, 0, nd, integers, found, large, types);
    for (int i = 0, j = 0; constructor->classes[i] != '\0'; i++) {
        if (constructor->classes[i] != 'a')
            EXPECT(integers[j++], constructor->values[i]);
    }
    check_types(constructor, types);
    MPI_Type_free(&type);
}

static void check_wide(const constructor_t *constructor)
{
    const int large = count_letters(constructor->classes, "ca");
    int integers[MOST], combiner, n = 0, l = 0;
    MPI_Count counts[4], found[MOST];
    MPI_Datatype types[FEW], type = make_wide(constructor->combiner);
    MPI_Type_get_envelope_c(type, &counts[0], &counts[1], &counts[2], &counts[3], &combiner);
    EXPECT(combiner, constructor->combiner);
    EXPECT(counts[0], count_letters(constructor->classes, "i"));
    EXPECT(counts[1], 0);
    EXPECT(counts[2], large);
    EXPECT(counts[3], constructor->types);
    MPI_Type_get_contents_c(type, counts[0], 0, large, counts[3], integers, NULL, found, types);
    for (int i = 0; constructor->classes[i] != '\0'; i++)
        EXPECT(constructor->classes[i] == 'i' ? integers[n++] : found[l++], constructor->values[i]);
    check_types(constructor, types);
    int narrow[3];
    MPI_Aint some[MOST];
    int expected = large > 0 ? MPI_ERR_TYPE : MPI_SUCCESS;
    EXPECT_ERROR(MPI_Type_get_envelope(type, &narrow[0], &narrow[1], &narrow[2], &combiner),
                 expected);
    EXPECT_ERROR(MPI_Type_get_contents(type, MOST, MOST, FEW, integers, some, types), expected);
    if (large == 0)
        check_types(constructor, types);
    MPI_Type_free(&type);
}

/* Both forms make the same type. */
static void check_alike(const constructor_t *constructor)
{
    MPI_Datatype narrow = make_narrow(constructor->combiner),
                 wide = make_wide(constructor->combiner);
    MPI_Count values[2][5];
    for (int i = 0; i < 2; i++) {
        MPI_Datatype type = i == 0 ? narrow : wide;
        MPI_Type_size_x(type, &values[i][0]);
        MPI_Type_get_extent_x(type, &values[i][1], &values[i][2]);
        MPI_Type_get_true_extent_x(type, &values[i][3], &values[i][4]);
    }
    for (int i = 0; i < 5; i++)
        EXPECT(values[1][i], values[0][i]);
    MPI_Type_free(&narrow);
    MPI_Type_free(&wide);
}

static void test_outputs(void)
{
    int n[3], combiner;
    MPI_Count wide[3];
    MPI_Datatype type;
    MPI_Aint place[1];
    EXPECT_ERROR(MPI_Type_get_envelope(pair, NULL, n, n, n), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Type_get_envelope(pair, n, NULL, n, n), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Type_get_envelope(pair, n, n, NULL, n), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Type_get_envelope(pair, n, n, n, NULL), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Type_get_envelope(MPI_DATATYPE_NULL, n, n, n, n), MPI_ERR_TYPE);
    EXPECT_ERROR(MPI_Type_get_envelope_c(pair, wide, wide, NULL, wide, &combiner), MPI_ERR_ARG);
    MPI_Type_create_hvector(2, 1, 8, MPI_CHAR, &type);
    EXPECT_ERROR(MPI_Type_get_contents(type, 2, 1, 1, NULL, place, &pair), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Type_get_contents(type, 2, 1, 1, n, NULL, &pair), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Type_get_contents(type, 2, 1, 1, n, place, NULL), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Type_get_contents(type, 1, 1, 1, n, place, &pair), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Type_get_contents(type, 2, 0, 1, n, place, &pair), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Type_get_contents(type, 2, 1, 0, n, place, &pair), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Type_get_contents(MPI_INT, 2, 1, 1, n, place, &pair), MPI_ERR_TYPE);
    MPI_Type_free(&type);
}

/* MPI 5.0, section 19.1.6: the type of each class and size that exists, and no other. */
static void test_match_size(void)
{
    const int classes[] = {MPI_TYPECLASS_INTEGER, MPI_TYPECLASS_REAL, MPI_TYPECLASS_COMPLEX};
    const MPI_Datatype types[][33] = {
        {[1] = MPI_INTEGER1,
         [2] = MPI_INTEGER2,
         [4] = MPI_INTEGER4,
         [8] = MPI_INTEGER8,
         [16] = MPI_INTEGER16},
        {[2] = MPI_REAL2, [4] = MPI_REAL4, [8] = MPI_REAL8, [16] = MPI_REAL16},
        {[4] = MPI_COMPLEX4, [8] = MPI_COMPLEX8, [16] = MPI_COMPLEX16, [32] = MPI_COMPLEX32}};
    MPI_Datatype type;
    for (int class = 0; class < 3; class ++) {
        for (int size = -1; size <= 33; size++) {
            bool exists = size > 0 && size < 33 && types[class][size] != NULL;
            EXPECT_ERROR(MPI_Type_match_size(classes[class], size, &type),
                         exists ? MPI_SUCCESS : MPI_ERR_ARG);
            if (exists)
                EXPECT(type == types[class][size], 1);
        }
    }
    EXPECT_ERROR(MPI_Type_match_size(-5, 4, &type), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Type_match_size(MPI_TYPECLASS_REAL, 4, NULL), MPI_ERR_ARG);
}

static void test_value_index(void)
{
    const MPI_Datatype pairs[][3] = {
        {MPI_FLOAT, MPI_INT, MPI_FLOAT_INT},     {MPI_DOUBLE, MPI_INT, MPI_DOUBLE_INT},
        {MPI_LONG, MPI_INT, MPI_LONG_INT},       {MPI_INT, MPI_INT, MPI_2INT},
        {MPI_SHORT, MPI_INT, MPI_SHORT_INT},     {MPI_LONG_DOUBLE, MPI_INT, MPI_LONG_DOUBLE_INT},
        {MPI_REAL, MPI_REAL, MPI_2REAL},         {MPI_INTEGER, MPI_INTEGER, MPI_2INTEGER},
        {MPI_INT, MPI_DOUBLE, MPI_DATATYPE_NULL}};
    MPI_Datatype type;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        type = MPI_CHAR;
        EXPECT(MPI_Type_get_value_index(pairs[i][0], pairs[i][1], &type), MPI_SUCCESS);
        EXPECT(type == pairs[i][2], 1);
    }
    EXPECT_ERROR(MPI_Type_get_value_index(MPI_DATATYPE_NULL, MPI_INT, &type), MPI_ERR_TYPE);
    EXPECT_ERROR(MPI_Type_get_value_index(MPI_INT, MPI_DATATYPE_NULL, &type), MPI_ERR_TYPE);
    EXPECT_ERROR(MPI_Type_get_value_index(MPI_INT, MPI_INT, NULL), MPI_ERR_ARG);
}

/* A hundred thousand levels, by the public functions alone: no stack is large enough to recurse. */
static void test_deep_nest(void)
{
    enum { DEPTH = 100000 };
    const int ones[] = {1, 1};
    char *memory = calloc(1, 3 * DEPTH + 8), *packed = malloc(DEPTH + 1);
    MPI_Datatype type, outer, parts[] = {MPI_CHAR, MPI_CHAR};
    MPI_Status status;
    MPI_Count elements, bytes;
    MPI_Type_contiguous(1, MPI_CHAR, &type);
    for (int i = 0; i < DEPTH; i++) {
        const MPI_Aint offsets[] = {0, 2 + 2 * i + i % 2};
        parts[0] = type;
        MPI_Type_create_struct(2, ones, offsets, parts, &outer);
        MPI_Type_free(&type);
        memory[offsets[1]] = (char)(i % 120);
        type = outer;
    }
    MPI_Type_commit(&type);
    MPI_Count position = 0;
    MPI_Pack_c(memory, 1, type, packed, DEPTH + 1, &position, MPI_COMM_SELF);
    for (int i = 0; i < DEPTH; i++)
        EXPECT(packed[1 + i], i % 120);
    memset(memory, 0, 3 * DEPTH);
    MPI_Sendrecv(packed, DEPTH + 1, MPI_PACKED, 0, 0, memory, 1, type, 0, 0, MPI_COMM_SELF,
                 &status);
    MPI_Get_elements_c(&status, type, &elements);
    EXPECT(elements, DEPTH + 1);
    memset(packed, 0, DEPTH + 1);
    position = 0;
    MPI_Pack_external_c("external32", memory, 1, type, packed, DEPTH + 1, &position);
    EXPECT(position, DEPTH + 1);
    for (int i = 0; i < DEPTH; i++)
        EXPECT(packed[1 + i], i % 120);
    MPI_Type_size_c(type, &bytes);
    EXPECT(bytes, DEPTH + 1);
    MPI_Type_free(&type);
    free(memory);
    free(packed);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    expect_begin();
    MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
    members[0] = MPI_CHAR;
    members[1] = pair;
    members[2] = MPI_DOUBLE_INT;
    for (size_t i = 0; i < sizeof(constructors) / sizeof(constructors[0]); i++) {
        check_narrow(&constructors[i]);
        check_wide(&constructors[i]);
        check_alike(&constructors[i]);
    }
    test_outputs();
    MPI_Type_free(&pair);
    test_match_size();
    test_value_index();
    test_deep_nest();
    return expect_end();
}
