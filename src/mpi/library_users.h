/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who uses the library: the World model (MPI_Init to MPI_Finalize) and each open session, in any
 * order and from any thread (MPI 5.0 section 11.3).
 *
 *              first user                       last user
 *   nothing  ------------->  running  ------------------------>  nothing   (MPI_Init alone)
 *                               ^    --------------------------> at rest   (with sessions)
 *                               |            next user               |
 *                                ------------------------------------
 *
 * Sessions end at each process by themselves, so that one process may be without any while its
 * peers still have some: connections stay open until the process ends. The end of a process at rest
 * is no failure; launchers other than Weft's hear of it when the process calls exit(). In a process
 * that has never had a session, MPI_Finalize releases everything; a session that it opens later
 * starts the library anew, together with the other processes of the job, which must have done the
 * same. With WEFT_REJOIN each last user releases everything, and the next one starts the library
 * anew, with all processes, those that have been started again among them.
 */
#ifndef WEFT_MPI_LIBRARY_USERS_H
#define WEFT_MPI_LIBRARY_USERS_H

/** MPI_Init. Returns an error class with a text. */
int weft_library_enter_world(int thread_level);

/** The first part of MPI_Finalize. MPI_ERR_OTHER with a text: some of what was sent will never be
 * received; the second part is still to come. No other user comes or goes in between. */
int weft_library_end_world(void);
/** The second part. */
int weft_library_leave_world(void);

/** A session is opened. Blocks until all processes of the host have started the library, if this
 * one had not. Returns an error class with a text. */
int weft_library_enter_session(void);

/** A session has ended. MPI_ERR_OTHER with a text: as with weft_library_end_world; the session has
 *  gone all the same. */
int weft_library_leave_session(void);

#endif
