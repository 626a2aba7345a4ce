/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the entry points share. Each is a function of the form that libFuzzer calls, so a file of
 * this folder is linked with clang's -fsanitize=fuzzer (parsers.sh) or with replay.c. An entry
 * point returns 0, keeps nothing from one call to the next, and ends the process when something is
 * wrong.
 */
#ifndef WEFT_TEST_FUZZ_INPUT_H
#define WEFT_TEST_FUZZ_INPUT_H

#define _GNU_SOURCE /* memfd_create, strsep */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* End the process unless `is_so`. */
static inline void fuzz_expect(bool is_so, const char *what)
{
    if (is_so)
        return;
    fprintf(stderr, "wrong: %s\n", what);
    abort();
}

/* A copy in a block of its own, so that a sanitizer detects reads beyond it; to be freed. */
static inline void *fuzz_copy(const void *data, size_t bytes)
{
    char *copy = malloc(bytes > 0 ? bytes : 1);
    fuzz_expect(copy != NULL, "there is no memory for the input");
    if (bytes > 0)
        memcpy(copy, data, bytes);
    return copy;
}

/* The same with a zero behind it. */
static inline char *fuzz_text(const void *data, size_t bytes)
{
    char *text = malloc(bytes + 1);
    fuzz_expect(text != NULL, "there is no memory for the input");
    if (bytes > 0)
        memcpy(text, data, bytes);
    text[bytes] = '\0';
    return text;
}

/* The path of a file with these contents; valid until the next call. */
static inline const char *fuzz_file(const void *data, size_t bytes)
{
    static int fd = -1;
    static char path[32];
    if (fd < 0)
        fd = memfd_create("input", 0);
    fuzz_expect(fd >= 0 && ftruncate(fd, 0) == 0 && pwrite(fd, data, bytes, 0) == (ssize_t)bytes,
                "the file cannot be written");
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return path;
}

/* ---- inputs that are a sequence of decisions ---- */

typedef struct fuzz_input {
    const uint8_t *at;
    size_t left;
} fuzz_input_t;

/* The next byte; 0 when none is left. */
static inline unsigned fuzz_byte(fuzz_input_t *input)
{
    if (input->left == 0)
        return 0;
    input->left--;
    return *input->at++;
}

/* The next two bytes, the low one first. */
static inline unsigned fuzz_short(fuzz_input_t *input)
{
    unsigned low = fuzz_byte(input);
    return low | fuzz_byte(input) << 8;
}

/* Copy the next bytes to `out`; zeros stand for those that are not there. */
static inline void fuzz_fill(fuzz_input_t *input, void *out, size_t bytes)
{
    size_t have = bytes < input->left ? bytes : input->left;
    memset(out, 0, bytes);
    if (have > 0)
        memcpy(out, input->at, have);
    input->at += have;
    input->left -= have;
}

#endif
