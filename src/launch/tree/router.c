/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* accept4 */
#include "launch/tree/router.h"

#include "base/fail.h"
#include "base/memory.h"
#include "launch/plan/host_addresses.h"
#include "mpi.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Messages ---- */

static weft_branch_t *branch_to(weft_relay_t *relay, int node)
{
    int child = weft_host_tree_branch(&relay->tree, relay->self, node);
    return child < 0 ? NULL : &relay->branches[child - relay->branches[0].node];
}

static void pass_on(weft_relay_t *relay, const weft_message_t *message)
{
    if (message->to == WEFT_TO_ALL) {
        for (int i = 0; i < relay->branch_count; i++)
            weft_wire_send(&relay->branches[i].wire, message);
        return;
    }
    weft_branch_t *branch = branch_to(relay, message->to);
    weft_wire_send(branch != NULL ? &branch->wire : &relay->up, message);
}

void weft_relay_send(weft_relay_t *relay, int kind, int to, const weft_writer_t *body)
{
    weft_message_t message = {.kind = kind, .to = to, .from = relay->self};
    if (body != NULL) {
        message.body = weft_queue_front(&body->body);
        message.bytes = weft_queue_bytes(&body->body);
    }
    if (to == relay->self)
        relay->ops->deliver(relay->context, &message);
    else
        pass_on(relay, &message);
}

static bool is_node(const weft_relay_t *relay, int node)
{
    return node >= 0 && node < relay->tree.count;
}

/* From above or below. */
static void take(weft_relay_t *relay, const weft_message_t *message)
{
    if (!is_node(relay, message->from) ||
        (message->to != WEFT_TO_ALL && !is_node(relay, message->to)))
        return;
    if (message->to != relay->self)
        pass_on(relay, message);
    if (message->to == relay->self || message->to == WEFT_TO_ALL)
        relay->ops->deliver(relay->context, message);
}

void weft_relay_read_on(weft_relay_t *relay)
{
    weft_message_t message;
    while (weft_wire_next(&relay->up, &message))
        take(relay, &message);
}

static void parent_ready(void *owner, short ready)
{
    weft_relay_t *relay = owner;
    (void)ready;
    weft_wire_advance(&relay->up);
    weft_relay_read_on(relay);
}

/* ---- Children ---- */

static void lose(weft_relay_t *relay, weft_branch_t *branch, const char *why)
{
    if (branch->state == WEFT_BRANCH_DONE || branch->state == WEFT_BRANCH_LOST)
        return;
    branch->state = WEFT_BRANCH_LOST;
    relay->ops->lost(relay->context, branch->node, why);
    weft_wire_close(&branch->wire); /* `why` may lie in it */
}

static void branch_ready(void *owner, short ready)
{
    weft_branch_t *branch = owner;
    weft_relay_t *relay = branch->relay;
    weft_message_t message;
    (void)ready;
    weft_wire_advance(&branch->wire);
    while (branch->state == WEFT_BRANCH_JOINED && weft_wire_next(&branch->wire, &message)) {
        if (message.kind == WEFT_MSG_DONE)
            branch->state = WEFT_BRANCH_DONE;
        else
            take(relay, &message);
    }
    if (branch->state == WEFT_BRANCH_JOINED && branch->wire.fd < 0)
        lose(relay, branch, branch->wire.error);
    else if (branch->state == WEFT_BRANCH_DONE)
        weft_wire_close(&branch->wire);
}

/* Why an agent has ended before the daemon called. */
static void explain_end(const siginfo_t *info, char *out, size_t bytes)
{
    if (info->si_code == CLD_EXITED)
        snprintf(out, bytes, "the launch agent ended with exit code %d before the daemon called",
                 info->si_status);
    else
        snprintf(out, bytes, "the launch agent was killed by signal %d (%s)", info->si_status,
                 strsignal(info->si_status));
}

static void agent_ended(void *owner, pid_t first)
{
    weft_relay_t *relay = owner;
    (void)first;
    for (int i = 0; i < relay->branch_count; i++) {
        weft_branch_t *branch = &relay->branches[i];
        siginfo_t info = {0};
        if (branch->agent == 0 ||
            waitid(P_PID, (id_t)branch->agent, &info, WEXITED | WNOHANG) != 0 || info.si_pid == 0)
            continue;
        branch->agent = 0;
        if (branch->state != WEFT_BRANCH_STARTING)
            continue;
        char why[128];
        explain_end(&info, why, sizeof(why));
        lose(relay, branch, why);
    }
}

/* ---- Guests ---- */

/* Both kinds of addresses where the system has both. */
static int open_listener(int *port_out)
{
    struct sockaddr_in6 wide = {.sin6_family = AF_INET6, .sin6_addr = in6addr_any};
    struct sockaddr_in narrow = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)};
    const int no = 0, type = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
    int fd = socket(AF_INET6, type, 0);
    if (fd >= 0) {
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
        if (bind(fd, (struct sockaddr *)&wide, sizeof(wide)) != 0) {
            close(fd);
            fd = -1;
        }
    }
    if (fd < 0) {
        fd = socket(AF_INET, type, 0);
        if (fd < 0 || bind(fd, (struct sockaddr *)&narrow, sizeof(narrow)) != 0)
            return -1;
    }
    socklen_t bytes = sizeof(wide);
    if (listen(fd, SOMAXCONN) != 0 || getsockname(fd, (struct sockaddr *)&wide, &bytes) != 0)
        return -1;
    *port_out = ntohs(wide.sin6_port); /* at the same place in both */
    return fd;
}

static weft_guest_t *free_seat(weft_relay_t *relay)
{
    for (int i = 0; i < WEFT_GUESTS; i++) {
        if (relay->guests[i].fd < 0)
            return &relay->guests[i];
    }
    return NULL;
}

/* While all seats are taken the system keeps those who knock. */
static void watch_door(weft_relay_t *relay)
{
    if (relay->listener >= 0)
        wl_loop_set(relay->loop, relay->listener, free_seat(relay) != NULL ? POLLIN : 0);
}

/* The seat becomes free, and its socket is the caller's. */
static int leave_seat(weft_guest_t *guest)
{
    int fd = guest->fd;
    wl_loop_remove(guest->relay->loop, fd);
    guest->fd = -1;
    watch_door(guest->relay);
    return fd;
}

static void dismiss(weft_guest_t *guest)
{
    close(leave_seat(guest));
}

static void join(weft_guest_t *guest, int node)
{
    weft_relay_t *relay = guest->relay;
    weft_branch_t *branch = is_node(relay, node) ? branch_to(relay, node) : NULL;
    if (branch == NULL || branch->node != node || branch->state != WEFT_BRANCH_STARTING ||
        send(guest->fd, guest->greeting.welcome, WEFT_WELCOME_BYTES, MSG_NOSIGNAL) !=
            WEFT_WELCOME_BYTES) {
        dismiss(guest);
        return;
    }
    weft_wire_open(leave_seat(guest), &branch->wire);
    weft_wire_limit_silence(&branch->wire, relay->lost_after_s);
    branch->state = WEFT_BRANCH_JOINED;
    if (weft_wire_watch(&branch->wire, relay->loop, branch_ready, branch) == MPI_SUCCESS)
        relay->ops->joined(relay->context, node);
    else
        lose(relay, branch, weft_fail_text());
}

static void guest_ready(void *owner, short ready)
{
    weft_guest_t *guest = owner;
    int node;
    ssize_t bytes =
        recv(guest->fd, guest->greeting.reply + guest->got, WEFT_REPLY_BYTES - guest->got, 0);
    (void)ready;
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (bytes > 0)
        guest->got += (size_t)bytes;
    if (bytes <= 0 || (guest->got == WEFT_REPLY_BYTES &&
                       !weft_greeting_accept(&guest->greeting, guest->relay->call.secret, &node)))
        dismiss(guest);
    else if (guest->got == WEFT_REPLY_BYTES)
        join(guest, node);
}

static void listener_ready(void *owner, short ready)
{
    weft_relay_t *relay = owner;
    weft_guest_t *guest;
    (void)ready;
    while ((guest = free_seat(relay)) != NULL) {
        int fd = accept4(relay->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
            return;
        *guest = (weft_guest_t){.relay = relay, .fd = fd};
        if (wl_loop_add(relay->loop, fd, POLLIN, guest_ready, guest) != MPI_SUCCESS ||
            !weft_greeting_begin(&guest->greeting) ||
            send(fd, guest->greeting.hello, WEFT_HELLO_BYTES, MSG_NOSIGNAL) != WEFT_HELLO_BYTES)
            dismiss(guest);
    }
    watch_door(relay);
}

/* ---- Start ---- */

static void set_up_children(weft_relay_t *relay, int first)
{
    for (int i = 0; i < relay->branch_count; i++)
        relay->branches[i] = (weft_branch_t){.relay = relay, .node = first + i, .wire.fd = -1};
    for (int i = 0; i < WEFT_GUESTS; i++)
        relay->guests[i].fd = -1;
    wl_loop_add_child_watch(relay->loop, &relay->agents, agent_ended, relay);
}

int weft_relay_open(const weft_host_tree_t *tree, int self, const weft_wire_t *up, wl_loop_t *loop,
                    weft_relay_t *out)
{
    *out = (weft_relay_t){.loop = loop, .tree = *tree, .self = self, .listener = -1, .up.fd = -1};
    int first = weft_host_tree_children(tree, self, &out->branch_count);
    out->branches = weft_alloc_zeroed((size_t)out->branch_count + 1, sizeof(*out->branches));
    if (out->branches == NULL) {
        out->loop = NULL;
        return weft_fail(MPI_ERR_NO_MEM, "connections to %d hosts", out->branch_count);
    }
    set_up_children(out, first);
    if (up == NULL)
        return MPI_SUCCESS;
    out->up = *up;
    return weft_wire_watch(&out->up, loop, parent_ready, out);
}

static int listen_for_children(weft_relay_t *relay, const char *interface)
{
    int err = weft_list_addresses(interface, relay->call.addresses, sizeof(relay->call.addresses));
    if (err != MPI_SUCCESS)
        return err;
    relay->listener = open_listener(&relay->call.port);
    if (relay->listener < 0)
        return weft_fail(MPI_ERR_PORT, "no port can be opened: %s", strerror(errno));
    return wl_loop_add(relay->loop, relay->listener, POLLIN, listener_ready, relay);
}

static void start_branch(weft_relay_t *relay, weft_branch_t *branch, const weft_agent_plan_t *agent,
                         const char *host)
{
    char text[WEFT_CALL_TEXT_BYTES];
    weft_call_t call = relay->call;
    call.node = branch->node;
    size_t used = strlen(call.addresses);
    /* For a daemon on this host, whatever other addresses there are. */
    if (used + sizeof(" 127.0.0.1") <= sizeof(call.addresses) && weft_is_this_host(host))
        snprintf(call.addresses + used, sizeof(call.addresses) - used, "%s127.0.0.1",
                 used > 0 ? " " : "");
    weft_call_write(&call, text);
    if (weft_agent_start(agent, host, text, &branch->agent) != MPI_SUCCESS)
        lose(relay, branch, weft_fail_text());
    explicit_bzero(text, sizeof(text));
}

int weft_relay_start(weft_relay_t *relay, const weft_agent_plan_t *agent,
                     const weft_placement_t *placement, const char *interface)
{
    if (relay->branch_count == 0)
        return MPI_SUCCESS;
    int err = listen_for_children(relay, interface);
    for (int i = 0; i < relay->branch_count && err == MPI_SUCCESS; i++) {
        weft_branch_t *branch = &relay->branches[i];
        start_branch(relay, branch, agent, placement->hosts[branch->node - 1].name);
    }
    return err;
}

/* ---- End ---- */

bool weft_relay_is_orphaned(const weft_relay_t *relay)
{
    return relay->self != 0 && relay->up.fd < 0;
}

void weft_relay_stop_listening(weft_relay_t *relay)
{
    if (relay->listener >= 0) {
        wl_loop_remove(relay->loop, relay->listener);
        close(relay->listener);
    }
    relay->listener = -1;
    for (int i = 0; i < WEFT_GUESTS; i++) {
        if (relay->guests[i].fd >= 0)
            dismiss(&relay->guests[i]);
    }
    for (int i = 0; i < relay->branch_count; i++) {
        if (relay->branches[i].state == WEFT_BRANCH_STARTING)
            relay->branches[i].state = WEFT_BRANCH_LOST;
    }
}

bool weft_relay_is_alone(const weft_relay_t *relay)
{
    for (int i = 0; i < relay->branch_count; i++) {
        if (relay->branches[i].state <= WEFT_BRANCH_JOINED)
            return false;
    }
    return true;
}

bool weft_relay_is_flushed(const weft_relay_t *relay)
{
    bool is_flushed = weft_wire_is_flushed(&relay->up);
    for (int i = 0; i < relay->branch_count; i++)
        is_flushed = is_flushed && weft_wire_is_flushed(&relay->branches[i].wire);
    return is_flushed;
}

/* A daemon that has said good-bye is about to end, and its agent with it: it gets a moment. */
static void end_agent(const weft_branch_t *branch)
{
    enum { MOMENT_MS = 500, STEP_MS = 2 };
    int left = branch->state == WEFT_BRANCH_DONE ? MOMENT_MS / STEP_MS : 0;
    while (waitpid(branch->agent, NULL, WNOHANG) == 0) {
        if (left-- <= 0) {
            kill(branch->agent, SIGKILL);
            waitpid(branch->agent, NULL, 0);
            return;
        }
        poll(NULL, 0, STEP_MS);
    }
}

void weft_relay_close(weft_relay_t *relay)
{
    if (relay->loop == NULL)
        return; /* it was never opened */
    wl_loop_remove_child_watch(&relay->agents);
    weft_relay_stop_listening(relay);
    weft_wire_close(&relay->up);
    for (int i = 0; i < relay->branch_count; i++)
        weft_wire_close(&relay->branches[i].wire);
    for (int i = 0; i < relay->branch_count; i++) {
        if (relay->branches[i].agent > 0)
            end_agent(&relay->branches[i]);
    }
    weft_free(relay->branches);
    relay->branches = NULL;
    relay->branch_count = 0;
}
