/* SPDX-License-Identifier: BSD-3-Clause */
/* weft_info --mpit: what the tool information interface (MPI 5.0 section 15.3) shows to tools. */
#ifndef WEFT_INFO_INFO_MPIT_H
#define WEFT_INFO_INFO_MPIT_H

/** Print it. Without words; returns the exit code. */
int weft_info_mpit(int count, char **words);

#endif
