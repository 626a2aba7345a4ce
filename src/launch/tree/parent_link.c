/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/tree/parent_link.h"

#include "base/clock.h"
#include "base/fail.h"
#include "base/handshake.h"
#include "launch/loop/event_loop.h"
#include "launch/plan/host_addresses.h"
#include "mpi.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ATTEMPTS_MOST = 64, LIMIT_MS = 30000, PAUSE_MS = 500, CLOSED_MOST = 20 };

/* It ends in its version. */
const char wl_daemon_protocol[WEFT_PROTOCOL_BYTES] = {'w', 'e', 'f', 't', '-', 'd', '0', '3'};

#define SECRET_FORMAT "%08x%08x%08x%08x"
static const char head[] = "weft-daemon 1\n";

/* ---- The text ---- */

void wl_parent_link_write(const wl_parent_link_t *parent_link, char out[WL_PARENT_LINK_TEXT_BYTES])
{
    uint32_t words[4];
    memcpy(words, parent_link->secret, sizeof(words));
    snprintf(out, WL_PARENT_LINK_TEXT_BYTES, "%s" SECRET_FORMAT " %d %d\n%s\n\n", head, words[0],
             words[1], words[2], words[3], parent_link->node, parent_link->port,
             parent_link->addresses);
}

static int parent_parse(const char *text, wl_parent_link_t *out)
{
    unsigned words[4];
    int used = 0;
    wl_parent_link_t parent_link;
    if (strncmp(text, head, strlen(head)) != 0 ||
        sscanf(text + strlen(head), "%8x%8x%8x%8x %d %d%n", &words[0], &words[1], &words[2],
               &words[3], &parent_link.node, &parent_link.port, &used) != 6)
        return weft_fail(MPI_ERR_ARG, "this program is started by mpirun, with a text on its stdin "
                                      "that says whom to call");
    memcpy(parent_link.secret, words, sizeof(parent_link.secret));
    const char *addresses = text + strlen(head) + used + 1;
    snprintf(parent_link.addresses, sizeof(parent_link.addresses), "%.*s",
             (int)strcspn(addresses, "\n"), addresses);
    *out = parent_link;
    return MPI_SUCCESS;
}

int wl_parent_link_read(int fd, wl_parent_link_t *out)
{
    char text[WL_PARENT_LINK_TEXT_BYTES + 1] = "";
    size_t used = 0;
    while (used < WL_PARENT_LINK_TEXT_BYTES && strstr(text, "\n\n") == NULL) {
        ssize_t bytes = read(fd, text + used, WL_PARENT_LINK_TEXT_BYTES - used);
        if (bytes < 0 && errno == EINTR)
            continue;
        if (bytes <= 0)
            break;
        used += (size_t)bytes;
        text[used] = '\0';
    }
    int err = parent_parse(text, out);
    explicit_bzero(text, sizeof(text));
    return err;
}

/* ---- The connection ---- */

typedef enum stage { PAUSING, CONNECTING, WANTS_HELLO, WANTS_WELCOME, FAILED, TRUSTED } stage_t;

/* An attempt to connect to one address. */
typedef struct attempt {
    const wl_parent_link_t *parent_link;
    wl_loop_t *loop;
    struct sockaddr_storage address;
    socklen_t address_bytes;
    int fd; /* -1: none */
    stage_t stage;
    int error;            /* errno of the last failure */
    int closed;           /* how often the other side has closed the connection */
    int64_t try_again_ms; /* while pausing */
    weft_handshake_t handshake;
    size_t got; /* bytes of the message that it is reading */
} attempt_t;

/* A network that has just come up may not have its routes yet; a closed port stays closed. A parent
 * that many others connect to at once closes what it has no place for. */
static bool may_pass(attempt_t *attempt, int error)
{
    if (error == ECONNRESET)
        return ++attempt->closed < CLOSED_MOST;
    return error == EHOSTUNREACH || error == ENETUNREACH || error == ETIMEDOUT ||
           error == ENETDOWN || error == EAGAIN;
}

static void parent_fail_attempt(attempt_t *attempt, int error)
{
    if (attempt->fd >= 0) {
        wl_loop_remove(attempt->loop, attempt->fd);
        close(attempt->fd);
    }
    attempt->fd = -1;
    attempt->error = error;
    attempt->stage = may_pass(attempt, error) ? PAUSING : FAILED;
    attempt->try_again_ms = weft_clock_ms() + PAUSE_MS;
}

/* Go on reading a message; true: all `bytes` are there. */
static bool parent_read_part(attempt_t *attempt, uint8_t *to, size_t bytes)
{
    ssize_t got = recv(attempt->fd, to + attempt->got, bytes - attempt->got, 0);
    if (got > 0)
        attempt->got += (size_t)got;
    else if (got == 0 || (errno != EAGAIN && errno != EINTR))
        parent_fail_attempt(attempt, got == 0 ? ECONNRESET : errno);
    if (attempt->got < bytes)
        return false;
    attempt->got = 0;
    return true;
}

static int connection_error(const attempt_t *attempt)
{
    int error = 0;
    socklen_t bytes = sizeof(error);
    return getsockopt(attempt->fd, SOL_SOCKET, SO_ERROR, &error, &bytes) == 0 ? error : errno;
}

static bool parent_send_reply(const attempt_t *attempt)
{
    /* A new connection always has room for so few bytes. */
    return send(attempt->fd, attempt->handshake.reply, WEFT_REPLY_BYTES, MSG_NOSIGNAL) ==
           WEFT_REPLY_BYTES;
}

static void connected(attempt_t *attempt)
{
    int error = connection_error(attempt);
    if (error != 0)
        parent_fail_attempt(attempt, error);
    else
        attempt->stage = WANTS_HELLO;
    wl_loop_set(attempt->loop, attempt->fd, POLLIN);
}

static void take_hello(attempt_t *attempt)
{
    const wl_parent_link_t *parent_link = attempt->parent_link;
    weft_handshake_t *handshake = &attempt->handshake;
    if (!parent_read_part(attempt, handshake->hello, WEFT_HELLO_BYTES))
        return;
    uint32_t node = htole32((uint32_t)parent_link->node);
    if (weft_handshake_answer(handshake, wl_daemon_protocol, parent_link->secret, &node,
                              sizeof(node)) &&
        parent_send_reply(attempt))
        attempt->stage = WANTS_WELCOME;
    else
        parent_fail_attempt(attempt, EPROTO);
}

static void take_welcome(attempt_t *attempt)
{
    if (!parent_read_part(attempt, attempt->handshake.welcome, WEFT_WELCOME_BYTES))
        return;
    uint32_t verdict;
    if (weft_handshake_check(&attempt->handshake, attempt->parent_link->secret, &verdict))
        attempt->stage = TRUSTED;
    else
        parent_fail_attempt(attempt, EPROTO);
}

static void attempt_ready(void *owner, short ready)
{
    attempt_t *attempt = owner;
    (void)ready;
    if (attempt->stage == CONNECTING)
        connected(attempt);
    else if (attempt->stage == WANTS_HELLO)
        take_hello(attempt);
    else if (attempt->stage == WANTS_WELCOME)
        take_welcome(attempt);
}

static void begin_attempt(attempt_t *attempt)
{
    attempt->stage = CONNECTING;
    attempt->got = 0;
    attempt->fd = socket(attempt->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (attempt->fd < 0 ||
        (connect(attempt->fd, (struct sockaddr *)&attempt->address, attempt->address_bytes) != 0 &&
         errno != EINPROGRESS))
        parent_fail_attempt(attempt, errno);
    else if (wl_loop_add(attempt->loop, attempt->fd, POLLOUT, attempt_ready, attempt) !=
             MPI_SUCCESS)
        parent_fail_attempt(attempt, ENOMEM);
}

static int begin_attempts(const wl_parent_link_t *parent_link, wl_loop_t *loop,
                          attempt_t attempts[ATTEMPTS_MOST])
{
    int count = 0;
    for (const char *rest = parent_link->addresses; *rest != '\0' && count < ATTEMPTS_MOST;) {
        char text[INET6_ADDRSTRLEN];
        size_t length = strcspn(rest, " ");
        attempt_t *attempt = &attempts[count];
        *attempt = (attempt_t){.parent_link = parent_link, .loop = loop, .fd = -1};
        snprintf(text, sizeof(text), "%.*s", (int)length, rest);
        if (wl_parse_address(text, parent_link->port, &attempt->address, &attempt->address_bytes)) {
            begin_attempt(attempt);
            count++;
        }
        rest += length + (rest[length] == ' ');
    }
    return count;
}

/* Start attempts again whose pause is over; returns when the next one is due. */
static int64_t resume(attempt_t *attempts, int count)
{
    int64_t now = weft_clock_ms(), next = INT64_MAX;
    for (int i = 0; i < count; i++) {
        if (attempts[i].stage == PAUSING && attempts[i].try_again_ms <= now)
            begin_attempt(&attempts[i]);
        if (attempts[i].stage == PAUSING && attempts[i].try_again_ms < next)
            next = attempts[i].try_again_ms;
    }
    return next;
}

static bool are_all_failed(const attempt_t *attempts, int count)
{
    for (int i = 0; i < count; i++) {
        if (attempts[i].stage != FAILED)
            return false;
    }
    return true;
}

/* Take a turn of the loop; false: all attempts have failed, or the time is up. */
static bool advance_attempts(attempt_t *attempts, int count, wl_loop_t *loop, int64_t until_ms)
{
    int64_t next = resume(attempts, count), now = weft_clock_ms();
    if (are_all_failed(attempts, count) || now >= until_ms)
        return false;
    if (until_ms < next)
        next = until_ms;
    wl_loop_turn(loop, next < now ? 0 : next - now);
    return true;
}

static int find_trusted(const attempt_t *attempts, int count)
{
    for (int i = 0; i < count; i++) {
        if (attempts[i].stage == TRUSTED)
            return i;
    }
    return -1;
}

static int explain(const wl_parent_link_t *parent_link, const attempt_t *attempts, int count)
{
    int error = count == 0 ? EADDRNOTAVAIL : ETIMEDOUT;
    for (int i = 0; i < count; i++) {
        if (attempts[i].error != 0)
            error = attempts[i].error;
    }
    return weft_fail(MPI_ERR_PORT,
                     "none of the addresses %s (port %d) leads back to the one that started this "
                     "daemon: %s; is there a firewall? (--iface names a network)",
                     parent_link->addresses, parent_link->port, strerror(error));
}

int wl_parent_link_connect(const wl_parent_link_t *parent_link, int *fd_out)
{
    attempt_t attempts[ATTEMPTS_MOST];
    wl_loop_t loop;
    wl_loop_open(&loop);
    int count = begin_attempts(parent_link, &loop, attempts), found = -1;
    int64_t until_ms = weft_clock_ms() + LIMIT_MS;
    while (found < 0 && advance_attempts(attempts, count, &loop, until_ms))
        found = find_trusted(attempts, count);
    int err = found < 0 ? explain(parent_link, attempts, count) : MPI_SUCCESS;
    for (int i = 0; i < count; i++) {
        if (i != found && attempts[i].fd >= 0)
            close(attempts[i].fd);
    }
    wl_loop_close(&loop);
    if (err == MPI_SUCCESS)
        *fd_out = attempts[found].fd;
    return err;
}
