/* SPDX-License-Identifier: BSD-3-Clause */
/* deny CALL[,CALL...] PROGRAM [ARGUMENT...]: run a program that gets EPERM from these system calls,
 * as in many containers. Exit code 77: no filter can be installed. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
    const char *name;
    unsigned number;
} calls[] = {
    {"process_vm_readv", SYS_process_vm_readv},   {"process_vm_writev", SYS_process_vm_writev},
    {"memfd_create", SYS_memfd_create},           {"membarrier", SYS_membarrier},
    {"sched_getaffinity", SYS_sched_getaffinity},
};
enum { CALLS = sizeof(calls) / sizeof(calls[0]) };

static unsigned number_of(const char *name)
{
    for (int i = 0; i < CALLS; i++) {
        if (strcmp(name, calls[i].name) == 0)
            return calls[i].number;
    }
    fprintf(stderr, "deny: %s is not in its table\n", name);
    exit(2);
}

/* Install one filter a call; the kernel runs all of them. */
static int deny(unsigned number)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
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
        if (deny(number_of(name)) != 0)
            return 77;
    }
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 127;
}
