/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that users write: read as a whole. */
#ifndef WEFT_BASE_TEXT_FILE_H
#define WEFT_BASE_TEXT_FILE_H

/**
 * Read a text, also from a pipe.
 * what     what the file is to the user ("the host file"), for messages
 * out      the text with a '\0' at its end; to be given to weft_free()
 * returns  MPI_SUCCESS; MPI_ERR_NO_SUCH_FILE: it cannot be opened; MPI_ERR_ARG: it is a directory,
 * cannot be
 *          read, has a '\0' in it or more than 64 MiB; MPI_ERR_NO_MEM
 */
int weft_text_file_read(const char *what, const char *path, char **out);

#endif
