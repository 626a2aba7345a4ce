/* SPDX-License-Identifier: BSD-3-Clause */
/* How many files a process may have open: the soft limit is often 1024, the hard limit far more. */
#ifndef WEFT_BASE_FILE_LIMIT_H
#define WEFT_BASE_FILE_LIMIT_H

#include <stdbool.h>

/** After an EMFILE: raise the soft limit to the hard limit; false: the limit is as before. */
bool weft_file_limit_raise(void);

/** The limit in force; for messages. */
unsigned long weft_file_limit(void);

#endif
