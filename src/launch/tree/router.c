/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* accept4 */
#include "launch/tree/router.h"

#include "base/clock.h"
#include "base/fail.h"
#include "base/memory.h"
#include "launch/node/rank_process.h"
#include "launch/plan/host_addresses.h"
#include "mpi.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Messages ---- */

static wl_child_t *child_to(wl_router_t *router, int node)
{
    int child = wl_host_tree_child_to(&router->tree, router->self, node);
    return child < 0 ? NULL : &router->children[child - router->children[0].node];
}

static void pass_message_on(wl_router_t *router, const wl_message_t *message)
{
    if (message->to == WL_TO_ALL) {
        for (int i = 0; i < router->child_count; i++)
            wl_connection_send(&router->children[i].connection, message);
        return;
    }
    wl_child_t *child = child_to(router, message->to);
    wl_connection_send(child != NULL ? &child->connection : &router->up, message);
}

void wl_router_send(wl_router_t *router, int kind, int to, const wl_writer_t *body)
{
    wl_message_t message = {.kind = kind, .to = to, .from = router->self};
    if (body != NULL) {
        message.body = wl_queue_front(&body->body);
        message.bytes = wl_queue_bytes(&body->body);
    }
    if (to == router->self)
        router->ops->deliver(router->context, &message);
    else
        pass_message_on(router, &message);
}

static bool is_node(const wl_router_t *router, int node)
{
    return node >= 0 && node < router->tree.count;
}

/* A message has come from the parent or a child. */
static void take_message(wl_router_t *router, const wl_message_t *message)
{
    if (!is_node(router, message->from) ||
        (message->to != WL_TO_ALL && !is_node(router, message->to)))
        return;
    if (message->to != router->self)
        pass_message_on(router, message);
    if (message->to == router->self || message->to == WL_TO_ALL)
        router->ops->deliver(router->context, message);
}

void wl_router_read_on(wl_router_t *router)
{
    wl_message_t message;
    while (wl_connection_next(&router->up, &message))
        take_message(router, &message);
}

static void router_parent_ready(void *owner, short ready)
{
    wl_router_t *router = owner;
    (void)ready;
    wl_connection_advance(&router->up);
    wl_router_read_on(router);
}

/* ---- Children ---- */

static void lose_child(wl_router_t *router, wl_child_t *child, const char *why)
{
    if (child->state == WL_CHILD_DONE || child->state == WL_CHILD_LOST)
        return;
    child->state = WL_CHILD_LOST;
    router->ops->lost(router->context, child->node, why);
    wl_connection_close(&child->connection); /* `why` may be the text in the connection */
}

static void router_child_ready(void *owner, short ready)
{
    wl_child_t *child = owner;
    wl_router_t *router = child->router;
    wl_message_t message;
    (void)ready;
    wl_connection_advance(&child->connection);
    while (child->state == WL_CHILD_JOINED && wl_connection_next(&child->connection, &message)) {
        if (message.kind == WL_MSG_DONE)
            child->state = WL_CHILD_DONE;
        else
            take_message(router, &message);
    }
    if (child->state == WL_CHILD_JOINED && child->connection.fd < 0)
        lose_child(router, child, child->connection.error);
    else if (child->state == WL_CHILD_DONE)
        wl_connection_close(&child->connection);
}

/* Say why an agent ended before its daemon connected. */
static void explain_end(const siginfo_t *info, char *out, size_t bytes)
{
    if (info->si_code == CLD_EXITED)
        snprintf(out, bytes, "the launch agent ended with exit code %d before the daemon called",
                 info->si_status);
    else
        snprintf(out, bytes, "the launch agent was killed by signal %d (%s)", info->si_status,
                 strsignal(info->si_status));
}

static void router_agent_ended(void *owner, pid_t first)
{
    wl_router_t *router = owner;
    (void)first;
    for (int i = 0; i < router->child_count; i++) {
        wl_child_t *child = &router->children[i];
        siginfo_t info = {0};
        if (child->agent == 0 || waitid(P_PID, (id_t)child->agent, &info, WEXITED | WNOHANG) != 0 ||
            info.si_pid == 0)
            continue;
        child->agent = 0;
        if (child->state != WL_CHILD_STARTING)
            continue;
        char why[128];
        explain_end(&info, why, sizeof(why));
        lose_child(router, child, why);
    }
}

/* ---- Pending connections ---- */

static int listen_at(const struct sockaddr_storage *address, socklen_t bytes, int *port_out)
{
    const int no = 0;
    struct sockaddr_storage bound;
    int fd = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    if (address->ss_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
    if (bind(fd, (const struct sockaddr *)address, bytes) != 0 || listen(fd, SOMAXCONN) != 0 ||
        getsockname(fd, (struct sockaddr *)&bound, &bytes) != 0) {
        close(fd);
        return -1;
    }
    /* The port is at the same place in both kinds of address. */
    *port_out = ntohs(((const struct sockaddr_in *)&bound)->sin_port);
    return fd;
}

/* Listen at one address, or at all ("") for IPv4 and IPv6 where the system has both. */
static int open_listener(const char *at, int *port_out)
{
    struct sockaddr_storage address;
    socklen_t bytes;
    if (wl_parse_address(at[0] != '\0' ? at : "::", 0, &address, &bytes)) {
        int fd = listen_at(&address, bytes, port_out);
        if (fd >= 0 || at[0] != '\0')
            return fd;
    }
    return wl_parse_address("0.0.0.0", 0, &address, &bytes) ? listen_at(&address, bytes, port_out)
                                                            : -1;
}

/* Free the place; the socket belongs to the caller. */
static int take_socket(wl_pending_t *pending)
{
    int fd = pending->fd;
    wl_loop_remove(pending->router->loop, fd);
    pending->fd = -1;
    return fd;
}

static void dismiss_pending(wl_pending_t *pending)
{
    close(take_socket(pending));
}

/* NULL: there is none. */
static wl_pending_t *router_oldest_pending(wl_router_t *router)
{
    wl_pending_t *oldest = NULL;
    for (int i = 0; i < WL_PENDING_MOST; i++) {
        wl_pending_t *each = &router->pending[i];
        if (each->fd >= 0 && (oldest == NULL || each->until_ms < oldest->until_ms))
            oldest = each;
    }
    return oldest;
}

static wl_pending_t *free_pending(wl_router_t *router)
{
    for (int i = 0; i < WL_PENDING_MOST; i++) {
        if (router->pending[i].fd < 0)
            return &router->pending[i];
    }
    wl_pending_t *oldest = router_oldest_pending(router);
    dismiss_pending(oldest);
    return oldest;
}

static void dismiss_silent(void *owner)
{
    wl_router_t *router = owner;
    wl_pending_t *oldest;
    while ((oldest = router_oldest_pending(router)) != NULL && oldest->until_ms <= weft_clock_ms())
        dismiss_pending(oldest);
    wl_timer_set(router->loop, &router->pending_end, oldest == NULL ? INT64_MAX : oldest->until_ms);
}

static bool have_all_called(const wl_router_t *router)
{
    for (int i = 0; i < router->child_count; i++) {
        if (router->children[i].state == WL_CHILD_STARTING)
            return false;
    }
    return true;
}

static bool send_welcome(wl_pending_t *pending)
{
    weft_handshake_welcome(&pending->handshake, pending->router->parent_link.secret, 0);
    return send(pending->fd, pending->handshake.welcome, WEFT_WELCOME_BYTES, MSG_NOSIGNAL) ==
           WEFT_WELCOME_BYTES;
}

static void join_tree(wl_pending_t *pending, int node)
{
    wl_router_t *router = pending->router;
    wl_child_t *child = is_node(router, node) ? child_to(router, node) : NULL;
    if (child == NULL || child->node != node || child->state != WL_CHILD_STARTING ||
        !send_welcome(pending)) {
        dismiss_pending(pending);
        return;
    }
    wl_connection_open(take_socket(pending), &child->connection);
    wl_connection_limit_silence(&child->connection, router->lost_after_s);
    child->state = WL_CHILD_JOINED;
    if (have_all_called(router))
        wl_router_stop_listening(router);
    if (wl_connection_watch(&child->connection, router->loop, router_child_ready, child) ==
        MPI_SUCCESS)
        router->ops->joined(router->context, node);
    else
        lose_child(router, child, weft_fail_text());
}

/* The caller knows the secret, so what it says of itself is true. */
static void take_reply(wl_pending_t *pending)
{
    uint32_t node;
    if (!weft_handshake_accept(&pending->handshake, pending->router->parent_link.secret)) {
        dismiss_pending(pending);
        return;
    }
    weft_handshake_name(&pending->handshake, &node, sizeof(node));
    join_tree(pending, (int)le32toh(node));
}

static void router_pending_ready(void *owner, short ready)
{
    wl_pending_t *pending = owner;
    ssize_t bytes = recv(pending->fd, pending->handshake.reply + pending->got,
                         WEFT_REPLY_BYTES - pending->got, 0);
    (void)ready;
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (bytes > 0)
        pending->got += (size_t)bytes;
    if (bytes <= 0)
        dismiss_pending(pending);
    else if (pending->got == WEFT_REPLY_BYTES)
        take_reply(pending);
}

static void router_say_hello(wl_router_t *router, int fd)
{
    wl_pending_t *pending = free_pending(router);
    *pending =
        (wl_pending_t){.router = router, .fd = fd, .until_ms = weft_clock_ms() + WL_PENDING_MS};
    wl_timer_hasten(router->loop, &router->pending_end, pending->until_ms);
    if (wl_loop_add(router->loop, fd, POLLIN, router_pending_ready, pending) != MPI_SUCCESS ||
        !weft_handshake_begin(&pending->handshake, wl_daemon_protocol) ||
        send(fd, pending->handshake.hello, WEFT_HELLO_BYTES, MSG_NOSIGNAL) != WEFT_HELLO_BYTES)
        dismiss_pending(pending);
}

/* After an error of accept(): true if another try makes sense. Connections that say nothing are the
 * first that descriptors are taken from. */
static bool has_made_room(wl_router_t *router)
{
    wl_pending_t *oldest = router_oldest_pending(router);
    if ((errno != EMFILE && errno != ENFILE) || oldest == NULL)
        return errno == ECONNABORTED || errno == EINTR;
    dismiss_pending(oldest);
    return true;
}

/* A turn takes a limited number, so that others are served in between. */
static void router_listener_ready(void *owner, short ready)
{
    wl_router_t *router = owner;
    (void)ready;
    for (int i = 0; i < WL_PENDING_MOST; i++) {
        int fd = accept4(router->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0)
            router_say_hello(router, fd);
        else if (!has_made_room(router))
            return;
    }
}

/* ---- Start ---- */

static void set_up_children(wl_router_t *router, int first)
{
    for (int i = 0; i < router->child_count; i++)
        router->children[i] =
            (wl_child_t){.router = router, .node = first + i, .connection.fd = -1};
    for (int i = 0; i < WL_PENDING_MOST; i++)
        router->pending[i].fd = -1;
    wl_timer_init(&router->pending_end, dismiss_silent, router);
    wl_loop_add_child_watch(router->loop, &router->agents, router_agent_ended, router);
}

int wl_router_open(const wl_host_tree_t *tree, int self, const wl_connection_t *up, wl_loop_t *loop,
                   wl_router_t *out)
{
    *out = (wl_router_t){.loop = loop, .tree = *tree, .self = self, .listener = -1, .up.fd = -1};
    int first = wl_host_tree_children(tree, self, &out->child_count);
    out->children = weft_alloc_zeroed((size_t)out->child_count + 1, sizeof(*out->children));
    if (out->children == NULL) {
        out->loop = NULL;
        return weft_fail(MPI_ERR_NO_MEM, "connections to %d hosts", out->child_count);
    }
    set_up_children(out, first);
    if (up == NULL)
        return MPI_SUCCESS;
    out->up = *up;
    return wl_connection_watch(&out->up, loop, router_parent_ready, out);
}

static int listen_for_children(wl_router_t *router, const char *interface)
{
    int err = wl_list_addresses(interface, router->parent_link.addresses,
                                sizeof(router->parent_link.addresses));
    if (err != MPI_SUCCESS)
        return err;
    char *all = router->parent_link.addresses;
    if (interface != NULL)
        all[strcspn(all, " ")] = '\0';
    router->listener = open_listener(interface != NULL ? all : "", &router->parent_link.port);
    if (router->listener < 0)
        return weft_fail(MPI_ERR_PORT, "no port can be opened%s%s: %s",
                         interface != NULL ? " at " : "", interface != NULL ? all : "",
                         strerror(errno));
    return wl_loop_add(router->loop, router->listener, POLLIN, router_listener_ready, router);
}

/* A daemon on this host can always use the loopback address. */
static void add_loopback(wl_parent_link_t *parent_link)
{
    size_t used = strlen(parent_link->addresses);
    if (used + sizeof(" 127.0.0.1") <= sizeof(parent_link->addresses))
        snprintf(parent_link->addresses + used, sizeof(parent_link->addresses) - used,
                 "%s127.0.0.1", used > 0 ? " " : "");
}

static void start_child(wl_router_t *router, wl_child_t *child, const wl_agent_plan_t *agent,
                        const char *host)
{
    char text[WL_PARENT_LINK_TEXT_BYTES];
    wl_parent_link_t parent_link = router->parent_link;
    parent_link.node = child->node;
    if (router->listens_everywhere && wl_is_this_host(host))
        add_loopback(&parent_link);
    wl_parent_link_write(&parent_link, text);
    if (wl_agent_start(agent, host, text, &child->agent) != MPI_SUCCESS)
        lose_child(router, child, weft_fail_text());
    explicit_bzero(text, sizeof(text));
}

int wl_router_start(wl_router_t *router, const wl_agent_plan_t *agent,
                    const wl_placement_t *placement, const char *interface)
{
    if (router->child_count == 0)
        return MPI_SUCCESS;
    router->listens_everywhere = interface == NULL;
    int err = listen_for_children(router, interface);
    for (int i = 0; i < router->child_count && err == MPI_SUCCESS; i++) {
        wl_child_t *child = &router->children[i];
        start_child(router, child, agent, placement->hosts[child->node - 1].name);
    }
    return err;
}

/* ---- End ---- */

bool wl_router_is_orphaned(const wl_router_t *router)
{
    return router->self != 0 && router->up.fd < 0;
}

void wl_router_stop_listening(wl_router_t *router)
{
    if (router->listener >= 0) {
        wl_loop_remove(router->loop, router->listener);
        close(router->listener);
    }
    router->listener = -1;
    for (int i = 0; i < WL_PENDING_MOST; i++) {
        if (router->pending[i].fd >= 0)
            dismiss_pending(&router->pending[i]);
    }
    wl_timer_stop(&router->pending_end);
    for (int i = 0; i < router->child_count; i++) {
        if (router->children[i].state == WL_CHILD_STARTING)
            router->children[i].state = WL_CHILD_LOST;
    }
}

bool wl_router_is_alone(const wl_router_t *router)
{
    for (int i = 0; i < router->child_count; i++) {
        if (router->children[i].state <= WL_CHILD_JOINED)
            return false;
    }
    return true;
}

bool wl_router_is_flushed(const wl_router_t *router)
{
    bool is_flushed = wl_connection_is_flushed(&router->up);
    for (int i = 0; i < router->child_count; i++)
        is_flushed = is_flushed && wl_connection_is_flushed(&router->children[i].connection);
    return is_flushed;
}

/* The agent of a daemon that has sent DONE ends in a moment; it gets that time. One that does not
 * die, as when a file system hangs, is left to the init process. */
static void end_agent(const wl_child_t *child)
{
    enum { MOMENT_MS = 500, STEP_MS = 2 };
    int64_t kill_at_ms = weft_clock_ms() + (child->state == WL_CHILD_DONE ? MOMENT_MS : 0);
    bool is_killed = false;
    while (waitpid(child->agent, NULL, WNOHANG) == 0 &&
           weft_clock_ms() < kill_at_ms + WL_KILL_PATIENCE_MS) {
        if (!is_killed && weft_clock_ms() >= kill_at_ms)
            is_killed = kill(child->agent, SIGKILL) == 0;
        poll(NULL, 0, STEP_MS);
    }
}

void wl_router_close(wl_router_t *router)
{
    if (router->loop == NULL)
        return; /* it was never opened */
    wl_loop_remove_child_watch(&router->agents);
    wl_router_stop_listening(router);
    wl_connection_close(&router->up);
    for (int i = 0; i < router->child_count; i++)
        wl_connection_close(&router->children[i].connection);
    for (int i = 0; i < router->child_count; i++) {
        if (router->children[i].agent > 0)
            end_agent(&router->children[i]);
    }
    weft_free(router->children);
    router->children = NULL;
    router->child_count = 0;
}
