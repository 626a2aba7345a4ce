/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* struct ucred */
#include "runtime/fd_mail.h"

#include "runtime/progress.h"
#include "runtime/world.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/random.h"
#include "mpi.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    QUESTIONS = 128, /* that are open at a time; the oldest one is given up */
    SENT_MOST = 64,  /* ranks that an offer can be sent to unasked */
    LATE_ANSWERS = 64,
    /* An answer may have been lost. It is not asked for earlier: two answers are on their way then,
     * and the one that is not needed keeps memory from the owner's program for a while. */
    ASK_AGAIN_NS = 1000000000,
};

/* What goes over the sockets. */
typedef struct letter {
    uint64_t ticket;
    int32_t from; /* local rank */
    enum {
        LETTER_ASKS,
        LETTER_ANSWERS, /* without a descriptor it is a refusal */
        LETTER_BRINGS,  /* unasked */
    } kind;
} fd_letter_t;

typedef struct offer {
    weft_link_t link;
    uint64_t ticket;
    uint64_t sent; /* unasked, a bit for each local rank */
    int fd;
} fd_offer_t;

/* Also an answer that has come unasked. */
typedef struct question {
    uint64_t ticket; /* 0: this place is free */
    int owner;       /* local rank */
    bool is_answered;
    int fd; /* -1: none has come */
    int64_t asked_ns;
} fd_question_t;

weft_fd_place_t weft_fd_place;

static struct {
    int socket;    /* -1: there is none */
    bool has_file; /* the name of the socket is a file */
    unsigned seen; /* letters that had arrived when the socket was last read */
    char trouble[128];
} mail = {.socket = -1};

/* Questions of others whose answers have found a full socket. */
static fd_letter_t late_answers[LATE_ANSWERS];
static int late_count;

static weft_list_t offers = {&offers, &offers};
static uint64_t last_ticket;
static fd_question_t questions[QUESTIONS];
static int next_question; /* the place that is used next, the oldest one */

const char *weft_fd_mail_trouble(void)
{
    return mail.trouble[0] == '\0' ? NULL : mail.trouble;
}

/* ---- the socket ---- */

static void note_trouble(const char *call)
{
    snprintf(mail.trouble, sizeof(mail.trouble), "%s: %s", call, strerror(errno));
    WEFT_LOG(WEFT_INFO, "progress", "descriptors: %s", mail.trouble);
}

static bool fd_mail_bind(const char *path, size_t bytes)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    weft_fd_box_t *box = weft_fd_place.box(weft_fd_place.rank);
    memcpy(name.sun_path, path, bytes);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + bytes);
    if (bind(mail.socket, (struct sockaddr *)&name, length) != 0)
        return false;
    memcpy(box->name, path, bytes);
    atomic_store(&box->name_bytes, (unsigned)bytes);
    return true;
}

/* A file beside the shared segment, where Weft's launcher removes what killed ranks leave: it is
 * found from containers with networks of their own, too. Else a name in the abstract namespace that
 * nobody can guess, and so take first. */
static bool bind_to_some_name(void)
{
    char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)] = "";
    uint64_t random[2];
    bool is_ours = strncmp(weft_world.job_id, "weft-", 5) == 0;
    int bytes =
        snprintf(path, sizeof(path), "/dev/shm/%s.fd.%d", weft_world.job_id, weft_world.rank);
    bool is_file = is_ours && (size_t)bytes < sizeof(path);
    if (is_file)
        unlink(path); /* of a process that was lost, and whose place this one has taken */
    mail.has_file =
        is_file && fchmod(mail.socket, 0600) == 0 && fd_mail_bind(path, (size_t)bytes + 1);
    if (mail.has_file)
        return true;
    if (weft_random(random, sizeof(random)) != MPI_SUCCESS)
        return false;
    bytes = snprintf(path + 1, sizeof(path) - 1, "weft-fd.%016llx%016llx",
                     (unsigned long long)random[0], (unsigned long long)random[1]);
    path[0] = '\0';
    return fd_mail_bind(path, (size_t)bytes + 1);
}

static void take_letters(void);
static void answer_late(void);

static int fd_mail_poll(bool everything)
{
    const weft_fd_box_t *own = weft_fd_place.box(weft_fd_place.rank);
    (void)everything;
    if (__builtin_expect(late_count > 0, 0))
        answer_late();
    if (__builtin_expect(atomic_load_explicit(&own->arrivals, memory_order_relaxed) == mail.seen,
                         1))
        return 0;
    take_letters();
    return 1;
}

/* False: there are no other ranks, or there is no socket. */
static bool open_mail(void)
{
    const int on = 1;
    if (mail.socket >= 0)
        return true;
    if (weft_fd_place.box == NULL || mail.trouble[0] != '\0')
        return false;
    mail.socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (mail.socket >= 0 &&
        setsockopt(mail.socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) == 0 &&
        bind_to_some_name() && weft_progress_add(fd_mail_poll) == MPI_SUCCESS)
        return true;
    note_trouble("a Unix-domain socket");
    if (mail.socket >= 0)
        close(mail.socket);
    mail.socket = -1;
    return false;
}

static void close_mail(void)
{
    weft_fd_box_t *box = mail.socket < 0 ? NULL : weft_fd_place.box(weft_fd_place.rank);
    if (box == NULL)
        return;
    weft_progress_remove(fd_mail_poll);
    atomic_store(&box->name_bytes, 0);
    if (mail.has_file)
        unlink(box->name);
    close(mail.socket);
}

void weft_fd_mail_open(void)
{
    open_mail();
}

/* ---- sending ---- */

typedef union fd_room {
    struct cmsghdr head; /* for its alignment */
    char bytes[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
} fd_room_t;

static void attach_fd(struct msghdr *message, fd_room_t *room, int fd)
{
    message->msg_control = room->bytes;
    message->msg_controllen = CMSG_SPACE(sizeof(fd));
    struct cmsghdr *part = CMSG_FIRSTHDR(message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof(fd));
    memcpy(CMSG_DATA(part), &fd, sizeof(fd));
}

/* `fd` below 0: none. */
static bool send_letter(int to, fd_letter_t *letter, int fd)
{
    fd_room_t room = {{0}};
    weft_fd_box_t *box = weft_fd_place.box(to);
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    struct iovec part = {letter, sizeof(*letter)};
    unsigned bytes = atomic_load(&box->name_bytes);
    if (bytes == 0 || bytes > sizeof(name.sun_path)) {
        errno = ENOTCONN;
        return false;
    }
    memcpy(name.sun_path, box->name, bytes);
    struct msghdr message = {.msg_name = &name,
                             .msg_namelen =
                                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + bytes),
                             .msg_iov = &part,
                             .msg_iovlen = 1};
    if (fd >= 0)
        attach_fd(&message, &room, fd);
    if (sendmsg(mail.socket, &message, MSG_NOSIGNAL) != (ssize_t)sizeof(*letter))
        return false;
    atomic_fetch_add(&box->arrivals, 1);
    weft_fd_place.wake(to);
    return true;
}

/* ---- receiving ---- */

static fd_question_t *find_question(int owner, uint64_t ticket)
{
    for (int i = 0; i < QUESTIONS; i++) {
        if (questions[i].ticket == ticket && questions[i].owner == owner)
            return &questions[i];
    }
    return NULL;
}

static void forget_question(fd_question_t *question)
{
    if (question->fd >= 0)
        close(question->fd);
    *question = (fd_question_t){.fd = -1};
}

static fd_question_t *add_question(int owner, uint64_t ticket)
{
    fd_question_t *question = &questions[next_question];
    next_question = (next_question + 1) % QUESTIONS;
    if (question->ticket != 0)
        forget_question(question);
    *question = (fd_question_t){.ticket = ticket, .owner = owner, .fd = -1};
    return question;
}

static fd_offer_t *find_offer(uint64_t ticket)
{
    for (weft_link_t *at = offers.next; at != &offers; at = at->next) {
        fd_offer_t *offer = WEFT_ELEMENT(at, fd_offer_t, link);
        if (offer->ticket == ticket)
            return offer;
    }
    return NULL;
}

/* False: the socket is full. */
static bool try_answer(const fd_letter_t *asked)
{
    const fd_offer_t *offer = find_offer(asked->ticket);
    fd_letter_t letter = {asked->ticket, weft_fd_place.rank, LETTER_ANSWERS};
    if (send_letter(asked->from, &letter, offer == NULL ? -1 : offer->fd))
        return true;
    int error = errno;
    WEFT_LOG(WEFT_DEBUG, "progress", "no answer to local rank %d: %s", asked->from,
             strerror(error));
    return error != EAGAIN && error != ENOBUFS;
}

static void answer(const fd_letter_t *asked)
{
    if (!try_answer(asked) && late_count < LATE_ANSWERS)
        late_answers[late_count++] = *asked;
}

static void answer_late(void)
{
    int left = 0;
    for (int i = 0; i < late_count; i++) {
        if (!try_answer(&late_answers[i]))
            late_answers[left++] = late_answers[i];
    }
    late_count = left;
}

/* Returns false if it is not needed: `fd` is still the caller's. That of an answer which comes when
 * nobody asks any more would keep memory from the program. */
static bool accept_answer(const fd_letter_t *letter, int fd)
{
    fd_question_t *question = find_question(letter->from, letter->ticket);
    if (letter->ticket == 0 || (question == NULL && (fd < 0 || letter->kind != LETTER_BRINGS)) ||
        (question != NULL && question->is_answered))
        return false;
    if (question == NULL)
        question = add_question(letter->from, letter->ticket);
    question->is_answered = true;
    question->fd = fd;
    return true;
}

/* The only descriptor of a part of a message; where there are more, none is taken. */
static int only_fd(struct cmsghdr *part)
{
    int fd = -1;
    size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(fd);
    for (size_t i = 0; i < count; i++) {
        memcpy(&fd, CMSG_DATA(part) + i * sizeof(fd), sizeof(fd));
        if (count > 1)
            close(fd);
    }
    return count == 1 ? fd : -1;
}

/* The descriptor that came with a message; -1: none. *is_own_user_out: as the kernel says. */
static int unwrap(struct msghdr *message, bool *is_own_user_out)
{
    int fd = -1;
    struct ucred sender;
    *is_own_user_out = false;
    for (struct cmsghdr *at = CMSG_FIRSTHDR(message); at != NULL; at = CMSG_NXTHDR(message, at)) {
        if (at->cmsg_level != SOL_SOCKET)
            continue;
        if (at->cmsg_type == SCM_RIGHTS)
            fd = only_fd(at);
        if (at->cmsg_type == SCM_CREDENTIALS && at->cmsg_len == CMSG_LEN(sizeof(sender))) {
            memcpy(&sender, CMSG_DATA(at), sizeof(sender));
            *is_own_user_out = sender.uid == getuid();
        }
    }
    return fd;
}

/* Returns false if there is none. */
static bool take_letter(void)
{
    fd_letter_t letter;
    fd_room_t room;
    bool is_own_user;
    struct iovec part = {&letter, sizeof(letter)};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = room.bytes,
                             .msg_controllen = sizeof(room.bytes)};
    ssize_t bytes = recvmsg(mail.socket, &message, MSG_CMSG_CLOEXEC);
    if (bytes < 0)
        return false;
    int fd = unwrap(&message, &is_own_user);
    bool is_sound = is_own_user && bytes == (ssize_t)sizeof(letter) &&
                    (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0 && letter.from >= 0 &&
                    letter.from < weft_fd_place.ranks;
    bool is_taken = is_sound && letter.kind != LETTER_ASKS && accept_answer(&letter, fd);
    if (is_sound && letter.kind == LETTER_ASKS)
        answer(&letter);
    if (!is_taken && fd >= 0)
        close(fd);
    return true;
}

static void take_letters(void)
{
    mail.seen = atomic_load(&weft_fd_place.box(weft_fd_place.rank)->arrivals);
    while (take_letter())
        continue;
}

/* ---- offering ---- */

static uint64_t new_ticket(void)
{
    /* A process that takes the place of a lost one must not answer for that one. */
    if (last_ticket == 0 && weft_random(&last_ticket, sizeof(last_ticket)) != MPI_SUCCESS)
        last_ticket = (uint64_t)weft_clock_ns();
    return ++last_ticket != 0 ? last_ticket : ++last_ticket;
}

uint64_t weft_fd_offer(int fd)
{
    fd_offer_t *offer = weft_alloc(sizeof(*offer));
    if (offer == NULL)
        return 0;
    open_mail();
    *offer = (fd_offer_t){.ticket = new_ticket(), .fd = fd};
    weft_list_append(&offers, &offer->link);
    return offer->ticket;
}

void weft_fd_withdraw(uint64_t ticket)
{
    fd_offer_t *offer = ticket == 0 ? NULL : find_offer(ticket);
    if (offer == NULL)
        return;
    weft_list_remove(&offer->link);
    weft_free(offer);
}

void weft_fd_push(uint64_t ticket, int rank, bool again)
{
    fd_offer_t *offer = ticket == 0 ? NULL : find_offer(ticket);
    int peer = weft_world_local_rank_of(rank);
    fd_letter_t letter = {ticket, weft_fd_place.rank, LETTER_BRINGS};
    if (offer == NULL || peer < 0 || peer >= SENT_MOST || mail.socket < 0 ||
        (!again && (offer->sent & 1ULL << peer) != 0))
        return;
    if (send_letter(peer, &letter, offer->fd))
        offer->sent |= 1ULL << peer;
}

/* ---- fetching ---- */

/* A full socket is asked again later. */
static weft_fd_answer_t ask(fd_question_t *question)
{
    fd_letter_t letter = {question->ticket, weft_fd_place.rank, LETTER_ASKS};
    int64_t now_ns = weft_clock_ns();
    if (question->asked_ns != 0 && now_ns - question->asked_ns < ASK_AGAIN_NS)
        return WEFT_FD_AWAITED;
    if (send_letter(question->owner, &letter, -1)) {
        question->asked_ns = now_ns;
        return WEFT_FD_AWAITED;
    }
    if (errno == EAGAIN || errno == ENOBUFS)
        return WEFT_FD_AWAITED;
    note_trouble("sendmsg to a rank of this host");
    return WEFT_FD_REFUSED;
}

weft_fd_answer_t weft_fd_fetch(int owner, uint64_t ticket, int *out)
{
    int peer = weft_world_local_rank_of(owner);
    if (ticket == 0 || peer < 0 || !open_mail())
        return WEFT_FD_REFUSED;
    fd_mail_poll(true);
    fd_question_t *question = find_question(peer, ticket);
    if (question == NULL)
        question = add_question(peer, ticket);
    weft_fd_answer_t result = !question->is_answered ? ask(question)
                              : question->fd >= 0    ? WEFT_FD_HERE
                                                     : WEFT_FD_REFUSED;
    if (result == WEFT_FD_HERE) {
        *out = question->fd;
        question->fd = -1;
    }
    if (result != WEFT_FD_AWAITED)
        forget_question(question);
    return result;
}

void weft_fd_forget(int owner, uint64_t ticket)
{
    int peer = weft_world_local_rank_of(owner);
    if (ticket == 0 || peer < 0 || mail.socket < 0)
        return;
    fd_mail_poll(true); /* what has come unasked may not have been looked at yet */
    fd_question_t *question = find_question(peer, ticket);
    if (question != NULL)
        forget_question(question);
}

bool weft_fd_is_awaited(int owner, uint64_t ticket)
{
    int peer = weft_world_local_rank_of(owner);
    const fd_question_t *question = ticket == 0 || peer < 0 ? NULL : find_question(peer, ticket);
    return question != NULL && !question->is_answered;
}

void weft_fd_mail_close(void)
{
    close_mail();
    for (int i = 0; i < QUESTIONS; i++) {
        if (questions[i].ticket != 0)
            forget_question(&questions[i]);
    }
    for (weft_link_t *link; (link = weft_list_pop(&offers)) != NULL;)
        weft_free(WEFT_ELEMENT(link, fd_offer_t, link));
    memset(&mail, 0, sizeof(mail));
    mail.socket = -1;
    late_count = 0;
}
