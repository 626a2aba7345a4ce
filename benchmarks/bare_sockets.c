/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weft_latency and weft_bw over bare TCP sockets, without an MPI library. No library over TCP can
 * be much faster with large messages, so compare shows this program beside the libraries.
 *
 *     mpirun --host h1,h2 -n 2 bare_sockets latency|bw [-s 8,1K,1M] [-t SECONDS]
 *
 * Any launcher will do that sets RANK, MASTER_ADDR and MASTER_PORT, as mpirun does. The lines of
 * output are those of --json of the other benchmarks. Both sides poll.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { WINDOW = 64, WARM_UP = 20 };

typedef struct link {
    int fd, rank;
    char *data;
} link_t;

static void fail(const char *what)
{
    fprintf(stderr, "bare_sockets: %s: %s\n", what, strerror(errno));
    exit(1);
}

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* ---- the connection ---- */

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    if (value == NULL) {
        fprintf(stderr, "bare_sockets: %s is not set: start it by Weft's mpirun, with -n 2\n",
                name);
        exit(2);
    }
    return value;
}

static int accept_peer(void)
{
    int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    struct sockaddr_in own = {.sin_family = AF_INET,
                              .sin_port = htons((uint16_t)atoi(variable("MASTER_PORT")))};
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(listener, (struct sockaddr *)&own, sizeof(own)) != 0 || listen(listener, 1) != 0)
        fail("listening");
    int fd = accept(listener, NULL, NULL);
    if (fd < 0)
        fail("accept");
    close(listener);
    return fd;
}

/* Repeats, since the peer may not listen yet. */
static int connect_to_peer(void)
{
    struct addrinfo wanted = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found;
    const struct timespec pause = {.tv_nsec = 10000000};
    if (getaddrinfo(variable("MASTER_ADDR"), variable("MASTER_PORT"), &wanted, &found) != 0)
        fail(variable("MASTER_ADDR"));
    for (int tries = 0; tries < 1000; tries++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(fd, found->ai_addr, found->ai_addrlen) == 0) {
            freeaddrinfo(found);
            return fd;
        }
        close(fd);
        nanosleep(&pause, NULL);
    }
    fail("connecting");
    return -1;
}

static void check(ssize_t moved)
{
    if (moved == 0) {
        fprintf(stderr, "bare_sockets: the other one has gone\n");
        exit(1);
    }
    if (moved < 0 && errno != EAGAIN && errno != EINTR)
        fail("the connection");
}

static void put(const link_t *link, const void *data, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t moved =
            send(link->fd, (const char *)data + done, bytes - done, MSG_DONTWAIT | MSG_NOSIGNAL);
        check(moved);
        done += moved > 0 ? (size_t)moved : 0;
    }
}

static void get(const link_t *link, void *data, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t moved = recv(link->fd, (char *)data + done, bytes - done, MSG_DONTWAIT);
        check(moved);
        done += moved > 0 ? (size_t)moved : 0;
    }
}

/* ---- what is timed ---- */

static void round_trips(const link_t *link, size_t bytes, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        if (link->rank == 0)
            put(link, link->data, bytes);
        get(link, link->data, bytes);
        if (link->rank == 1)
            put(link, link->data, bytes);
    }
}

/* The receiver answers each window with one byte. */
static void windows(const link_t *link, size_t bytes, uint64_t count)
{
    char answer = 0;
    for (uint64_t i = 0; i < count; i++) {
        for (int k = 0; k < WINDOW; k++)
            (link->rank == 0 ? put(link, link->data, bytes) : get(link, link->data, bytes));
        (link->rank == 0 ? get(link, &answer, 1) : put(link, &answer, 1));
    }
}

typedef void (*work_fn_t)(const link_t *link, size_t bytes, uint64_t count);

/* Rank 0 tells rank 1 the number of repetitions. The result is the microseconds of one. */
static double time_once(const link_t *link, work_fn_t work, size_t bytes, uint64_t *count)
{
    if (link->rank == 0)
        put(link, count, sizeof(*count));
    else
        get(link, count, sizeof(*count));
    double begin = now_us();
    work(link, bytes, *count);
    return (now_us() - begin) / (double)*count;
}

static void measure(const link_t *link, bool is_latency, size_t bytes, double seconds)
{
    work_fn_t work = is_latency ? round_trips : windows;
    uint64_t count = WARM_UP;
    double us = time_once(link, work, bytes, &count);
    count = (uint64_t)(seconds * 1e6 / us) + 1;
    us = time_once(link, work, bytes, &count);
    if (link->rank == 0)
        printf("{\"bytes\": %zu, \"value\": %.3f}\n", bytes,
               is_latency ? us / 2 : (double)bytes * WINDOW / us);
}

/* ---- options ---- */

static size_t read_size(char **text)
{
    char *begin = *text;
    size_t size = strtoull(begin, text, 10);
    if (*text == begin) {
        fprintf(stderr, "bare_sockets: \"%s\" is no size\n", begin);
        exit(2);
    }
    size_t unit = **text == 'K' ? 1 << 10 : **text == 'M' ? 1 << 20 : 1;
    *text += unit > 1;
    *text += **text == ',';
    return size * unit;
}

int main(int argc, char **argv)
{
    char defaults[] = "8,1K,16K,64K,256K,1M,4M", *sizes = defaults;
    double seconds = 1;
    bool is_latency = argc > 1 && strcmp(argv[1], "latency") == 0;
    if (!is_latency && (argc < 2 || strcmp(argv[1], "bw") != 0)) {
        fprintf(stderr, "usage: bare_sockets latency|bw [-s SIZES] [-t SECONDS]\n");
        return 2;
    }
    for (int i = 2; i + 1 < argc; i++) {
        if (strcmp(argv[i], "-s") == 0)
            sizes = argv[i + 1];
        if (strcmp(argv[i], "-t") == 0)
            seconds = atof(argv[i + 1]);
    }
    link_t link = {.rank = atoi(variable("RANK"))};
    int one = 1;
    link.fd = link.rank == 0 ? accept_peer() : connect_to_peer();
    setsockopt(link.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    for (size_t bytes; *sizes != '\0' && (bytes = read_size(&sizes), true);) {
        if (bytes == 0) /* a stream of bytes has no empty messages */
            continue;
        link.data = malloc(bytes);
        if (link.data == NULL)
            fail("memory");
        memset(link.data, 1, bytes);
        measure(&link, is_latency, bytes, seconds);
        free(link.data);
    }
    close(link.fd);
    return 0;
}
