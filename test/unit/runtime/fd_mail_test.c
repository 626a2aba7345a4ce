/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors between ranks. The owner is this process itself, which has the second local rank: it
 * answers its own questions in progress. */
#define _GNU_SOURCE
#include "runtime/fd_mail.h"

#include "runtime/progress.h"
#include "runtime/world.h"
#include "mpi.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { OTHER = 4, OWNER = 7, SELF = 1, ABSENT = 0, STRANGER = 65534 };

static const int local_ranks[] = {OTHER, OWNER};
static weft_fd_box_t boxes[2];
static char job[64];

static weft_fd_box_t *box_of(int local_rank)
{
    return &boxes[local_rank];
}

static void wake_nobody(int local_rank)
{
    (void)local_rank;
}

static void open_place(const char *prefix)
{
    memset(boxes, 0, sizeof(boxes));
    snprintf(job, sizeof(job), "%s-unit-%d", prefix, (int)getpid());
    weft_world.job_id = job;
    weft_world.rank = OWNER;
    weft_world.local_ranks = local_ranks;
    weft_world.local_size = 2;
    weft_fd_place = (weft_fd_place_t){.ranks = 2, .rank = SELF, .box = box_of, .wake = wake_nobody};
    weft_fd_mail_open();
}

static void close_place(void)
{
    weft_fd_mail_close();
    weft_fd_place = (weft_fd_place_t){0};
}

static int open_files(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

static bool is_same_file(int a, int b)
{
    struct stat one, two;
    return fstat(a, &one) == 0 && fstat(b, &two) == 0 && one.st_ino == two.st_ino;
}

static int make_file(void)
{
    int fd = memfd_create("fd_mail_test", MFD_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static weft_fd_answer_t fetch_at_last(uint64_t ticket, int *out)
{
    weft_fd_answer_t answer = weft_fd_fetch(OWNER, ticket, out);
    while (answer == WEFT_FD_AWAITED) {
        weft_progress();
        answer = weft_fd_fetch(OWNER, ticket, out);
    }
    return answer;
}

static void asked_for(void **unused)
{
    (void)unused;
    static const char *const prefixes[] = {"weft", "other"}; /* a file, and an abstract name */
    for (int i = 0; i < 2; i++) {
        int before = open_files(), got, fd = make_file();
        open_place(prefixes[i]);
        uint64_t ticket = weft_fd_offer(fd), second = weft_fd_offer(fd);
        assert_int_not_equal(ticket, second);
        assert_int_equal(weft_fd_fetch(OWNER, ticket, &got), WEFT_FD_AWAITED);
        assert_true(weft_fd_is_awaited(OWNER, ticket));
        assert_false(weft_fd_is_awaited(OWNER, second));
        assert_int_equal(fetch_at_last(ticket, &got), WEFT_FD_HERE);
        assert_false(weft_fd_is_awaited(OWNER, ticket));
        assert_int_not_equal(got, fd);
        assert_true(is_same_file(got, fd));
        assert_true((fcntl(got, F_GETFD) & FD_CLOEXEC) != 0);
        close(got);
        weft_fd_withdraw(ticket);
        assert_int_equal(fetch_at_last(ticket, &got), WEFT_FD_REFUSED);
        assert_null(weft_fd_mail_trouble());
        close_place();
        close(fd);
        assert_int_equal(open_files(), before);
    }
}

static void sent_unasked(void **unused)
{
    (void)unused;
    int before = open_files(), got, fd = make_file();
    open_place("weft");
    uint64_t ticket = weft_fd_offer(fd), forgotten = weft_fd_offer(fd);
    weft_fd_push(ticket, OWNER, false);
    weft_fd_push(ticket, OWNER, false); /* once is enough */
    assert_int_equal(weft_fd_fetch(OWNER, ticket, &got), WEFT_FD_HERE);
    assert_true(is_same_file(got, fd));
    close(got);
    weft_fd_push(forgotten, OWNER, false);
    weft_progress();
    weft_fd_forget(OWNER, forgotten);
    assert_int_equal(weft_fd_fetch(OWNER, forgotten, &got), WEFT_FD_AWAITED);
    weft_fd_push(forgotten, 1000, false); /* nobody has this rank */
    close_place();
    close(fd);
    assert_int_equal(open_files(), before);
}

/* More than are kept: the oldest are closed, and can be asked for again. */
static void many(void **unused)
{
    enum { COUNT = 300 };
    (void)unused;
    uint64_t tickets[COUNT];
    int before = open_files(), got, fd = make_file();
    open_place("weft");
    for (int i = 0; i < COUNT; i++) {
        tickets[i] = weft_fd_offer(fd);
        weft_fd_push(tickets[i], OWNER, false);
        weft_progress();
    }
    assert_true(open_files() < before + COUNT);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(fetch_at_last(tickets[i], &got), WEFT_FD_HERE);
        close(got);
    }
    close_place();
    close(fd);
    assert_int_equal(open_files(), before);
}

/* What the other rank's socket has no room for is asked for again. */
static void full_socket(void **unused)
{
    (void)unused;
    int got, fd = make_file(), sent = 0;
    open_place("weft");
    uint64_t ticket = weft_fd_offer(fd);
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    memcpy(name.sun_path, boxes[SELF].name, boxes[SELF].name_bytes);
    int other = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    while (sendto(other, "", 1, 0, (struct sockaddr *)&name, sizeof(name)) == 1)
        sent++;
    assert_true(sent > 0);
    assert_int_equal(weft_fd_fetch(OWNER, ticket, &got), WEFT_FD_AWAITED);
    atomic_fetch_add(&boxes[SELF].arrivals, 1);
    assert_int_equal(fetch_at_last(ticket, &got), WEFT_FD_HERE);
    close(got);
    close(other);
    close_place();
    close(fd);
}

/* The question is the first of the letters that fill the socket, so the answer finds no room. It
 * comes without another question. */
static void late_answer(void **unused)
{
    (void)unused;
    int got, fd = make_file();
    open_place("weft");
    uint64_t ticket = weft_fd_offer(fd);
    assert_int_equal(weft_fd_fetch(OWNER, ticket, &got), WEFT_FD_AWAITED);
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    memcpy(name.sun_path, boxes[SELF].name, boxes[SELF].name_bytes);
    int other = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    while (sendto(other, "", 1, 0, (struct sockaddr *)&name, sizeof(name)) == 1)
        continue;
    for (int i = 0; i < 3; i++)
        weft_progress();
    assert_int_equal(weft_fd_fetch(OWNER, ticket, &got), WEFT_FD_HERE);
    assert_true(is_same_file(got, fd));
    close(got);
    close(other);
    close_place();
    close(fd);
}

static void nobody_to_ask(void **unused)
{
    (void)unused;
    int got;
    assert_int_equal(weft_fd_fetch(OWNER, 1, &got), WEFT_FD_REFUSED); /* there is no place */
    open_place("weft");
    assert_int_equal(weft_fd_fetch(OWNER, 0, &got), WEFT_FD_REFUSED);
    assert_int_equal(weft_fd_fetch(1000, 1, &got), WEFT_FD_REFUSED);
    assert_null(weft_fd_mail_trouble());
    assert_int_equal(weft_fd_fetch(OTHER, 1, &got), WEFT_FD_REFUSED); /* it has no socket */
    assert_non_null(weft_fd_mail_trouble());
    assert_false(weft_fd_is_awaited(OTHER, 1));
    close_place();
    assert_null(weft_fd_mail_trouble());
}

/* ---- letters that are no letters ---- */

/* As fd_mail.c writes them. */
typedef struct letter {
    uint64_t ticket;
    int32_t from, is_answer;
} letter_t;

static void send_fds(const letter_t *letter, size_t bytes, const int *fds, size_t count)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(2 * sizeof(int))];
    } room = {{0}};
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    memcpy(name.sun_path, boxes[SELF].name, boxes[SELF].name_bytes);
    struct iovec part = {(void *)letter, bytes};
    struct msghdr message = {
        .msg_name = &name,
        .msg_namelen = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + boxes[SELF].name_bytes),
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = room.bytes,
        .msg_controllen = CMSG_SPACE(count * sizeof(int))};
    room.head = (struct cmsghdr){CMSG_LEN(count * sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(&room.head), fds, count * sizeof(int));
    int other = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (sendmsg(other, &message, 0) != (ssize_t)bytes)
        perror("sendmsg");
    close(other);
    atomic_fetch_add(&boxes[SELF].arrivals, 1);
}

static void malformed(void **unused)
{
    (void)unused;
    int fd = make_file(), got, fds[2] = {fd, fd};
    open_place("weft");
    int before = open_files();
    static const letter_t letters[] = {
        {5, -1, 1}, {5, 2, 1}, {0, SELF, 1}, {5, SELF, 0}, {5, ABSENT, 0},
    };
    for (size_t i = 0; i < sizeof(letters) / sizeof(letters[0]); i++) {
        send_fds(&letters[i], sizeof(letters[i]), fds, 1);
        weft_progress();
        assert_int_equal(open_files(), before);
    }
    letter_t good = {5, SELF, 1}, longer[2] = {good, good};
    send_fds(&good, sizeof(good) - 1, fds, 1);
    weft_progress();
    send_fds(longer, sizeof(longer), fds, 1);
    weft_progress();
    assert_int_equal(open_files(), before);
    send_fds(&good, sizeof(good), fds, 2);
    assert_int_equal(weft_fd_fetch(OWNER, 5, &got), WEFT_FD_AWAITED);
    assert_int_equal(open_files(), before);
    send_fds(&good, sizeof(good), fds, 1);
    assert_int_equal(weft_fd_fetch(OWNER, 5, &got), WEFT_FD_HERE);
    close(got);
    close_place();
    close(fd);
}

static void strangers(void **unused)
{
    (void)unused;
    int fd = make_file(), got;
    if (getuid() != 0)
        skip();          /* only root can be another user */
    open_place("other"); /* an abstract name, which all can send to */
    int before = open_files();
    letter_t letter = {5, SELF, 1};
    pid_t child = fork();
    if (child == 0) {
        if (setuid(STRANGER) == 0)
            send_fds(&letter, sizeof(letter), &fd, 1);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    atomic_fetch_add(&boxes[SELF].arrivals, 1);
    weft_progress();
    assert_int_equal(open_files(), before);
    assert_int_equal(weft_fd_fetch(OWNER, 5, &got), WEFT_FD_AWAITED);
    close_place();
    close(fd);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(asked_for),   cmocka_unit_test(sent_unasked),
        cmocka_unit_test(many),        cmocka_unit_test(full_socket),
        cmocka_unit_test(late_answer), cmocka_unit_test(nobody_to_ask),
        cmocka_unit_test(malformed),   cmocka_unit_test(strangers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
