/* SPDX-License-Identifier: BSD-3-Clause */
/* What an ELF file says of the libraries that it is linked with (ELF specification, part 2). */
#ifndef WEFT_LAUNCH_MPIRUN_PROGRAM_FILE_H
#define WEFT_LAUNCH_MPIRUN_PROGRAM_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* A file in memory. */
typedef struct wl_program_file {
    const char *data; /* [bytes] */
    size_t bytes;
} wl_program_file_t;

/* Map a file until wl_program_file_close; false: it cannot be read, or is empty. */
bool wl_program_file_open(const char *path, wl_program_file_t *out);
void wl_program_file_close(const wl_program_file_t *file);

/* Copy the path of the dynamic loader that the file asks for; false: it asks for none, or is not
 * an ELF file of this word size. */
bool wl_program_file_loader(const wl_program_file_t *file, char out[PATH_MAX]);

/* Are all libraries that the file is linked with part of the C and C++ run-time? false as well
 * where its table of them cannot be read. */
bool wl_program_file_is_plain(const wl_program_file_t *file);

#endif
