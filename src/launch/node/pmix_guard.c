/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* accept4, struct ucred */
#include "launch/node/pmix_guard.h"

#include "base/log.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* A client that connects and says nothing holds up the server's thread for so long at most. */
enum { PATIENCE_S = 5 };

static bool is_guarded;
static uid_t owner;

void wli_pmix_guard(void)
{
    owner = getuid();
    is_guarded = true;
}

/* ---- The user at the other end of a TCP connection ---- */

typedef struct question {
    struct nlmsghdr head;
    struct inet_diag_req_v2 body;
} question_t;

/* An address as sock_diag(7) has it, and the port. */
static void set_address(const struct sockaddr_storage *from, __be32 address[4], __be16 *port)
{
    if (from->ss_family == AF_INET6) {
        const struct sockaddr_in6 *wide = (const struct sockaddr_in6 *)from;
        memcpy(address, &wide->sin6_addr, sizeof(wide->sin6_addr));
        *port = wide->sin6_port;
    } else {
        const struct sockaddr_in *narrow = (const struct sockaddr_in *)from;
        address[0] = narrow->sin_addr.s_addr;
        *port = narrow->sin_port;
    }
}

/* The other end's socket has our addresses the other way round. */
static bool ask_for_peer(int fd, question_t *out)
{
    struct sockaddr_storage ours = {0}, theirs = {0};
    socklen_t our_bytes = sizeof(ours), their_bytes = sizeof(theirs);
    if (getsockname(fd, (struct sockaddr *)&ours, &our_bytes) != 0 ||
        getpeername(fd, (struct sockaddr *)&theirs, &their_bytes) != 0)
        return false;
    *out = (question_t){.head = {.nlmsg_len = sizeof(*out),
                                 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                                 .nlmsg_flags = NLM_F_REQUEST},
                        .body = {.sdiag_family = (__u8)ours.ss_family,
                                 .sdiag_protocol = IPPROTO_TCP,
                                 .idiag_states = ~0U,
                                 .id.idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}};
    set_address(&theirs, out->body.id.idiag_src, &out->body.id.idiag_sport);
    set_address(&ours, out->body.id.idiag_dst, &out->body.id.idiag_dport);
    return true;
}

static bool read_user(const char *data, size_t bytes, uid_t *out)
{
    const struct nlmsghdr *head = (const struct nlmsghdr *)data;
    if (bytes < sizeof(*head) || head->nlmsg_type != SOCK_DIAG_BY_FAMILY ||
        bytes < NLMSG_LENGTH(sizeof(struct inet_diag_msg)))
        return false;
    *out = ((const struct inet_diag_msg *)NLMSG_DATA(head))->idiag_uid;
    return true;
}

/* false: the kernel does not know, so the other end is not on this host, or has gone. */
static bool find_tcp_user(int fd, uid_t *out)
{
    question_t question;
    char data[1024] __attribute__((aligned(NLMSG_ALIGNTO)));
    int diag = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    bool is_found = false;
    if (diag >= 0 && ask_for_peer(fd, &question) &&
        send(diag, &question, sizeof(question), 0) == (ssize_t)sizeof(question)) {
        ssize_t bytes = recv(diag, data, sizeof(data), 0);
        is_found = bytes > 0 && read_user(data, (size_t)bytes, out);
    }
    if (diag >= 0)
        close(diag);
    return is_found;
}

static bool find_user(int fd, uid_t *out)
{
    struct ucred credentials;
    struct sockaddr_storage address = {0};
    socklen_t bytes = sizeof(address), credential_bytes = sizeof(credentials);
    if (getsockname(fd, (struct sockaddr *)&address, &bytes) != 0)
        return false;
    if (address.ss_family != AF_UNIX)
        return find_tcp_user(fd, out);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &credential_bytes) != 0)
        return false;
    *out = credentials.uid;
    return true;
}

/* ---- accept() ---- */

static bool may_enter(int fd)
{
    uid_t user;
    return find_user(fd, &user) && user == owner;
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
        if (found < 0 || !is_guarded)
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
