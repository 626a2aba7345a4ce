/* SPDX-License-Identifier: BSD-3-Clause */
#include "datatype/external_form_private.h"

#include "datatype/binary128_private.h"
#include "datatype/external32.h"
#include "datatype/layout_private.h"
#include "datatype/op.h"

#include <string.h>
#include <wchar.h>

/* ---- conversions ---- */

static void copy_octets(const char *in, char *out, size_t count)
{
    memcpy(out, in, count);
}

/* All bytes must be looked at: "nonzero implies true". A _Bool of another value than 0 and 1 has no
 * meaning to compilers. */
static void make_booleans(const char *in, char *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = in[i] != 0;
}

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define SWAPPED(bits, value) __builtin_bswap##bits(value)
#else
#define SWAPPED(bits, value) (value)
#endif

/* Between native and big-endian order; its own inverse. */
#define SWAP(bits)                                                                                 \
    static void swap_##bits(const char *in, char *out, size_t count)                               \
    {                                                                                              \
        for (size_t i = 0; i < count; i++) {                                                       \
            uint##bits##_t value;                                                                  \
            memcpy(&value, in + i * sizeof(value), sizeof(value));                                 \
            value = SWAPPED(bits, value);                                                          \
            memcpy(out + i * sizeof(value), &value, sizeof(value));                                \
        }                                                                                          \
    }
SWAP(16)
SWAP(32)
SWAP(64)
#undef SWAP

static void swap_128(const char *in, char *out, size_t count)
{
    for (size_t i = 0; i < 16 * count; i += 16) {
        uint64_t word[2];
        memcpy(word, in + i, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        uint64_t swapped[2] = {SWAPPED(64, word[1]), SWAPPED(64, word[0])};
        memcpy(out + i, swapped, sizeof(swapped));
#else
        memcpy(out + i, word, sizeof(word));
#endif
    }
}

/* An integer whose external form has fewer bytes: the least significant ones, and back with or
 * without its sign. */
#define NARROW(name, type, bits, read_as)                                                          \
    static void pack_##name(const char *in, char *out, size_t count)                               \
    {                                                                                              \
        for (size_t i = 0; i < count; i++) {                                                       \
            type value;                                                                            \
            memcpy(&value, in + i * sizeof(value), sizeof(value));                                 \
            uint##bits##_t narrow = SWAPPED(bits, (uint##bits##_t)value);                          \
            memcpy(out + i * sizeof(narrow), &narrow, sizeof(narrow));                             \
        }                                                                                          \
    }                                                                                              \
    static void unpack_##name(const char *in, char *out, size_t count)                             \
    {                                                                                              \
        for (size_t i = 0; i < count; i++) {                                                       \
            uint##bits##_t narrow;                                                                 \
            memcpy(&narrow, in + i * sizeof(narrow), sizeof(narrow));                              \
            type value = (type)(read_as)SWAPPED(bits, narrow);                                     \
            memcpy(out + i * sizeof(value), &value, sizeof(value));                                \
        }                                                                                          \
    }
NARROW(long, long, 32, int32_t)
NARROW(unsigned_long, unsigned long, 32, uint32_t)
NARROW(wchar, wchar_t, 16, uint16_t)
#undef NARROW

static void pack_long_double(const char *in, char *out, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char wide[16];
        weft_binary128_of(in + i * sizeof(long double), wide);
        swap_128(wide, out + 16 * i, 1);
    }
}

static void unpack_long_double(const char *in, char *out, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char wide[16];
        swap_128(in + 16 * i, wide, 1);
        weft_binary128_to(wide, out + i * sizeof(long double));
    }
}

static const weft_external_value_t octets = {1, 1, copy_octets, copy_octets};
static const weft_external_value_t booleans = {1, 1, make_booleans, make_booleans};
static const weft_external_value_t swapped_16 = {2, 2, swap_16, swap_16};
static const weft_external_value_t swapped_32 = {4, 4, swap_32, swap_32};
static const weft_external_value_t swapped_64 = {8, 8, swap_64, swap_64};
static const weft_external_value_t swapped_128 = {16, 16, swap_128, swap_128};
static const weft_external_value_t longs = {sizeof(long), 4, pack_long, unpack_long};
static const weft_external_value_t unsigned_longs = {sizeof(unsigned long), 4, pack_unsigned_long,
                                                     unpack_unsigned_long};
static const weft_external_value_t wide_characters = {sizeof(wchar_t), 2, pack_wchar, unpack_wchar};
static const weft_external_value_t long_doubles = {sizeof(long double), 16, pack_long_double,
                                                   unpack_long_double};

/* ---- basic elements ---- */

static const weft_external_value_t *swapped_of(size_t bytes)
{
    switch (bytes) {
    case 2:
        return &swapped_16;
    case 4:
        return &swapped_32;
    case 8:
        return &swapped_64;
    case 16:
        return &swapped_128;
    default:
        return &octets;
    }
}

static weft_external_form_t form_of_pair(const weft_type_t *type)
{
    size_t value_bytes = weft_pair_value_bytes(type);
    weft_external_form_t form = {swapped_of(value_bytes), swapped_of(type->size - value_bytes)};
    if (type->handle == MPI_LONG_INT)
        form.first = &longs;
    if (type->machine == WEFT_MACHINE_FLD_I32)
        form.first = &long_doubles;
    return form;
}

/* MPI_LONG is an I64 to the kernels, as other types are whose external form has 8 bytes. */
weft_external_form_t weft_external_form_of(const weft_type_t *type)
{
    if (type->group == WEFT_PAIR)
        return form_of_pair(type);
    if (type->machine == WEFT_MACHINE_FLD)
        return (weft_external_form_t){&long_doubles, NULL};
    if (type->machine == WEFT_MACHINE_CLD)
        return (weft_external_form_t){&long_doubles, &long_doubles};
    if (type->group == WEFT_COMPLEX)
        return (weft_external_form_t){swapped_of(type->size / 2), swapped_of(type->size / 2)};
    if (type->handle == MPI_LONG)
        return (weft_external_form_t){&longs, NULL};
    if (type->handle == MPI_UNSIGNED_LONG)
        return (weft_external_form_t){&unsigned_longs, NULL};
    if (type->handle == MPI_WCHAR)
        return (weft_external_form_t){&wide_characters, NULL};
    if (type->handle == MPI_C_BOOL || type->handle == MPI_CXX_BOOL)
        return (weft_external_form_t){&booleans, NULL};
    return (weft_external_form_t){swapped_of(type->size), NULL};
}

size_t weft_external_size_of_basic(const weft_type_t *type)
{
    weft_external_form_t form = weft_external_form_of(type);
    return weft_external_form_bytes(&form);
}

void weft_external_form_pack(const weft_external_form_t *form, const char *in, char *out,
                             size_t count)
{
    if (form->second == NULL || form->second == form->first) {
        form->first->pack(in, out, form->second == NULL ? count : 2 * count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        form->first->pack(in, out, 1);
        form->second->pack(in + form->first->native, out + form->first->external, 1);
        in += form->first->native + form->second->native;
        out += weft_external_form_bytes(form);
    }
}

void weft_external_form_unpack(const weft_external_form_t *form, const char *in, char *out,
                               size_t count)
{
    if (form->second == NULL || form->second == form->first) {
        form->first->unpack(in, out, form->second == NULL ? count : 2 * count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        form->first->unpack(in, out, 1);
        form->second->unpack(in + form->first->external, out + form->first->native, 1);
        in += weft_external_form_bytes(form);
        out += form->first->native + form->second->native;
    }
}
