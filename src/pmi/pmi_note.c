/* SPDX-License-Identifier: BSD-3-Clause */
/* Notes to Weft's mpirun (base/rank_note.h). Without its pipe, they go to the PMIx server alone. */
#include "pmi/bootstrap_private.h"

#include "base/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
    int fd; /* -1: none */
    unsigned long long inode;
    int rank;
} notes = {.fd = -1};

/* A program may have closed the descriptor, and opened a file of its own under the number. */
static bool is_the_pipe(int fd, unsigned long long inode)
{
    struct stat status;
    return fd >= 0 && fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode) && status.st_ino == inode;
}

void weft_pmi_notes_open(const char *job, int rank)
{
    const char *text = weft_environment("WEFT_NOTES");
    unsigned long long inode;
    int fd, used = 0;
    if (text == NULL || sscanf(text, "%d:%llu:%n", &fd, &inode, &used) != 2 || used == 0 ||
        (job != NULL && strcmp(text + used, job) != 0) || !is_the_pipe(fd, inode))
        return;
    fcntl(fd, F_SETFD, FD_CLOEXEC); /* programs that this one starts are no ranks */
    notes.fd = fd;
    notes.inode = inode;
    notes.rank = rank;
}

bool weft_pmi_note(weft_note_kind_t kind, int code, const char *text)
{
    struct {
        weft_rank_note_t head;
        char text[WEFT_NOTE_TEXT_MOST];
    } note = {
        .head = {
            .magic = WEFT_NOTE_MAGIC, .kind = (uint16_t)kind, .rank = notes.rank, .code = code}};
    size_t bytes = sizeof(note.head);
    if (!is_the_pipe(notes.fd, notes.inode))
        return false;
    if (text != NULL) {
        snprintf(note.text, sizeof(note.text), "%s", text);
        note.head.text_bytes = (uint16_t)(strlen(note.text) + 1);
        bytes += note.head.text_bytes;
    }
    ssize_t written;
    do
        written = write(notes.fd, &note, bytes);
    while (written < 0 && errno == EINTR);
    return written == (ssize_t)bytes;
}
