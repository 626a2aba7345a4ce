/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* accept4 */
#include "launch/node/pmix_guard.h"

#include "base/log.h"
#include "base/peer_user.h"

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* A client that connects and says nothing holds up the server's thread for so long at most. */
enum { PATIENCE_S = 5 };

static bool is_guarding, knows_users;
static uid_t owner;

void wli_pmix_guard(void)
{
    owner = getuid();
    knows_users = weft_peer_user_open();
    is_guarding = true;
    if (!knows_users)
        WEFT_LOG(WEFT_WARN, "launch",
                 "this system does not tell the users of connections (no sock_diag, no "
                 "/proc/net/tcp), so other users of this host can reach the PMIx server");
}

static bool may_enter(int fd)
{
    uid_t user;
    return !knows_users || (weft_peer_user(fd, &user) && user == owner);
}

static void note_refused_user(void)
{
    static bool has_noted;
    if (!has_noted)
        WEFT_LOG(
            WEFT_WARN, "launch",
            "a process of another user has tried to connect to the PMIx server; its connection "
            "was closed, and so are others");
    has_noted = true;
}

/* The library calls this in place of libc's. It is called on one thread, which does nothing else.
 */
__attribute__((visibility("default"))) int accept(int fd, struct sockaddr *restrict address,
                                                  socklen_t *restrict bytes)
{
    const struct timeval patience = {.tv_sec = PATIENCE_S};
    for (;;) {
        int found = accept4(fd, address, bytes, 0);
        if (found < 0 || !is_guarding)
            return found;
        if (may_enter(found)) {
            setsockopt(found, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
            setsockopt(found, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
            return found;
        }
        close(found);
        note_refused_user();
    }
}
