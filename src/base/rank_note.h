/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a rank tells Weft's mpirun of itself, through a pipe that it inherits. A note is in the pipe
 * before the rank ends, so mpirun knows it when it hears of the end; and nobody else can write
 * there.
 *
 *   the pipe: | note | its text | note | ...     each is written in one piece of PIPE_BUF at most
 *
 * WEFT_NOTES is "FD:INODE:JOB": the descriptor, the number of its file, and PMIx's name of the job.
 * A process that finds another file there writes nothing, and tells the PMIx server alone; so does
 * one whose parent has closed the descriptor. Ranks that are started again when they are lost have
 * no such server, and write notes alone.
 */
#ifndef WEFT_BASE_RANK_NOTE_H
#define WEFT_BASE_RANK_NOTE_H

#include <stdint.h>

typedef enum weft_note_kind {
    WEFT_NOTE_CONNECTED = 1, /* has called MPI_Init */
    WEFT_NOTE_FINALIZED,     /* has called MPI_Finalize */
    WEFT_NOTE_ABORTED,       /* aborts the job, with a code and a text */
    WEFT_NOTE_LOST_PEER,     /* the same, because it has lost another rank; with WEFT_REJOIN this
                              * rank alone ends */
} weft_note_kind_t;

enum { WEFT_NOTE_MAGIC = 0x57464e54, WEFT_NOTE_TEXT_MOST = 480 };

typedef struct weft_rank_note {
    uint32_t magic;
    uint16_t kind;       /* weft_note_kind_t */
    uint16_t text_bytes; /* that follow, with the zero at the end; at most WEFT_NOTE_TEXT_MOST */
    int32_t rank, code;
} weft_rank_note_t;

#endif
