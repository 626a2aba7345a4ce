/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The turn of a device is a name in the abstract namespace of Unix sockets: a process has the turn
 * while a socket of its own is bound to the name. The kernel gives the name up when the process
 * ends, however that happens.
 */
#include "sim_turn.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_NS = 50000 /* between two looks for a turn that another process has */ };

static pthread_mutex_t turns_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    int socket;       /* of this process' turn */
    unsigned kernels; /* that run in it; 0: it has none */
} turns[SIM_DEVICES_MAX];

static bool is_used(void)
{
    return sim_options()->turns && !sim_options()->mps;
}

/* The processes of a job have the same name for a device. Without a launcher these are the
 * processes of a group. */
static socklen_t name_turn(struct sockaddr_un *name, int device)
{
    const char *job = getenv("PMIX_NAMESPACE");
    char *text = name->sun_path + 1;
    size_t room = sizeof(name->sun_path) - 1;
    *name = (struct sockaddr_un){.sun_family = AF_UNIX};
    int length = job != NULL ? snprintf(text, room, "simcuda-%d-%.70s", device, job)
                             : snprintf(text, room, "simcuda-%d-%d", device, (int)getpgrp());
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

/* -1: another process has the turn. */
static int take_turn(int device)
{
    struct sockaddr_un name;
    socklen_t bytes = name_turn(&name, device);
    int own = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (own != -1 && bind(own, (struct sockaddr *)&name, bytes) == 0)
        return own;
    if (own == -1 || errno != EADDRINUSE)
        sim_die("taking a turn on device %d: errno %d", device, errno);
    close(own);
    return -1;
}

void sim_turn_begin(const sim_device_t *device)
{
    if (!is_used())
        return;
    const struct timespec look = {.tv_nsec = LOOK_NS};
    int index = device->index;
    pthread_mutex_lock(&turns_lock);
    while (turns[index].kernels == 0 && (turns[index].socket = take_turn(index)) == -1) {
        pthread_mutex_unlock(&turns_lock);
        nanosleep(&look, NULL);
        pthread_mutex_lock(&turns_lock);
    }
    turns[index].kernels++;
    pthread_mutex_unlock(&turns_lock);
}

void sim_turn_end(const sim_device_t *device)
{
    if (!is_used())
        return;
    int index = device->index;
    pthread_mutex_lock(&turns_lock);
    if (--turns[index].kernels == 0)
        close(turns[index].socket);
    pthread_mutex_unlock(&turns_lock);
}
