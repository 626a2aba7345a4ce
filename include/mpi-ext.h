/* SPDX-License-Identifier: BSD-3-Clause */
/* Some programs look here for the extensions of an MPI library; Weft's are in mpix.h. */
#ifndef MPI_EXT_H_INCLUDED
#define MPI_EXT_H_INCLUDED

#include <mpix.h>

#endif
