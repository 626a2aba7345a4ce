/* SPDX-License-Identifier: BSD-3-Clause */
/* Random numbers that cannot be guessed, for tokens and secrets. */
#ifndef WEFT_BASE_RANDOM_H
#define WEFT_BASE_RANDOM_H

#include <stddef.h>

/** Fill `out` with at most 256 bytes (getrandom(2) gives them whole). MPI_ERR_OTHER with a text. */
int weft_random(void *out, size_t bytes);

#endif
