/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each argument of each function of the library gets each of its bad values, while all others are
 * valid. The call must fail with the right class, call the right error handler once, with a text
 * that names the argument and its value, and change nothing; MPI works afterwards, and nothing
 * leaks. The cases are made by every_function_cases.py from arguments.list.
 *
 * every_function [WORD]: only functions whose names contain the word, each case told on stderr.
 */
#include "../held_memory.h"
#include "fixture.h"

#include <ctype.h>

enum { ROUNDS = 25 };

typedef struct tried_function {
    const char *name;
    void (*try_arguments)(void);
    int least_ranks;
} tried_function_t;

static const char *function, *spoken; /* the function that is called, and its name without _c */
static int is_announced, most_failures = 10;

static void begin_function(const char *name, const char *spoken_name)
{
    function = name;
    spoken = spoken_name;
}

/* ---- one case ---- */

typedef struct bad_case {
    const char *parameter, *value;
    int first_class, second_class; /* either is right */
    const void *handle;            /* whose error handler hears of it */
    const char *texts[2];
} bad_case_t;

static bad_case_t bad; /* the case that is tried */

/* "-1"; the last of a few texts. */
static const char *number_text(long long number)
{
    static char texts[4][24];
    static int last;
    char *text = texts[last = (last + 1) % 4];
    snprintf(text, sizeof(texts[0]), "%lld", number);
    return text;
}

static void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void complain(const char *format, ...)
{
    if (++expect_failures > most_failures)
        return;
    char text[1200];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof(text), format, values);
    va_end(values);
    fprintf(stderr, "rank %d of %d: %s, %s is %s: %s\n", rank, size, function, bad.parameter,
            bad.value, text);
}

static int is_part_of_word(char letter)
{
    return isalnum((unsigned char)letter) || letter == '_';
}

/* Does the text have this as whole words? */
static int has_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *found = strstr(text, word); found != NULL; found = strstr(found + 1, word)) {
        int begins = found == text || !is_part_of_word(found[-1]) || !is_part_of_word(word[0]);
        if (begins && (!is_part_of_word(found[length]) || !is_part_of_word(word[length - 1])))
            return 1;
    }
    return 0;
}

static int check_class(int code)
{
    int error_class = expect_class(code);
    if (error_class == bad.first_class || error_class == bad.second_class)
        return 1;
    complain("the error's class is %d, not %d (%s)", error_class, bad.first_class, heard.text);
    return 0;
}

static void check_handler(int code)
{
    if (heard.times != 1)
        complain("error handlers were called %d times", heard.times);
    if (heard.handle != bad.handle)
        complain("the error handler of %p was called, not that of %p", heard.handle, bad.handle);
    if (heard.code != code)
        complain("the handler got code %d, but %d was returned", heard.code, code);
    if (strcmp(heard.function, spoken) != 0)
        complain("the handler was told of %s", heard.function);
}

static void check_text(void)
{
    for (int i = 0; i < 2; i++) {
        if (!has_word(heard.text, bad.texts[i]))
            complain("the text lacks \"%s\": %s", bad.texts[i], heard.text);
    }
}

static void check_places(void)
{
    size_t first = 0;
    while (first < sizeof(at) && ((char *)&at)[first] == ((char *)&was)[first])
        first++;
    if (first < sizeof(at))
        complain("the call has changed byte %zu of the arguments", first);
}

static void begin_case(const bad_case_t *next_case)
{
    bad = *next_case;
    if (is_announced)
        fprintf(stderr, "%d: %s, %s is %s\n", rank, function, bad.parameter, bad.value);
    heard = (heard_t){.handle = NULL};
    at = was = pristine;
}

static void end_case(int code)
{
    heard_t first = heard;
    if (check_class(code)) {
        heard = first;
        check_handler(code);
        check_text();
    }
    check_places();
}

/* A copy of an array of `at` with one entry changed. */
#define ENTRY(field, index, value)                                                                 \
    change_entry(at.field, sizeof(at.field), (index) * sizeof(at.field[0]),                        \
                 &(__typeof__(at.field[0])){value}, sizeof(at.field[0]))
#define RANGE(first, last, stride) ((int[1][3]){{first, last, stride}})

static void *change_entry(const void *array, size_t bytes, size_t offset, const void *value,
                          size_t value_bytes)
{
    memcpy(at.changed, array, bytes);
    memcpy(at.changed + offset, value, value_bytes);
    memcpy(was.changed, at.changed, sizeof(at.changed));
    return at.changed;
}

/* ---- all cases ---- */

#include "every_function_cases.h"

/* Messages and collectives do what they should. */
static void check_that_mpi_works(void)
{
    int sum = 0, from_previous = -1;
    MPI_Sendrecv(&rank, 1, MPI_INT, next, 9, &from_previous, 1, MPI_INT, previous, 9, comm,
                 MPI_STATUS_IGNORE);
    EXPECT(from_previous, previous);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    EXPECT(sum, size * (size - 1) / 2);
}

static void try_functions(const char *word)
{
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        if (functions[i].least_ranks > size || strstr(functions[i].name, word) == NULL)
            continue;
        functions[i].try_arguments();
        check_that_mpi_works();
    }
}

/* What the library keeps, it has taken in the first round. An object that each round leaked would
 * make its pool grow. */
int main(int argc, char **argv)
{
    size_t held = 0;
    MPI_Init(&argc, &argv);
    expect_begin();
    is_announced = argc > 1;
    most_failures = is_announced ? INT_MAX : most_failures;
    make_fixture();
    for (int i = 0; i < ROUNDS; i++) {
        try_functions(argc > 1 ? argv[1] : "");
        held = i == 0 ? held_blocks() : held;
    }
    EXPECT(held_blocks(), held);
    free_fixture();
    return expect_end();
}
