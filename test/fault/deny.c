/* SPDX-License-Identifier: BSD-3-Clause */
/* deny CALL[,CALL...] PROGRAM [ARGUMENT...]: run a program that gets EPERM from these system calls,
 * as in many containers. Exit code 77: no filter can be installed. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ALL = -1 };

/* One that counts only with a certain third argument is named for that. */
typedef struct denied {
    const char *name;
    unsigned number;
    int third; /* ALL: any */
} denied_t;

static const denied_t calls[] = {
    {"process_vm_readv", SYS_process_vm_readv, ALL},
    {"process_vm_writev", SYS_process_vm_writev, ALL},
    {"memfd_create", SYS_memfd_create, ALL},
    {"membarrier", SYS_membarrier, ALL},
    {"sched_getaffinity", SYS_sched_getaffinity, ALL},
    {"pidfd_getfd", SYS_pidfd_getfd, ALL},
    {"pidfd_open", SYS_pidfd_open, ALL},
    {"sock_diag", SYS_socket, NETLINK_SOCK_DIAG},
};
enum { CALLS = sizeof(calls) / sizeof(calls[0]) };

static const denied_t *find_call(const char *name)
{
    for (int i = 0; i < CALLS; i++) {
        if (strcmp(name, calls[i].name) == 0)
            return &calls[i];
    }
    fprintf(stderr, "deny: %s is not in its table\n", name);
    exit(2);
}

/* Install one filter a call; the kernel runs all of them. */
static int deny(const denied_t *call)
{
    bool is_any = call->third == ALL;
    unsigned wanted = is_any ? call->number : (unsigned)call->third;
    size_t at = is_any ? offsetof(struct seccomp_data, nr) : offsetof(struct seccomp_data, args[2]);
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call->number, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)at),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, wanted, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    for (char *name = strtok(argv[1], ","); name != NULL; name = strtok(NULL, ",")) {
        if (deny(find_call(name)) != 0)
            return 77;
    }
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 127;
}
