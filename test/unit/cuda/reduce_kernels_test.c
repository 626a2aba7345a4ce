/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The device's reductions, run on the host and compared with the processor's: every operation on
 * every machine type, bit for bit (except that NaNs may differ), at all alignments, in place, with
 * guards around the results and in the gaps of pairs.
 */
#include "cuda/host_kernels.h"
#include "datatype/small_float.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_SOURCES = 40, MOST_COUNT = 300, ROOM = 160 + MOST_COUNT * 16, PROCESSORS = 2 };

/* ---- the fields of an element ---- */

typedef enum format {
    INTEGER,
    F16,
    BF16,
    E4M3,
    E5M2,
    F32,
    F64,
} format_t;

typedef struct field {
    size_t offset, bytes;
    format_t format;
} field_t;

typedef struct element {
    int fields;
    field_t field[2];
} element_t;

#define FORMAT_OF(member) _Generic(member, float : F32, double : F64, default : INTEGER)
#define MEMBER(ctype, member)                                                                      \
    {                                                                                              \
        offsetof(ctype, member), sizeof(((ctype *)NULL)->member),                                  \
            FORMAT_OF(((ctype *)NULL)->member)                                                     \
    }

#define WHOLE(name, ctype, ...) [WEFT_MACHINE_##name] = {1, {{0, sizeof(ctype), INTEGER}}},
#define REAL(name, ctype, ...)  [WEFT_MACHINE_##name] = {1, {{0, sizeof(ctype), name}}},
#define BOTH(name, part, ...)                                                                      \
    [WEFT_MACHINE_##name] = {2, {{0, BYTES_##part, part}, {BYTES_##part, BYTES_##part, part}}},
#define PAIR(name, ctype, ...)                                                                     \
    [WEFT_MACHINE_##name] = {2, {MEMBER(ctype, value), MEMBER(ctype, index)}},
enum { BYTES_F16 = 2, BYTES_F32 = 4, BYTES_F64 = 8 };

static const element_t elements[WEFT_MACHINE_COUNT] = {
    WEFT_UNSIGNED(WHOLE, ) WEFT_SIGNED(WHOLE, ) WEFT_SMALL_FLOATS(REAL, )
        WEFT_REALS_ON_DEVICE(REAL, ) WEFT_COMPLEXES_ON_DEVICE(BOTH, ) WEFT_HALF_COMPLEXES(BOTH, )
            WEFT_PAIRS_ON_DEVICE(PAIR, )};

static double real_of(const field_t *field, const void *at)
{
    const uint8_t byte = *(const uint8_t *)at;
    uint16_t half;
    float single;
    double value;
    if (field->format == E4M3)
        return (double)weft_float_of_E4M3(byte);
    if (field->format == E5M2)
        return (double)weft_float_of_E5M2(byte);
    memcpy(&half, at, sizeof(half));
    if (field->format == F16)
        return (double)weft_float_of_F16(half);
    if (field->format == BF16)
        return (double)weft_float_of_BF16(half);
    memcpy(&single, at, sizeof(single));
    if (field->format == F32)
        return (double)single;
    memcpy(&value, at, sizeof(value));
    return value;
}

static void put_real(const field_t *field, double value, void *at)
{
    const float single = (float)value;
    const uint16_t half =
        field->format == F16 ? weft_F16_of_float(single) : weft_BF16_of_float(single);
    if (field->format == F64)
        memcpy(at, &value, sizeof(value));
    else if (field->format == F32)
        memcpy(at, &single, sizeof(single));
    else if (field->bytes == sizeof(half))
        memcpy(at, &half, sizeof(half));
    else
        *(uint8_t *)at =
            field->format == E4M3 ? weft_E4M3_of_float(single) : weft_E5M2_of_float(single);
}

/* Numbers of one size, so that sums are rounded and values tie; sometimes a special one. */
static void fill_real(const field_t *field, void *at)
{
    static const double special[] = {
        NAN,   (double)INFINITY, -(double)INFINITY, -0.0, 0.0, 65504, 3e38, 1.7e308, 6e-8, 1e-39,
        5e-324};
    const unsigned choice = random_bits() % 32;
    if (choice < sizeof(special) / sizeof(special[0]))
        put_real(field, special[choice], at);
    else
        put_real(field, ((int)(random_bits() % 400) - 200) / 7.0, at);
}

static void fill_field(const field_t *field, char *at)
{
    unsigned bits[4] = {random_bits(), random_bits(), random_bits(), random_bits()};
    if (field->format != INTEGER) {
        fill_real(field, at);
        return;
    }
    if (random_bits() % 2 == 0) /* small: for logical values and ties */
        memset(bits, 0, sizeof(bits)), bits[0] = random_bits() % 3;
    memcpy(at, bits, field->bytes);
}

static bool is_nan(const field_t *field, const void *at)
{
    return field->format != INTEGER && isnan(real_of(field, at));
}

/* ---- what is expected ---- */

typedef struct trial {
    const weft_op_t *op;
    const weft_type_t *type;
    weft_kernel_t kernel;
    size_t count;
    int sources, destinations;
    int in_place; /* the source that is the first destination; -1: none */
    bool rounds;  /* after each operation */
    unsigned char *source[MOST_SOURCES], *destination[MOST_SOURCES];
} trial_t;

/* Floats of 16 and 8 bits are added up as floats and rounded once, where the processor's kernels
 * round each time; the device does so, too, if it is told to. */
static bool is_rounded_once(const trial_t *trial)
{
    const element_t *element = &elements[trial->type->machine];
    const bool is_small = element->field[0].format >= F16 && element->field[0].format <= E5M2;
    return is_small && !trial->rounds &&
           (trial->op->kind == WEFT_OP_sum || trial->op->kind == WEFT_OP_prod);
}

static void expect_rounded_once(const trial_t *trial, size_t at, unsigned char *out)
{
    const element_t *element = &elements[trial->type->machine];
    const field_t *field = element->field;
    float left[2] = {0, 0};
    for (int i = 0; i < trial->sources; i++) {
        float right[2] = {0, 0};
        for (int j = 0; j < element->fields; j++)
            right[j] = (float)real_of(&field[j], trial->source[i] + at + field[j].offset);
        const float re = left[0] * right[0] - left[1] * right[1];
        const float im = left[0] * right[1] + left[1] * right[0];
        const bool is_sum = trial->op->kind == WEFT_OP_sum;
        const bool is_complex = element->fields == 2;
        left[0] = i == 0   ? right[0]
                  : is_sum ? left[0] + right[0]
                           : (is_complex ? re : left[0] * right[0]);
        left[1] = i == 0 ? right[1] : is_sum ? left[1] + right[1] : im;
    }
    for (int j = 0; j < element->fields; j++)
        put_real(&field[j], (double)left[j], out + at + field[j].offset);
}

static void expect(const trial_t *trial, unsigned char *out)
{
    const size_t extent = (size_t)trial->type->extent;
    if (!is_rounded_once(trial)) {
        memcpy(out, trial->source[0], trial->count * extent);
        for (int i = 1; i < trial->sources; i++)
            weft_op_apply3(trial->op, trial->type, out, trial->source[i], out, trial->count);
        return;
    }
    for (size_t i = 0; i < trial->count; i++)
        expect_rounded_once(trial, i * extent, out);
}

/* ---- a trial ---- */

/* Writes a real number, or the low bytes of an integer, into 64 characters. */
static const char *text_of(const field_t *field, const void *at, char *out)
{
    uint64_t bits = 0;
    memcpy(&bits, at, field->bytes < sizeof(bits) ? field->bytes : sizeof(bits));
    if (field->format == INTEGER)
        snprintf(out, 64, "0x%llx", (unsigned long long)bits);
    else
        snprintf(out, 64, "%.17g", real_of(field, at));
    return out;
}

static void check_field(const trial_t *trial, const field_t *field, const unsigned char *expected,
                        unsigned char *found)
{
    if (is_nan(field, expected) && is_nan(field, found))
        memcpy(found, expected, field->bytes); /* for the comparison of all bytes */
    if (memcmp(expected, found, field->bytes) != 0)
        fail_msg("%s on %s: %zu elements of %d sources to %d, in place %d: %s, not %s",
                 trial->op->name, trial->type->name, trial->count, trial->sources,
                 trial->destinations, trial->in_place, text_of(field, found, (char[64]){0}),
                 text_of(field, expected, (char[64]){0}));
}

/* `expected` and `found` are whole buffers, in which the elements begin at byte `start`. */
static void check_room(const trial_t *trial, const unsigned char *expected, unsigned char *found,
                       size_t start)
{
    const element_t *element = &elements[trial->type->machine];
    for (size_t i = 0; i < trial->count; i++) {
        const size_t at = start + i * (size_t)trial->type->extent;
        for (int j = 0; j < element->fields; j++) {
            const field_t *field = &element->field[j];
            check_field(trial, field, expected + at + field->offset, found + at + field->offset);
        }
    }
    if (memcmp(expected, found, ROOM) != 0)
        fail_msg("%s on %s: %zu elements: bytes were written beside the result", trial->op->name,
                 trial->type->name, trial->count);
}

static void launch(const trial_t *trial)
{
    const void *source[MOST_SOURCES];
    void *destination[MOST_SOURCES], *list[2 * MOST_SOURCES];
    weft_kernel_call_t call;
    for (int i = 0; i < trial->sources; i++)
        source[i] = device_address(trial->source[i]);
    for (int i = 0; i < trial->destinations; i++)
        destination[i] = device_address(trial->destination[i]);
    weft_kernel_reduction_t reduction = {.kernel = trial->kernel,
                                         .bytes = trial->count * (size_t)trial->type->extent,
                                         .sources = (uint32_t)trial->sources,
                                         .destinations = (uint32_t)trial->destinations,
                                         .rounds = trial->rounds,
                                         .source = source,
                                         .destination = destination,
                                         .list = list};
    weft_call_reduction(&reduction, PROCESSORS, &call);
    if (call.args.reduce.list != NULL)
        call.args.reduce.list = device_address(call.args.reduce.list);
    run_kernel(&call);
}

static unsigned char source_rooms[MOST_SOURCES][ROOM], destination_rooms[MOST_SOURCES][ROOM];

static void run_trial(trial_t *trial)
{
    static unsigned char expected[MOST_SOURCES][ROOM], result[ROOM];
    const size_t bytes = trial->count * (size_t)trial->type->extent;
    memset(result, 0, sizeof(result));
    expect(trial, result);
    if (trial->in_place >= 0)
        trial->destination[0] = trial->source[trial->in_place];
    for (int i = 0; i < trial->destinations; i++) {
        bool is_in_place = i == 0 && trial->in_place >= 0;
        unsigned char *room = is_in_place ? source_rooms[trial->in_place] : destination_rooms[i];
        const size_t start = (size_t)(trial->destination[i] - room);
        const element_t *element = &elements[trial->type->machine];
        memcpy(expected[i], room, ROOM);
        for (size_t j = 0; j < bytes; j += (size_t)trial->type->extent)
            for (int k = 0; k < element->fields; k++)
                memcpy(expected[i] + start + j + element->field[k].offset,
                       result + j + element->field[k].offset, element->field[k].bytes);
    }
    launch(trial);
    for (int i = 0; i < trial->destinations; i++) {
        bool is_in_place = i == 0 && trial->in_place >= 0;
        unsigned char *room = is_in_place ? source_rooms[trial->in_place] : destination_rooms[i];
        check_room(trial, expected[i], room, (size_t)(trial->destination[i] - room));
    }
}

/* Where the data of buffer i begin, by alignment: 0 all at the same offset, 1 all at the same
 * offset that is not aligned for a vector, 2 each at another offset that is aligned for its type, 3
 * anywhere. */
static size_t start_of(const trial_t *trial, int alignment, int i)
{
    const size_t unit = trial->type->alignment,
                 off[] = {0, unit, unit * (size_t)(i % 7), (size_t)(i % 11)};
    return 16 + off[alignment];
}

static void place(trial_t *trial, int alignment)
{
    const element_t *element = &elements[trial->type->machine];
    for (int i = 0; i < MOST_SOURCES; i++) {
        trial->source[i] = source_rooms[i] + start_of(trial, alignment, i);
        trial->destination[i] = destination_rooms[i] + start_of(trial, alignment, i + 3);
    }
    for (int i = 0; i < trial->sources; i++)
        for (size_t j = 0; j < trial->count; j++)
            for (int k = 0; k < element->fields; k++)
                fill_field(&element->field[k], (char *)trial->source[i] +
                                                   j * (size_t)trial->type->extent +
                                                   element->field[k].offset);
}

static void run_pair(const weft_op_t *op, const weft_type_t *type)
{
    static const size_t counts[] = {0, 1, 5, 33, MOST_COUNT};
    static const int sources[] = {1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 32, 33, MOST_SOURCES};
    int round = 0;
    for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
        for (int alignment = 0; alignment < 4; alignment++) {
            for (int turn = 0; turn < 3; turn++, round++) {
                trial_t trial = {.op = op, .type = type, .count = counts[c]};
                trial.kernel = weft_reduce_kernel(op, type);
                trial.sources = sources[(size_t)round % (sizeof(sources) / sizeof(sources[0]))];
                trial.destinations = round % 5 == 4 ? 33 : 1 + round % 3;
                trial.rounds = round % 7 >= 4;
                trial.in_place = round % 2 == 0 ? -1 : (int)random_bits() % trial.sources;
                place(&trial, alignment);
                run_trial(&trial);
            }
        }
    }
}

/* ---- tests ---- */

/* One type for each machine type: the first. */
static int run_types(const weft_op_t *op)
{
    bool is_done[WEFT_MACHINE_COUNT] = {false};
    int found = 0;
    for (uintptr_t value = 0; value < WEFT_PREDEFINED_HANDLES; value++) {
        const weft_type_t *type = weft_type_of((MPI_Datatype)value);
        if (type == NULL || is_done[type->machine] ||
            weft_reduce_kernel(op, type) == WEFT_NO_KERNEL)
            continue;
        is_done[type->machine] = true;
        run_pair(op, type);
        found++;
    }
    return found;
}

static void device_and_processor_agree(void **state)
{
    (void)state;
    int found = 0;
    for (uintptr_t value = 0; value < WEFT_OP_HANDLES; value++) {
        const weft_op_t *op = weft_op_of((MPI_Op)value);
        if (op != NULL)
            found += run_types(op);
    }
    assert_true(found > 100);
}

/* A device has a kernel where the processor has one, except for types that a device lacks. */
static void only_long_floats_have_no_kernel(void **state)
{
    static const bool is_lacking[WEFT_MACHINE_COUNT] = {[WEFT_MACHINE_FLD] = true,
                                                        [WEFT_MACHINE_F128] = true,
                                                        [WEFT_MACHINE_CLD] = true,
                                                        [WEFT_MACHINE_C128] = true,
                                                        [WEFT_MACHINE_FLD_I32] = true};
    (void)state;
    for (uintptr_t op_value = 0; op_value < WEFT_OP_HANDLES; op_value++) {
        const weft_op_t *op = weft_op_of((MPI_Op)op_value);
        for (uintptr_t value = 0; op != NULL && value < WEFT_PREDEFINED_HANDLES; value++) {
            const weft_type_t *type = weft_type_of((MPI_Datatype)value);
            if (type == NULL)
                continue;
            bool is_wanted = weft_op_kernel(op, type) != NULL && !is_lacking[type->machine];
            if ((weft_reduce_kernel(op, type) != WEFT_NO_KERNEL) != is_wanted)
                fail_msg("%s on %s: a kernel is %swanted", op->name, type->name,
                         is_wanted ? "" : "not ");
        }
    }
}

static void names_are_unique(void **state)
{
    (void)state;
    assert_null(weft_kernel_names[WEFT_NO_KERNEL]);
    for (int i = 1; i < WEFT_KERNEL_COUNT; i++)
        for (int j = 1; j < i; j++)
            assert_string_not_equal(weft_kernel_names[i], weft_kernel_names[j]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_unique),
        cmocka_unit_test(only_long_floats_have_no_kernel),
        cmocka_unit_test(device_and_processor_agree),
    };
    int missing = open_kernels();
    return missing != 0 ? missing : cmocka_run_group_tests(tests, NULL, NULL);
}
