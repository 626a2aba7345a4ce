/* SPDX-License-Identifier: BSD-3-Clause */
/* How many files a process may have open: the soft limit is often 1024, the hard limit far more. */
#ifndef WEFT_BASE_FILE_LIMIT_H
#define WEFT_BASE_FILE_LIMIT_H

#include <stdbool.h>

/** Where descriptors are short: raise the soft limit to the hard limit; false: it is as before. */
bool weft_file_limit_raise(void);

/** The limit in force. */
unsigned long weft_file_limit(void);

#endif
