/* SPDX-License-Identifier: BSD-3-Clause */
#include "case.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *running = "";

static void fail(const char *file, int line, const char *text, const char *got,
                 const char *expected)
{
    const char *slash = strrchr(file, '/');
    fprintf(stderr, "%s:%d: case \"%s\": %s: got %s, expected %s\n",
            slash == NULL ? file : slash + 1, line, running, text, got, expected);
    _exit(1);
}

void check_claim(bool claim, const char *text, const char *file, int line)
{
    if (!claim)
        fail(file, line, text, "false", "true");
}

void check_same(long long got, long long expected, const char *text, const char *file, int line)
{
    char words[2][32];
    snprintf(words[0], sizeof(words[0]), "%lld", got);
    snprintf(words[1], sizeof(words[1]), "%lld", expected);
    if (got != expected)
        fail(file, line, text, words[0], words[1]);
}

static const char *name_of(CUresult code)
{
    const char *name = NULL;
    cuGetErrorName(code, &name);
    return name == NULL ? "an unknown error" : name;
}

void check_code(CUresult got, CUresult expected, const char *text, const char *file, int line)
{
    if (got != expected)
        fail(file, line, text, name_of(got), name_of(expected));
}

/* ---- cases ---- */

/* Returns the wait status of the case; an expected signal leaves no core file, and sanitizers do
 * not report it. */
static int run_in_child(const test_case_t *test)
{
    char words[256];
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        snprintf(words, sizeof(words), "kernels=program,%s", test->words);
        setenv("SIMCUDA", words, 1);
        if (test->signal != 0) {
            setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
            signal(test->signal, SIG_DFL);
        }
        test->run();
        exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
}

static void count_devices(void)
{
    int count = 0;
    cuInit(0);
    cuDeviceGetCount(&count);
    exit(count);
}

/* Whether a real driver of so many devices can do what the words ask for. */
static bool can_follow(const char *words, int devices)
{
    int wanted = 1, used = 0;
    if (words[0] != '\0' &&
        (sscanf(words, "devices=%d%n", &wanted, &used) != 1 || words[used] != '\0'))
        return false;
    return wanted <= devices;
}

bool is_driver_real(void)
{
    return getenv("REAL_DRIVER") != NULL;
}

int run_cases(const test_case_t *cases)
{
    enum { SKIPPED = 77 };
    bool is_real = is_driver_real();
    int devices = is_real ? WEXITSTATUS(run_in_child(&(test_case_t){"", "", count_devices, 0})) : 0;
    int failed = 0, run = 0;
    for (; cases->name != NULL; cases++) {
        if (is_real && !can_follow(cases->words, devices))
            continue;
        running = cases->name;
        run++;
        if (is_real) /* should it hang, the output tells where */
            printf("%s\n", running);
        int status = run_in_child(cases), signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        if (signal == cases->signal && (signal != 0 || WEXITSTATUS(status) == 0))
            continue;
        fprintf(stderr, "case \"%s\": ended by signal %d, expected %d\n", running, signal,
                cases->signal);
        failed = 1;
    }
    if (is_real)
        printf("%d cases, %d devices\n", run, devices);
    return run == 0 ? SKIPPED : failed;
}

/* ---- devices ---- */

CUcontext open_device(int ordinal)
{
    CUcontext context;
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, ordinal));
    OK(cuCtxSetCurrent(context));
    return context;
}

CUfunction test_kernel(const char *name)
{
    CUmodule module;
    CUfunction function;
    OK(cuModuleLoadData(&module, kernel_image));
    OK(cuModuleGetFunction(&function, module, name));
    return function;
}

/* Modules cannot be loaded while a stream is captured, so the last kernel is kept. */
static CUfunction add_kernel(void)
{
    static CUcontext of;
    static CUfunction function;
    CUcontext context;
    OK(cuCtxGetCurrent(&context));
    if (of != context)
        function = test_kernel("test_add");
    of = context;
    return function;
}

CUresult launch_add(CUdeviceptr to, CUdeviceptr from, size_t count, CUstream stream)
{
    add_args_t args = {to, from, count};
    void *parameters[] = {&args};
    unsigned blocks = (unsigned)(count + 127) / 128;
    return cuLaunchKernel(add_kernel(), blocks, 1, 1, 128, 1, 1, 0, stream, parameters, NULL);
}

CUdeviceptr ints_on_device(size_t count, int value)
{
    CUdeviceptr memory;
    OK(cuMemAlloc(&memory, 4 * count));
    OK(cuMemsetD32(memory, (unsigned)value, count));
    OK(cuCtxSynchronize());
    return memory;
}

int int_at(CUdeviceptr address)
{
    int value;
    OK(cuMemcpyDtoH(&value, address, sizeof(value)));
    return value;
}

/* ---- two processes ---- */

void run_two(void (*exporter)(int peer), void (*importer)(int peer))
{
    int sockets[2], status;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
    pid_t child = fork();
    if (child == 0) {
        close(sockets[0]);
        setenv("PMIX_RANK", "1", 1);
        importer(sockets[1]);
        exit(0);
    }
    close(sockets[1]);
    setenv("PMIX_RANK", "0", 1);
    exporter(sockets[0]);
    close(sockets[0]);
    waitpid(child, &status, 0);
    SAME(status, 0);
}

void send_to(int peer, const void *data, size_t bytes)
{
    SAME(write(peer, data, bytes), bytes);
}

void receive_from(int peer, void *data, size_t bytes)
{
    SAME(recv(peer, data, bytes, MSG_WAITALL), bytes);
}

void send_fd(int peer, int fd)
{
    char byte = 0;
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {.header = {.cmsg_len = CMSG_LEN(sizeof(int)),
                            .cmsg_level = SOL_SOCKET,
                            .cmsg_type = SCM_RIGHTS}};
    memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
    struct msghdr message = {.msg_iov = &(struct iovec){&byte, 1},
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    SAME(sendmsg(peer, &message, 0), 1);
}

int receive_fd(int peer)
{
    char byte;
    int fd;
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control;
    struct msghdr message = {.msg_iov = &(struct iovec){&byte, 1},
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    SAME(recvmsg(peer, &message, 0), 1);
    memcpy(&fd, CMSG_DATA(&control.header), sizeof(fd));
    return fd;
}

void meet(int peer)
{
    char byte = 0;
    send_to(peer, &byte, 1);
    receive_from(peer, &byte, 1);
}
