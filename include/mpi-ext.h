/* SPDX-License-Identifier: BSD-3-Clause */
/* Where programs look for the extensions of an MPI library; ours are in mpix.h. */
#ifndef MPI_EXT_H_INCLUDED
#define MPI_EXT_H_INCLUDED

#include <mpix.h>

#endif
