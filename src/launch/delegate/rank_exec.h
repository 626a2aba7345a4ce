/* SPDX-License-Identifier: BSD-3-Clause */
/* What another launcher starts on each host: it becomes a rank with the program, directory
 * and environment that mpirun's command line says. */
#ifndef WEFT_LAUNCH_DELEGATE_RANK_EXEC_H
#define WEFT_LAUNCH_DELEGATE_RANK_EXEC_H

/**
 * words    [count] PLACES, the host of each rank as "0,0,1"; COUNTS, the ranks of each program as
 *          "2,1"; mpirun's name; mpirun's words, each with a '=' before it: srun would take a ":"
 *          for itself, and prterun rewrites what looks like an option
 * returns  what to exit with: 2, 126 or 127, when there is no program to become
 */
int wl_rank_exec(int count, char **words);

#endif
