/* SPDX-License-Identifier: BSD-3-Clause */
#include "datatype/op.h"
#include "datatype/type.h"
#include "mpi.h"
#include "mpix.h"

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

/* Stand-ins for Fortran types that C compilers may not have. */
typedef struct sixteen_bytes {
    _Alignas(16) char bytes[16];
} weft_sixteen_bytes_t;
typedef struct half_complex {
    int16_t part[2];
} weft_half_complex_t;
typedef struct quad_complex {
    weft_sixteen_bytes_t part[2];
} weft_quad_complex_t;

#define MEMBER_BYTES(ctype, member) sizeof(((ctype *)NULL)->member)
#define PAIR_BYTES(ctype)           (MEMBER_BYTES(ctype, value) + MEMBER_BYTES(ctype, index))
#define IS_DENSE_PAIR(ctype)        (sizeof(ctype) == PAIR_BYTES(ctype))

/* The runs of a pair: the value, the index, and the end of the list. */
#define TYPE(...)
#define EXTENSION(...)
#define PAIR(label, ctype, machine)                                                                \
    static const weft_run_t runs_of_##label[] = {                                                  \
        {0, 0},                                                                                    \
        {offsetof(ctype, index), MEMBER_BYTES(ctype, value)},                                      \
        {0, PAIR_BYTES(ctype)},                                                                    \
    };
#include "datatype/types.def"
#undef TYPE
#undef EXTENSION
#undef PAIR

#define OBJECT(label, type_handle, text, ctype, machine_type, group_bits)                          \
    static weft_type_t type_of_##label = {                                                         \
        .object = {.kind = WEFT_KIND_TYPE, .references = 1},                                       \
        .size = sizeof(ctype),                                                                     \
        .extent = sizeof(ctype),                                                                   \
        .true_extent = sizeof(ctype),                                                              \
        .is_dense = true,                                                                          \
        .is_committed = true,                                                                      \
        .can_receive = true,                                                                       \
        .is_predefined = true,                                                                     \
        .machine = WEFT_##machine_type,                                                            \
        .group = WEFT_##group_bits,                                                                \
        .alignment = _Alignof(ctype),                                                              \
        .handle = type_handle,                                                                     \
        .has_layout = true,                                                                        \
        .layout = {.bytes = sizeof(ctype),                                                         \
                   .leaf = WEFT_LEAF_BLOCK,                                                        \
                   .leaf_bytes = sizeof(ctype),                                                    \
                   .block_bytes = sizeof(ctype)},                                                  \
        .elements = 1,                                                                             \
        .name = text,                                                                              \
    };
#define TYPE(label, text, ctype, machine, group)                                                   \
    OBJECT(label, MPI_##label, text, ctype, machine, group)
#define EXTENSION(label, ctype, machine, group)                                                    \
    OBJECT(label, MPIX_##label, "MPIX_" #label, ctype, machine, group)
#define PAIR(label, ctype, machine_type)                                                           \
    static weft_type_t type_of_##label = {                                                         \
        .object = {.kind = WEFT_KIND_TYPE, .references = 1},                                       \
        .size = PAIR_BYTES(ctype),                                                                 \
        .extent = sizeof(ctype),                                                                   \
        .true_extent = offsetof(ctype, index) + MEMBER_BYTES(ctype, index),                        \
        .is_dense = IS_DENSE_PAIR(ctype),                                                          \
        .is_committed = true,                                                                      \
        .can_receive = true,                                                                       \
        .is_predefined = true,                                                                     \
        .machine = WEFT_##machine_type,                                                            \
        .group = WEFT_PAIR,                                                                        \
        .alignment = _Alignof(ctype),                                                              \
        .handle = MPI_##label,                                                                     \
        .has_layout = true,                                                                        \
        .layout = {.bytes = PAIR_BYTES(ctype),                                                     \
                   .leaf = IS_DENSE_PAIR(ctype) ? WEFT_LEAF_BLOCK : WEFT_LEAF_RUNS,                \
                   .leaf_bytes = PAIR_BYTES(ctype),                                                \
                   .block_bytes = IS_DENSE_PAIR(ctype) ? PAIR_BYTES(ctype) : 0,                    \
                   .list_count = 2,                                                                \
                   .runs = runs_of_##label},                                                       \
        .elements = 2,                                                                             \
        .name = "MPI_" #label,                                                                     \
    };
#include "datatype/types.def"
#undef TYPE
#undef EXTENSION
#undef PAIR

weft_type_t *const weft_type_table[WEFT_TYPE_HANDLES] = {
#define TYPE(label, text, ctype, machine, group) [(uintptr_t)(MPI_##label)] = &type_of_##label,
#define PAIR(label, ctype, machine)              [(uintptr_t)(MPI_##label)] = &type_of_##label,
#define EXTENSION(...)
#include "datatype/types.def"
#undef TYPE
#undef EXTENSION
#undef PAIR
};

weft_type_t *const weft_extension_table[WEFT_EXTENSION_HANDLES] = {
#define TYPE(...)
#define PAIR(...)
#define EXTENSION(label, ...)                                                                      \
    [(uintptr_t)(MPIX_##label) - WEFT_EXTENSIONS_BEGIN] = &type_of_##label,
#include "datatype/types.def"
#undef TYPE
#undef EXTENSION
#undef PAIR
};
