/* SPDX-License-Identifier: BSD-3-Clause */
/* What MPI_INFO_ENV and MPI_Info_create_env say about this process (MPI 5.0 section 10, 11.2.1). */
#ifndef WEFT_OBJECT_INFO_ENV_H
#define WEFT_OBJECT_INFO_ENV_H

#include "object/info.h"

#include <stdbool.h>

/**
 * Set command, argv, host, arch and wdir, as far as they are known: the same at any time of a
 * process, as MPI_Info_create_env promises.
 *
 * argc, argv   of main; argc 0: the kernel is asked for them
 * returns      MPI_SUCCESS, MPI_ERR_NO_MEM
 */
int weft_info_describe_process(weft_info_t *info, int argc, char *const argv[]);

/** Set what start-up has found out, and only MPI_INFO_ENV says: maxprocs, soft and thread_level.
 *  MPI_ERR_NO_MEM. MPI runs. */
int weft_info_describe_job(weft_info_t *info);

/** "MPI_THREAD_SINGLE" and so on. */
const char *weft_thread_level_name(int level);
/** The reverse; false: there is no such level, and *out stays as it was. */
bool weft_thread_level_read(const char *name, int *out);

#endif
