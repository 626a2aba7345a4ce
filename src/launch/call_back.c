/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/call_back.h"

#include "base/fail.h"
#include "launch/greeting.h"
#include "launch/launch_clock.h"
#include "mpi.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ATTEMPTS_MOST = 64, LIMIT_MS = 30000 };

#define SECRET_FORMAT "%08x%08x%08x%08x"
static const char head[] = "weft-daemon 1\n";

/* ---- The text ---- */

void weft_call_write(const weft_call_t *call, char out[WEFT_CALL_TEXT_BYTES])
{
    uint32_t words[4];
    memcpy(words, call->secret, sizeof(words));
    snprintf(out, WEFT_CALL_TEXT_BYTES, "%s" SECRET_FORMAT " %d %d\n%s\n\n", head, words[0],
             words[1], words[2], words[3], call->node, call->port, call->addresses);
}

static int parse(const char *text, weft_call_t *out)
{
    unsigned words[4];
    int used = 0;
    weft_call_t call;
    if (strncmp(text, head, strlen(head)) != 0 ||
        sscanf(text + strlen(head), "%8x%8x%8x%8x %d %d%n", &words[0], &words[1], &words[2],
               &words[3], &call.node, &call.port, &used) != 6)
        return weft_fail(MPI_ERR_ARG, "this program is started by mpirun, with a text on its stdin "
                                      "that says whom to call");
    memcpy(call.secret, words, sizeof(call.secret));
    const char *addresses = text + strlen(head) + used + 1;
    snprintf(call.addresses, sizeof(call.addresses), "%.*s", (int)strcspn(addresses, "\n"),
             addresses);
    *out = call;
    return MPI_SUCCESS;
}

int weft_call_read(int fd, weft_call_t *out)
{
    char text[WEFT_CALL_TEXT_BYTES + 1] = "";
    size_t used = 0;
    while (used < WEFT_CALL_TEXT_BYTES && strstr(text, "\n\n") == NULL) {
        ssize_t bytes = read(fd, text + used, WEFT_CALL_TEXT_BYTES - used);
        if (bytes < 0 && errno == EINTR)
            continue;
        if (bytes <= 0)
            break;
        used += (size_t)bytes;
        text[used] = '\0';
    }
    int err = parse(text, out);
    explicit_bzero(text, sizeof(text));
    return err;
}

/* ---- The connection ---- */

typedef enum stage { CONNECTING, WANTS_HELLO, WANTS_WELCOME, FAILED, TRUSTED } stage_t;

/* One address. */
typedef struct attempt {
    int fd;
    stage_t stage;
    weft_greeting_t greeting;
    size_t got; /* bytes of what it wants */
} attempt_t;

static bool parse_address(const char *text, int port, struct sockaddr_storage *out,
                          socklen_t *bytes_out)
{
    struct sockaddr_in *narrow = (struct sockaddr_in *)out;
    struct sockaddr_in6 *wide = (struct sockaddr_in6 *)out;
    memset(out, 0, sizeof(*out));
    if (inet_pton(AF_INET, text, &narrow->sin_addr) == 1) {
        narrow->sin_family = AF_INET;
        narrow->sin_port = htons((uint16_t)port);
        *bytes_out = sizeof(*narrow);
        return true;
    }
    if (inet_pton(AF_INET6, text, &wide->sin6_addr) != 1)
        return false;
    wide->sin6_family = AF_INET6;
    wide->sin6_port = htons((uint16_t)port);
    *bytes_out = sizeof(*wide);
    return true;
}

static bool begin_attempt(const char *text, int port, attempt_t *out)
{
    struct sockaddr_storage address;
    socklen_t bytes;
    if (!parse_address(text, port, &address, &bytes))
        return false;
    int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    if (connect(fd, (struct sockaddr *)&address, bytes) != 0 && errno != EINPROGRESS) {
        close(fd);
        return false;
    }
    *out = (attempt_t){.fd = fd};
    return true;
}

static int begin_attempts(const weft_call_t *call, attempt_t attempts[ATTEMPTS_MOST])
{
    int count = 0;
    for (const char *rest = call->addresses; *rest != '\0' && count < ATTEMPTS_MOST;) {
        char text[INET6_ADDRSTRLEN];
        size_t length = strcspn(rest, " ");
        snprintf(text, sizeof(text), "%.*s", (int)length, rest);
        count += begin_attempt(text, call->port, &attempts[count]);
        rest += length + (rest[length] == ' ');
    }
    return count;
}

/* Read on; true when all `bytes` are there. */
static bool fill(attempt_t *attempt, uint8_t *to, size_t bytes)
{
    ssize_t got = recv(attempt->fd, to + attempt->got, bytes - attempt->got, 0);
    if (got > 0)
        attempt->got += (size_t)got;
    else if (got == 0 || (errno != EAGAIN && errno != EINTR))
        attempt->stage = FAILED;
    if (attempt->got < bytes)
        return false;
    attempt->got = 0;
    return true;
}

static bool is_connected(const attempt_t *attempt)
{
    int error = 0;
    socklen_t bytes = sizeof(error);
    return getsockopt(attempt->fd, SOL_SOCKET, SO_ERROR, &error, &bytes) == 0 && error == 0;
}

static bool send_reply(const attempt_t *attempt)
{
    /* So few bytes never wait on a new connection. */
    return send(attempt->fd, attempt->greeting.reply, WEFT_REPLY_BYTES, MSG_NOSIGNAL) ==
           WEFT_REPLY_BYTES;
}

static void advance(attempt_t *attempt, const weft_call_t *call)
{
    weft_greeting_t *greeting = &attempt->greeting;
    switch (attempt->stage) {
    case CONNECTING:
        attempt->stage = is_connected(attempt) ? WANTS_HELLO : FAILED;
        break;
    case WANTS_HELLO:
        if (!fill(attempt, greeting->hello, WEFT_HELLO_BYTES))
            break;
        attempt->stage =
            weft_greeting_answer(greeting, call->secret, call->node) && send_reply(attempt)
                ? WANTS_WELCOME
                : FAILED;
        break;
    case WANTS_WELCOME:
        if (fill(attempt, greeting->welcome, WEFT_WELCOME_BYTES))
            attempt->stage = weft_greeting_check(greeting, call->secret) ? TRUSTED : FAILED;
        break;
    default:
        break;
    }
}

/* Wait and advance what is ready; -1: nothing is left to wait for, else any number. */
static int take_turn(attempt_t *attempts, int count, const weft_call_t *call, int64_t until_ms)
{
    struct pollfd polls[ATTEMPTS_MOST];
    int open = 0;
    for (int i = 0; i < count; i++) {
        bool is_open = attempts[i].stage != FAILED;
        polls[i] = (struct pollfd){.fd = is_open ? attempts[i].fd : -1,
                                   .events = attempts[i].stage == CONNECTING ? POLLOUT : POLLIN};
        open += is_open;
    }
    int64_t left = until_ms - weft_now_ms();
    if (open == 0 || left <= 0)
        return -1;
    int ready = poll(polls, (nfds_t)count, (int)left);
    for (int i = 0; i < count && ready > 0; i++) {
        if (polls[i].revents != 0)
            advance(&attempts[i], call);
    }
    return 0;
}

static int find_trusted(const attempt_t *attempts, int count)
{
    for (int i = 0; i < count; i++) {
        if (attempts[i].stage == TRUSTED)
            return i;
    }
    return -1;
}

int weft_call_connect(const weft_call_t *call, int *fd_out)
{
    attempt_t attempts[ATTEMPTS_MOST];
    int count = begin_attempts(call, attempts), found = -1;
    int64_t until_ms = weft_now_ms() + LIMIT_MS;
    while (found < 0 && take_turn(attempts, count, call, until_ms) >= 0)
        found = find_trusted(attempts, count);
    for (int i = 0; i < count; i++) {
        if (i != found)
            close(attempts[i].fd);
    }
    if (found < 0)
        return weft_fail(MPI_ERR_PORT,
                         "none of the addresses %s (port %d) leads back to the one that started "
                         "this daemon; is there a firewall? (--iface names a network)",
                         call->addresses, call->port);
    *fd_out = attempts[found].fd;
    return MPI_SUCCESS;
}
