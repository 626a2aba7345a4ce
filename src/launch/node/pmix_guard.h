/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which processes get to the PMIx server. Its library offers a TCP port on the loopback interface
 * to every user of the host, reads what comes there in its own time, and believes the user id that
 * a client states. So accept() of this program is the one that the library calls: it asks the
 * kernel for the user at the other end, and closes connections of other users before a byte of them
 * is read.
 */
#ifndef WEFT_LAUNCH_NODE_PMIX_GUARD_H
#define WEFT_LAUNCH_NODE_PMIX_GUARD_H

/** Let connections of this process's own user through from now on, and no others. */
void wli_pmix_guard(void);

#endif
