/* SPDX-License-Identifier: BSD-3-Clause */
/* How rank 0 listens, and how the other ranks find and reach it. */
#include "pmi/hub_private.h"
#include "pmi/hub_record_private.h"

#include "base/clock.h"
#include "base/config.h"
#include "base/fail.h"
#include "mpi.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    BACKLOG = 4096,
    CONNECT_MS = 3000, /* for a connection to one address */
    HELLO_MS = 1000,   /* for the first word of the hub, after which a store may be there */
    ANSWER_MS = 10000, /* for what the hub says next */
    PAUSE_MOST_MS = 200,
    IN_USE_MS = 5000, /* how long another program may still hold the port */
};

const char wefti_hub_protocol[WEFT_PROTOCOL_BYTES] = {'w', 'e', 'f', 't', '-', 'b', '0', '1'};

static void pause_ms(int ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L}, NULL);
}

/* ---- rank 0 ---- */

/* A host name can mean another address here than elsewhere (127.0.1.1 in /etc/hosts), so only these
 * say that all ranks are on this host. */
static bool is_loopback_address(const char *address)
{
    return strcmp(address, "localhost") == 0 || strncmp(address, "127.", 4) == 0 ||
           strcmp(address, "::1") == 0;
}

/* returns an errno; 0: success */
static int listen_at(const struct sockaddr *address, socklen_t bytes, int *fd_out)
{
    int yes = 1, no = 0;
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return errno;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (address->sa_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
    if (bind(fd, address, bytes) != 0 || listen(fd, BACKLOG) != 0) {
        int error = errno;
        close(fd);
        return error;
    }
    *fd_out = fd;
    return 0;
}

static int listen_everywhere(int port, int *fd_out)
{
    struct sockaddr_in6 wide = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    struct sockaddr_in narrow = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int error = listen_at((struct sockaddr *)&wide, sizeof(wide), fd_out);
    if (error == 0 || error == EADDRINUSE)
        return error;
    return listen_at((struct sockaddr *)&narrow, sizeof(narrow), fd_out);
}

static int listen_at_loopback(const char *address, int port, int *fd_out)
{
    struct sockaddr_in6 wide = {.sin6_family = AF_INET6,
                                .sin6_port = htons((uint16_t)port),
                                .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    struct sockaddr_in narrow = {.sin_family = AF_INET,
                                 .sin_port = htons((uint16_t)port),
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (strchr(address, ':') != NULL)
        return listen_at((struct sockaddr *)&wide, sizeof(wide), fd_out);
    inet_pton(AF_INET, address, &narrow.sin_addr);
    return listen_at((struct sockaddr *)&narrow, sizeof(narrow), fd_out);
}

/* Torch in this process, or the agent that has started it, may have a store where the hub is to be.
 * MPI_ERR_UNSUPPORTED_OPERATION, without a text: so it is. */
static int listen_at_plan(weft_hub_plan_t *plan, int *fd_out)
{
    int port = (int)strtol(plan->port, NULL, 10), error = EADDRINUSE;
    bool is_local = is_loopback_address(plan->address);
    int64_t until_ms = weft_clock_ms() + IN_USE_MS;
    for (int ms = 1; error == EADDRINUSE && weft_clock_ms() < until_ms; ms += ms < 100 ? ms : 0) {
        error = is_local ? listen_at_loopback(plan->address, port, fd_out)
                         : listen_everywhere(port, fd_out);
        if (error == EADDRINUSE && plan->is_store != NULL && plan->is_store(plan->self.state))
            return MPI_ERR_UNSUPPORTED_OPERATION;
        if (error == EADDRINUSE)
            pause_ms(ms);
    }
    if (error == 0)
        return MPI_SUCCESS;
    return weft_fail(MPI_ERR_OTHER, "rank 0 cannot listen at MASTER_PORT %s of MASTER_ADDR %s: %s",
                     plan->port, plan->address, strerror(error));
}

static int port_of(int fd)
{
    struct sockaddr_storage address;
    socklen_t bytes = sizeof(address);
    if (getsockname(fd, (struct sockaddr *)&address, &bytes) != 0)
        return 0;
    return ntohs(address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&address)->sin6_port
                                               : ((struct sockaddr_in *)&address)->sin_port);
}

static int listen_and_tell_store(weft_hub_plan_t *plan, int *fd_out)
{
    int fd, error = listen_everywhere(0, &fd);
    if (error != 0)
        return weft_fail(MPI_ERR_OTHER, "rank 0 cannot listen for the other ranks: %s",
                         strerror(error));
    int err = wefti_hub_record_put(plan, port_of(fd));
    if (err != MPI_SUCCESS)
        close(fd);
    else
        *fd_out = fd;
    return err;
}

int wefti_hub_listen(weft_hub_plan_t *plan, int *fd_out)
{
    *fd_out = -1;
    if (plan->self.size == 1)
        return MPI_SUCCESS; /* nobody comes */
    int err = plan->uses_store ? MPI_ERR_UNSUPPORTED_OPERATION : listen_at_plan(plan, fd_out);
    if (err != MPI_ERR_UNSUPPORTED_OPERATION)
        return err;
    plan->uses_store = true;
    return listen_and_tell_store(plan, fd_out);
}

/* ---- the other ranks: one connection ---- */

/* What went wrong last, for the message when the time is over. */
typedef struct trial {
    weft_hub_plan_t *plan;
    char why[256];
    bool is_refused; /* the hub says why; no further attempt */
    bool is_silent;  /* it has not said hello: it may be a store */
    bool has_met_others;
} hub_trial_t;

static bool wait_for_fd(int fd, short events, int limit_ms)
{
    struct pollfd polled = {.fd = fd, .events = events};
    int64_t until_ms = weft_clock_ms() + limit_ms;
    for (;;) {
        int64_t left_ms = until_ms - weft_clock_ms();
        int found = poll(&polled, 1, left_ms < 0 ? 0 : (int)left_ms);
        if (found > 0)
            return true;
        if (found == 0 || errno != EINTR)
            return false;
    }
}

bool wefti_hub_receive(int fd, void *out, size_t bytes)
{
    uint8_t *at = out;
    while (bytes > 0) {
        ssize_t got = wait_for_fd(fd, POLLIN, ANSWER_MS) ? recv(fd, at, bytes, MSG_DONTWAIT) : 0;
        if (got <= 0 && !(got < 0 && (errno == EAGAIN || errno == EINTR)))
            return false;
        at += got > 0 ? got : 0;
        bytes -= got > 0 ? (size_t)got : 0;
    }
    return true;
}

/* The hub says in a frame why this rank cannot join. */
static void read_refusal(hub_trial_t *trial, int fd)
{
    hub_stream_t stream = {.fd = fd};
    hub_frame_t frame;
    int found = 0;
    while (found == 0 && wait_for_fd(fd, POLLIN, ANSWER_MS)) {
        bool is_there = wefti_hub_stream_read(&stream);
        found = wefti_hub_stream_next(&stream, &frame);
        if (!is_there)
            break;
    }
    trial->is_refused = found > 0 && frame.kind == HUB_REFUSED;
    if (trial->is_refused)
        snprintf(trial->why, sizeof(trial->why), "%.*s", (int)frame.data_bytes,
                 (const char *)frame.data);
    stream.fd = -1;
    wefti_hub_stream_close(&stream);
}

static bool shake_hands(hub_trial_t *trial, int fd)
{
    weft_handshake_t handshake = {0};
    const weft_hub_plan_t *plan = trial->plan;
    hub_introduction_t self = {.rank = htole32((uint32_t)plan->self.rank),
                               .size = htole32((uint32_t)plan->self.size),
                               .opened = htole32((uint32_t)plan->opened)};
    uint32_t verdict = 0;
    snprintf(trial->why, sizeof(trial->why), "what listens there is not rank 0 of this job");
    trial->is_silent = !wait_for_fd(fd, POLLIN, HELLO_MS);
    trial->has_met_others = true;
    if (!wefti_hub_receive(fd, handshake.hello, WEFT_HELLO_BYTES) ||
        !weft_handshake_answer(&handshake, wefti_hub_protocol, plan->secret, &self, sizeof(self)) ||
        send(fd, handshake.reply, WEFT_REPLY_BYTES, MSG_NOSIGNAL) != WEFT_REPLY_BYTES ||
        !wefti_hub_receive(fd, handshake.welcome, WEFT_WELCOME_BYTES) ||
        !weft_handshake_check(&handshake, plan->secret, &verdict))
        return false;
    trial->has_met_others = false;
    if (verdict == HUB_NOT_WELCOME)
        read_refusal(trial, fd);
    else if (verdict != HUB_WELCOME)
        snprintf(trial->why, sizeof(trial->why), "rank 0 has not come back from an earlier start");
    return verdict == HUB_WELCOME;
}

/* returns an errno; 0: success */
static int dial(const struct sockaddr *address, socklen_t bytes, int *fd_out)
{
    int one = 1, error = 0;
    socklen_t error_bytes = sizeof(error);
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return errno;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (connect(fd, address, bytes) != 0 && errno != EINPROGRESS)
        error = errno;
    else if (!wait_for_fd(fd, POLLOUT, CONNECT_MS))
        error = ETIMEDOUT;
    else
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &error_bytes);
    if (error == 0)
        *fd_out = fd;
    else
        close(fd);
    return error;
}

bool wefti_hub_dial(const char *address, const char *port, int *fd_out)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    bool is_open = false;
    if (getaddrinfo(address, port, &hints, &found) != 0)
        return false;
    for (struct addrinfo *at = found; at != NULL && !is_open; at = at->ai_next)
        is_open = dial(at->ai_addr, at->ai_addrlen, fd_out) == 0;
    freeaddrinfo(found);
    return is_open;
}

/* Connect to one address; false: trial->why says why not. */
static bool connect_to(hub_trial_t *trial, const struct sockaddr *address, socklen_t bytes,
                       int *fd_out)
{
    int fd, error = dial(address, bytes, &fd);
    if (error != 0) {
        snprintf(trial->why, sizeof(trial->why), "%s", strerror(error));
        return false;
    }
    if (shake_hands(trial, fd)) {
        *fd_out = fd;
        return true;
    }
    close(fd);
    return false;
}

/* ---- where to ---- */

static bool try_named_address(hub_trial_t *trial, int *fd_out)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    int error = getaddrinfo(trial->plan->address, trial->plan->port, &hints, &found);
    if (error != 0) {
        snprintf(trial->why, sizeof(trial->why), "%s", gai_strerror(error));
        return false;
    }
    bool is_open = false;
    for (struct addrinfo *at = found; at != NULL && !is_open && !trial->is_refused;
         at = at->ai_next)
        is_open = connect_to(trial, at->ai_addr, at->ai_addrlen, fd_out);
    freeaddrinfo(found);
    return is_open;
}

static bool try_recorded_address(hub_trial_t *trial, const hub_address_t *address, uint16_t port,
                                 int *fd_out)
{
    struct sockaddr_in6 wide = {.sin6_family = AF_INET6, .sin6_port = port};
    struct sockaddr_in narrow = {.sin_family = AF_INET, .sin_port = port};
    memcpy(&wide.sin6_addr, address->bytes, sizeof(wide.sin6_addr));
    memcpy(&narrow.sin_addr, address->bytes, sizeof(narrow.sin_addr));
    return address->is_wide ? connect_to(trial, (struct sockaddr *)&wide, sizeof(wide), fd_out)
                            : connect_to(trial, (struct sockaddr *)&narrow, sizeof(narrow), fd_out);
}

/* What the store says may be left by an earlier job, whose port is closed or another program's. So
 * it is read again before each attempt. */
static bool try_recorded(hub_trial_t *trial, int *fd_out, int *err_out)
{
    enum { WAIT_MS = 1000 };
    static const hub_address_t loopback = {.bytes = {127, 0, 0, 1}};
    char host[HUB_IDENTITY_BYTES];
    hub_record_t record;
    *err_out = wefti_hub_record_get(trial->plan, WAIT_MS, &record);
    if (*err_out != MPI_SUCCESS) {
        snprintf(trial->why, sizeof(trial->why), "rank 0 has not come");
        if (*err_out == MPI_ERR_UNSUPPORTED_OPERATION)
            *err_out = MPI_SUCCESS;
        return false;
    }
    memcpy(trial->plan->secret, record.secret, sizeof(record.secret));
    wefti_hub_identify_host(trial->plan->self.host, host, sizeof(host));
    bool is_open = strcmp(host, record.host) == 0 &&
                   try_recorded_address(trial, &loopback, record.port, fd_out);
    for (int i = 0; i < record.count && !is_open && !trial->is_refused; i++)
        is_open = try_recorded_address(trial, &record.addresses[i], record.port, fd_out);
    return is_open;
}

/* " at ADDRESS:PORT", where that is known */
static const char *place_of_hub(const weft_hub_plan_t *plan, char *out, size_t room)
{
    out[0] = '\0';
    if (plan->address != NULL)
        snprintf(out, room, " at %s:%s", plan->address, plan->port);
    return out;
}

static int fail_to_connect(const hub_trial_t *trial)
{
    char place[320];
    place_of_hub(trial->plan, place, sizeof(place));
    if (trial->is_refused)
        return weft_fail(MPI_ERR_OTHER, "rank 0%s does not let this process join: %s", place,
                         trial->why);
    return weft_fail(
        MPI_ERR_OTHER,
        "rank %d cannot reach rank 0%s within the %d s of WEFT_BOOTSTRAP_TIMEOUT: %s%s",
        trial->plan->self.rank, place, weft_config.BOOTSTRAP_TIMEOUT, trial->why,
        trial->has_met_others
            ? "; another program listened there, or one with another WEFT_JOB_TOKEN"
            : "");
}

/* What is silent where the hub should be may be a store, which waits for the first word. */
static void look_for_store(hub_trial_t *trial)
{
    weft_hub_plan_t *plan = trial->plan;
    if (trial->is_silent && plan->is_store != NULL)
        plan->uses_store = plan->is_store(plan->self.state);
    trial->is_silent = false;
}

int wefti_hub_connect(weft_hub_plan_t *plan, int *fd_out)
{
    hub_trial_t trial = {.plan = plan};
    int err = MPI_SUCCESS;
    bool is_open = false;
    for (int ms = 1; !is_open; ms = ms < PAUSE_MOST_MS ? 2 * ms : PAUSE_MOST_MS) {
        is_open = plan->uses_store ? try_recorded(&trial, fd_out, &err)
                                   : try_named_address(&trial, fd_out);
        if (err != MPI_SUCCESS)
            return err;
        if (!is_open && (trial.is_refused || weft_clock_ms() >= plan->limit_ms))
            return fail_to_connect(&trial);
        look_for_store(&trial);
        if (!is_open)
            pause_ms(ms);
    }
    return MPI_SUCCESS;
}
