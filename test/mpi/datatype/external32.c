/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Pack_external and its kin: sizes and bytes of the predefined types (MPI 5.0, section 14.5.2),
 * derived types, positions, errors; in host and device memory. */
#include "expect.h"
#include "memory_kinds.h"

#include <complex.h>
#include <float.h>
#include <limits.h>
#include <mpix.h>
#include <stddef.h>
#include <wchar.h>

static const char form[] = "external32";

static const struct {
    MPI_Datatype type;
    int bytes;
} sizes[] = {
    {MPI_PACKED, 1},
    {MPI_BYTE, 1},
    {MPI_CHAR, 1},
    {MPI_UNSIGNED_CHAR, 1},
    {MPI_SIGNED_CHAR, 1},
    {MPI_WCHAR, 2},
    {MPI_SHORT, 2},
    {MPI_UNSIGNED_SHORT, 2},
    {MPI_INT, 4},
    {MPI_LONG, 4},
    {MPI_UNSIGNED, 4},
    {MPI_UNSIGNED_LONG, 4},
    {MPI_LONG_LONG_INT, 8},
    {MPI_UNSIGNED_LONG_LONG, 8},
    {MPI_FLOAT, 4},
    {MPI_DOUBLE, 8},
    {MPI_LONG_DOUBLE, 16},
    {MPI_C_BOOL, 1},
    {MPI_INT8_T, 1},
    {MPI_INT16_T, 2},
    {MPI_INT32_T, 4},
    {MPI_INT64_T, 8},
    {MPI_UINT8_T, 1},
    {MPI_UINT16_T, 2},
    {MPI_UINT32_T, 4},
    {MPI_UINT64_T, 8},
    {MPI_AINT, 8},
    {MPI_COUNT, 8},
    {MPI_OFFSET, 8},
    {MPI_C_COMPLEX, 8},
    {MPI_C_DOUBLE_COMPLEX, 16},
    {MPI_C_LONG_DOUBLE_COMPLEX, 32},
    {MPI_CXX_BOOL, 1},
    {MPI_CXX_FLOAT_COMPLEX, 8},
    {MPI_CXX_DOUBLE_COMPLEX, 16},
    {MPI_CXX_LONG_DOUBLE_COMPLEX, 32},
    {MPI_CHARACTER, 1},
    {MPI_LOGICAL, 4},
    {MPI_LOGICAL1, 1},
    {MPI_LOGICAL2, 2},
    {MPI_LOGICAL4, 4},
    {MPI_LOGICAL8, 8},
    {MPI_LOGICAL16, 16},
    {MPI_INTEGER, 4},
    {MPI_INTEGER1, 1},
    {MPI_INTEGER2, 2},
    {MPI_INTEGER4, 4},
    {MPI_INTEGER8, 8},
    {MPI_INTEGER16, 16},
    {MPI_REAL, 4},
    {MPI_DOUBLE_PRECISION, 8},
    {MPI_REAL2, 2},
    {MPI_REAL4, 4},
    {MPI_REAL8, 8},
    {MPI_REAL16, 16},
    {MPI_COMPLEX, 8},
    {MPI_DOUBLE_COMPLEX, 16},
    {MPI_COMPLEX4, 4},
    {MPI_COMPLEX8, 8},
    {MPI_COMPLEX16, 16},
    {MPI_COMPLEX32, 32},
    {MPI_FLOAT_INT, 8},
    {MPI_DOUBLE_INT, 12},
    {MPI_LONG_INT, 8},
    {MPI_2INT, 8},
    {MPI_SHORT_INT, 6},
    {MPI_LONG_DOUBLE_INT, 20},
    {MPI_2REAL, 8},
    {MPI_2DOUBLE_PRECISION, 16},
    {MPI_2INTEGER, 8},
    {MPIX_C_FLOAT16, 2},
    {MPIX_BFLOAT16, 2},
    {MPIX_FLOAT8_E4M3, 1},
    {MPIX_FLOAT8_E5M2, 1},
};

static void test_sizes(void)
{
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        MPI_Aint size = -1;
        MPI_Count wide = -1;
        MPI_Datatype vector;
        MPI_Pack_external_size(form, 3, sizes[i].type, &size);
        EXPECT(size, 3 * sizes[i].bytes);
        MPI_Type_vector(2, 3, 5, sizes[i].type, &vector);
        MPI_Type_commit(&vector);
        MPI_Pack_external_size_c(form, (MPI_Count)1 << 33, vector, &wide);
        EXPECT(wide, (6 * (long long)sizes[i].bytes) << 33);
        MPI_Pack_external_size_c(form, LLONG_MAX, vector, &wide);
        EXPECT(wide, MPI_UNDEFINED);
        MPI_Type_free(&vector);
    }
}

/* Two equal elements become the given bytes, in hexadecimal, twice; and the bytes become the same
 * elements again. `bytes` is the size of the element in memory, gaps at its end included. */
static void check_bytes(MPI_Datatype type, const void *value, size_t bytes, const char *expected)
{
    char native[64] = {0}, packed[80], text[200] = "", back[64] = {0};
    MPI_Aint position = 3, length = (MPI_Aint)strlen(expected) / 2;
    memcpy(native, value, bytes);
    memcpy(native + bytes, value, bytes);
    memset(packed, 0x7e, sizeof(packed));
    MPI_Pack_external(form, native, 2, type, packed, sizeof(packed), &position);
    EXPECT(position, 3 + 2 * length);
    for (int i = 0; i < length; i++) {
        sprintf(text + 2 * i, "%02x", (unsigned char)packed[3 + i]);
        EXPECT(packed[3 + length + i], packed[3 + i]);
    }
    EXPECT_TEXT(text, expected);
    EXPECT(packed[2], 0x7e);
    EXPECT(packed[3 + 2 * length], 0x7e);
    position = 3;
    MPI_Unpack_external(form, packed, sizeof(packed), &position, back, 2, type);
    EXPECT(position, 3 + 2 * length);
    EXPECT(memcmp(back, native, sizeof(back)), 0);
}

#define CHECK_BYTES(type, ctype, value, expected)                                                  \
    do {                                                                                           \
        ctype given = value;                                                                       \
        check_bytes(type, &given, sizeof(given), expected);                                        \
    } while (0)

static void test_integers(void)
{
    CHECK_BYTES(MPI_CHAR, char, 'A', "41");
    CHECK_BYTES(MPI_C_BOOL, _Bool, 1, "01");
    CHECK_BYTES(MPI_SHORT, short, -2, "fffe");
    CHECK_BYTES(MPI_INT, int, 0x12345678, "12345678");
    CHECK_BYTES(MPI_LONG, long, -3, "fffffffd");
    CHECK_BYTES(MPI_LONG, long, 0x12345678, "12345678");
    CHECK_BYTES(MPI_UNSIGNED_LONG, unsigned long, 0xfedcba98, "fedcba98");
    CHECK_BYTES(MPI_LONG_LONG, long long, 0x123456789abcdef0, "123456789abcdef0");
    CHECK_BYTES(MPI_INT64_T, int64_t, -2, "fffffffffffffffe");
    CHECK_BYTES(MPI_AINT, MPI_Aint, 0x1234567890, "0000001234567890");
    CHECK_BYTES(MPI_COUNT, MPI_Count, -1, "ffffffffffffffff");
    CHECK_BYTES(MPI_WCHAR, wchar_t, 0x20ac, "20ac");
    CHECK_BYTES(MPI_LOGICAL8, int64_t, 1, "0000000000000001");
}

static void test_floating(void)
{
    CHECK_BYTES(MPI_FLOAT, float, -1.5f, "bfc00000");
    CHECK_BYTES(MPI_DOUBLE, double, 0.1, "3fb999999999999a");
    CHECK_BYTES(MPI_C_FLOAT_COMPLEX, float _Complex, 1.0f + 2.0f * I, "3f80000040000000");
    CHECK_BYTES(MPI_DOUBLE_COMPLEX, double _Complex, 1.0 - 2.0 * I,
                "3ff0000000000000c000000000000000");
    const long double third = 1.0L / 3;
    char bytes[sizeof(third)] = {0};
#if LDBL_MANT_DIG == 64
    memcpy(bytes, &third, 10); /* no meaning is in the others, and they come back as 0 */
    check_bytes(MPI_LONG_DOUBLE, bytes, sizeof(bytes), "3ffd5555555555555556000000000000");
#else
    memcpy(bytes, &third, 16);
    check_bytes(MPI_LONG_DOUBLE, bytes, sizeof(bytes), "3ffd5555555555555555555555555555");
#endif
}

/* Pairs as their parts; the gaps are neither sent nor written. */
static void test_pairs(void)
{
    struct {
        long value;
        int place;
    } pair;
    struct {
        short value;
        int place;
    } short_pair;
    memset(&pair, 0, sizeof(pair));
    memset(&short_pair, 0, sizeof(short_pair));
    pair.value = -5;
    pair.place = 7;
    short_pair.value = 3;
    short_pair.place = -1;
    check_bytes(MPI_LONG_INT, &pair, sizeof(pair), "fffffffb00000007");
    check_bytes(MPI_SHORT_INT, &short_pair, sizeof(short_pair), "0003ffffffff");
    int two[] = {1, -2};
    check_bytes(MPI_2INT, two, sizeof(two), "00000001fffffffe");
}

/* What has no exact counterpart. */
static void test_inexact(void)
{
    char packed[8], *bytes = packed;
    long value = 0x7654321089abcdef;
    _Bool is_true = 0;
    MPI_Aint position = 0;
    MPI_Pack_external(form, &value, 1, MPI_LONG, packed, 4, &position);
    position = 0;
    MPI_Unpack_external(form, packed, 4, &position, &value, 1, MPI_LONG);
    EXPECT(value, (long)(int)0x89abcdef);
    bytes[0] = 0x40; /* nonzero is true */
    position = 0;
    MPI_Unpack_external(form, packed, 1, &position, &is_true, 1, MPI_C_BOOL);
    memcpy(bytes, &is_true, 1);
    EXPECT(bytes[0], 1);
}

typedef struct record {
    char letter;
    long number;
    double pair[2][3]; /* the second column of each row is sent */
    wchar_t wide;
} record_t;

static MPI_Datatype record_type(void)
{
    MPI_Datatype column, whole, type, parts[] = {MPI_CHAR, MPI_LONG, MPI_DATATYPE_NULL, MPI_WCHAR};
    const int counts[] = {1, 1, 1, 1};
    const MPI_Aint places[] = {offsetof(record_t, letter), offsetof(record_t, number),
                               offsetof(record_t, pair) + sizeof(double), offsetof(record_t, wide)};
    MPI_Type_vector(2, 1, 3, MPI_DOUBLE, &column);
    parts[2] = column;
    MPI_Type_create_struct(4, counts, places, parts, &whole);
    MPI_Type_create_resized(whole, 0, sizeof(record_t), &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&column);
    MPI_Type_free(&whole);
    return type;
}

enum { RECORDS = 1000, RECORD_BYTES = 1 + 4 + 16 + 2 };

static void fill_records(record_t *records)
{
    memset(records, 0, RECORDS * sizeof(*records));
    for (int i = 0; i < RECORDS; i++) {
        records[i].letter = (char)(i % 100);
        records[i].number = -i;
        records[i].pair[0][1] = i / 4.0;
        records[i].pair[1][1] = -i / 8.0;
        records[i].wide = (wchar_t)(300 + i);
    }
}

/* The bytes of a big-endian integer. */
static long long number_at(const char *packed, int bytes)
{
    unsigned long long value = 0;
    for (int i = 0; i < bytes; i++)
        value = value << 8 | (unsigned char)packed[i];
    return (long long)value;
}

static void check_records(const char *packed)
{
    for (int i = 0; i < RECORDS; i++) {
        const char *at = packed + i * RECORD_BYTES;
        double second = -i / 8.0;
        long long bits;
        memcpy(&bits, &second, sizeof(bits));
        EXPECT(at[0], i % 100);
        EXPECT((int)number_at(at + 1, 4), -i);
        EXPECT(number_at(at + 13, 8), bits);
        EXPECT(number_at(at + 21, 2), 300 + i);
    }
}

/* The records go to external32 in two calls and come back in three, each side in the kind of memory
 * that is next. */
static void test_records(void)
{
    const size_t record_bytes = RECORDS * sizeof(record_t), bytes = RECORDS * RECORD_BYTES;
    const char record_kind = memory_next_kind(), packed_kind = memory_next_kind();
    record_t *records = malloc(record_bytes), *back = malloc(record_bytes),
             *typed = memory_take(record_kind, record_bytes);
    char *copy = malloc(bytes), *packed = memory_take(packed_kind, bytes);
    MPI_Datatype type = record_type();
    MPI_Count position = 0;
    fill_records(records);
    memory_put(record_kind, typed, records, record_bytes);
    MPI_Pack_external_c(form, typed, 1, type, packed, (MPI_Count)bytes, &position);
    EXPECT(position, RECORD_BYTES);
    MPI_Pack_external_c(form, typed + 1, RECORDS - 1, type, packed, (MPI_Count)bytes, &position);
    EXPECT(position, (MPI_Count)bytes);
    memory_get(packed_kind, copy, packed, bytes);
    check_records(copy);
    memset(back, 0, record_bytes);
    memory_put(record_kind, typed, back, record_bytes);
    position = 0;
    MPI_Unpack_external_c(form, packed, (MPI_Count)bytes, &position, typed, 400, type);
    MPI_Unpack_external_c(form, packed, (MPI_Count)bytes, &position, typed + 400, 0, type);
    MPI_Unpack_external_c(form, packed, (MPI_Count)bytes, &position, typed + 400, 600, type);
    EXPECT(position, (MPI_Count)bytes);
    memory_get(record_kind, back, typed, record_bytes);
    EXPECT(memcmp(back, records, record_bytes), 0);
    MPI_Type_free(&type);
    memory_give(record_kind, typed);
    memory_give(packed_kind, packed);
    free(records);
    free(back);
    free(copy);
}

static void test_absolute_addresses(void)
{
    int value = 0x01020304, one = 1;
    char packed[4];
    MPI_Aint place, position = 0;
    MPI_Datatype type;
    MPI_Get_address(&value, &place);
    MPI_Type_create_hindexed(1, &one, &place, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Pack_external(form, MPI_BOTTOM, 1, type, packed, 4, &position);
    EXPECT(packed[0], 1);
    EXPECT(packed[3], 4);
    MPI_Type_free(&type);
}

static void test_errors(void)
{
    int value[2] = {1, 2};
    char packed[16];
    MPI_Aint position = 0, size;
    MPI_Datatype type, null = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(2, MPI_INT, &type);
    EXPECT_ERROR(MPI_Pack_external("native", value, 1, MPI_INT, packed, 16, &position),
                 MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Pack_external(NULL, value, 1, MPI_INT, packed, 16, &position), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Unpack_external("", packed, 16, &position, value, 1, MPI_INT), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Pack_external_size("external64", 1, MPI_INT, &size), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Pack_external(form, value, -1, MPI_INT, packed, 16, &position), MPI_ERR_COUNT);
    EXPECT_ERROR(MPI_Pack_external_size(form, -1, MPI_INT, &size), MPI_ERR_COUNT);
    EXPECT_ERROR(MPI_Pack_external(form, value, 1, type, packed, 16, &position), MPI_ERR_TYPE);
    EXPECT_ERROR(MPI_Pack_external_size(form, 1, type, &size), MPI_ERR_TYPE);
    EXPECT_ERROR(MPI_Unpack_external(form, packed, 16, &position, value, 1, null), MPI_ERR_TYPE);
    EXPECT_ERROR(MPI_Pack_external(form, NULL, 1, MPI_INT, packed, 16, &position), MPI_ERR_BUFFER);
    EXPECT_ERROR(MPI_Pack_external(form, value, 1, MPI_INT, NULL, 16, &position), MPI_ERR_BUFFER);
    EXPECT_ERROR(MPI_Pack_external(form, value, 1, MPI_INT, packed, -1, &position), MPI_ERR_COUNT);
    EXPECT_ERROR(MPI_Pack_external(form, value, 1, MPI_INT, packed, 16, NULL), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Pack_external_size(form, 1, MPI_INT, NULL), MPI_ERR_ARG);
    EXPECT(position, 0);
    position = -1;
    EXPECT_ERROR(MPI_Unpack_external(form, packed, 16, &position, value, 1, MPI_INT), MPI_ERR_ARG);
    EXPECT(position, -1);
    MPI_Type_free(&type);
}

/* Nothing is written when not all fits. */
static void test_overflow(void)
{
    int value[2] = {1, 2};
    char packed[16];
    MPI_Aint position = 9;
    memset(packed, 0x11, sizeof(packed));
    EXPECT_ERROR(MPI_Pack_external(form, value, 2, MPI_INT, packed, 16, &position),
                 MPI_ERR_TRUNCATE);
    EXPECT(packed[9], 0x11);
    EXPECT(position, 9);
    EXPECT_ERROR(MPI_Unpack_external(form, packed, 16, &position, value, 2, MPI_INT),
                 MPI_ERR_TRUNCATE);
    EXPECT(value[0], 1);
    position = 8;
    EXPECT_ERROR(MPI_Pack_external(form, value, 2, MPI_INT, packed, 16, &position), MPI_SUCCESS);
    EXPECT(position, 16);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    expect_begin();
    memory_begin(expect_rank);
    test_sizes();
    test_integers();
    test_floating();
    test_pairs();
    test_inexact();
    for (int i = 0; i < 3; i++)
        test_records();
    test_absolute_addresses();
    test_errors();
    test_overflow();
    return expect_end();
}
