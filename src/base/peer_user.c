/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* struct ucred */
#include "base/peer_user.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The two ends of a connection as the kernel's tables have the other end's socket: its own address
 * is the one that is remote here. */
typedef struct ends {
    int family;
    uint32_t local[4], remote[4]; /* in network order; of IPv4 the first word */
    uint16_t local_port, remote_port;
} ends_t;

typedef bool (*find_fn_t)(const ends_t *ends, uid_t *out);

static void set_end(const struct sockaddr_storage *from, uint32_t address[4], uint16_t *port)
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

static bool read_ends(int fd, ends_t *out)
{
    struct sockaddr_storage ours = {0}, theirs = {0};
    socklen_t our_bytes = sizeof(ours), their_bytes = sizeof(theirs);
    if (getsockname(fd, (struct sockaddr *)&ours, &our_bytes) != 0 ||
        getpeername(fd, (struct sockaddr *)&theirs, &their_bytes) != 0)
        return false;
    *out = (ends_t){.family = ours.ss_family};
    set_end(&theirs, out->local, &out->local_port);
    set_end(&ours, out->remote, &out->remote_port);
    return true;
}

/* ---- sock_diag ---- */

typedef struct question {
    struct nlmsghdr head;
    struct inet_diag_req_v2 body;
} question_t;

static question_t question_of(const ends_t *ends)
{
    question_t question = {.head = {.nlmsg_len = sizeof(question),
                                    .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                                    .nlmsg_flags = NLM_F_REQUEST},
                           .body = {.sdiag_family = (__u8)ends->family,
                                    .sdiag_protocol = IPPROTO_TCP,
                                    .idiag_states = ~0U,
                                    .id.idiag_sport = ends->local_port,
                                    .id.idiag_dport = ends->remote_port,
                                    .id.idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}};
    memcpy(question.body.id.idiag_src, ends->local, sizeof(ends->local));
    memcpy(question.body.id.idiag_dst, ends->remote, sizeof(ends->remote));
    return question;
}

static bool read_answer(const char *data, size_t bytes, uid_t *out)
{
    const struct nlmsghdr *head = (const struct nlmsghdr *)data;
    if (bytes < sizeof(*head) || head->nlmsg_type != SOCK_DIAG_BY_FAMILY ||
        bytes < NLMSG_LENGTH(sizeof(struct inet_diag_msg)))
        return false;
    *out = ((const struct inet_diag_msg *)NLMSG_DATA(head))->idiag_uid;
    return true;
}

static bool find_by_sock_diag(const ends_t *ends, uid_t *out)
{
    char data[1024] __attribute__((aligned(NLMSG_ALIGNTO)));
    int diag = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    question_t question = question_of(ends);
    bool is_found = false;
    if (diag >= 0 && send(diag, &question, sizeof(question), 0) == (ssize_t)sizeof(question)) {
        ssize_t bytes = recv(diag, data, sizeof(data), 0);
        is_found = bytes > 0 && read_answer(data, (size_t)bytes, out);
    }
    if (diag >= 0)
        close(diag);
    return is_found;
}

/* ---- /proc/net/tcp ---- */

/* Write both ends as a line of the table has them, with a space before and behind. */
static void write_ends(const ends_t *ends, char *out, size_t bytes)
{
    const uint32_t *a = ends->local, *b = ends->remote;
    unsigned from = ntohs(ends->local_port), to = ntohs(ends->remote_port);
    if (ends->family == AF_INET6)
        snprintf(out, bytes, " %08X%08X%08X%08X:%04X %08X%08X%08X%08X:%04X ", a[0], a[1], a[2],
                 a[3], from, b[0], b[1], b[2], b[3], to);
    else
        snprintf(out, bytes, " %08X:%04X %08X:%04X ", a[0], from, b[0], to);
}

static bool find_in_proc(const ends_t *ends, uid_t *out)
{
    char both[96], line[512];
    bool is_found = false;
    write_ends(ends, both, sizeof(both));
    FILE *table = fopen(ends->family == AF_INET6 ? "/proc/net/tcp6" : "/proc/net/tcp", "re");
    while (table != NULL && !is_found && fgets(line, sizeof(line), table) != NULL) {
        const char *at = strstr(line, both);
        /* state, queues, timer, retransmissions, user */
        is_found = at != NULL && sscanf(at + strlen(both), "%*s %*s %*s %*s %u", out) == 1;
    }
    if (table != NULL)
        fclose(table);
    return is_found;
}

/* ---- Which of them ---- */

static find_fn_t find_tcp_user = find_by_sock_diag;

/* Connect to a port of this process's own; returns the end that was accepted, or -1. */
static int connect_to_self(int *client_out)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof(address);
    int fd = -1, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    *client_out = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&address, bytes) == 0 && listen(listener, 1) == 0 &&
        getsockname(listener, (struct sockaddr *)&address, &bytes) == 0 &&
        connect(*client_out, (struct sockaddr *)&address, bytes) == 0)
        fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (listener >= 0)
        close(listener);
    return fd;
}

bool weft_peer_user_open(void)
{
    static const find_fn_t ways[] = {find_by_sock_diag, find_in_proc};
    int client, fd = connect_to_self(&client);
    ends_t ends;
    uid_t user;
    bool is_found = fd < 0; /* without loopback nobody can connect */
    for (int i = 0; i < 2 && !is_found; i++) {
        is_found = read_ends(fd, &ends) && ways[i](&ends, &user) && user == getuid();
        find_tcp_user = ways[i];
    }
    if (client >= 0)
        close(client);
    if (fd >= 0)
        close(fd);
    return is_found;
}

bool weft_peer_user(int fd, uid_t *out)
{
    struct ucred credentials;
    struct sockaddr_storage address = {0};
    socklen_t bytes = sizeof(address), credential_bytes = sizeof(credentials);
    ends_t ends;
    if (getsockname(fd, (struct sockaddr *)&address, &bytes) != 0)
        return false;
    if (address.ss_family != AF_UNIX)
        return read_ends(fd, &ends) && find_tcp_user(&ends, out);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &credential_bytes) != 0)
        return false;
    *out = credentials.uid;
    return true;
}
