/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a rank learns that others have died, without the help of a launcher (WEFT_RECOVERY):
 *
 *   same host   the kernel tells: a descriptor of each process (pidfd_open), looked at in progress
 *   others      the transport loses a connection; each rank has some to observe others by (the
 *               neighbours of note_private.h), though the program never talks to them
 *   the rest    whoever learns it first tells its neighbours, which pass it on
 *
 * A process that has called MPI_Finalize and ends is none of these. One that others have taken for
 * dead ends itself, since nobody will talk to it any more.
 */
#ifndef WEFT_FT_DETECTOR_H
#define WEFT_FT_DETECTOR_H

#include <stdbool.h>

/** Take what others tell; before the transports are opened, as they may do so at once. */
void weft_notes_open(void);

/** Set *flag when a process fails, or has failed; NULL: no more. */
void weft_detector_watch(bool *flag);

/** With WEFT_REJOIN: this process goes, to begin anew with all ranks. For the others it is lost, so
 *  that none of them waits for it. It tells them of no failure any more. */
void weft_detector_leave(void);

/** Begin to observe; when the transports are open. Does nothing without WEFT_RECOVERY.
 *  MPI_ERR_NO_MEM, MPI_ERR_INTERN with a text. */
int weft_detector_open(void);
void weft_detector_close(void);

#endif
