/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/text_file.h"

#include "base/fail.h"
#include "base/memory.h"
#include "mpi.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { FIRST_BYTES = 4096, MOST_BYTES = 64 << 20 };

typedef struct text {
    char *data; /* [room] */
    size_t used, room;
} file_text_t;

static bool grow_text(file_text_t *text)
{
    size_t room = text->room == 0 ? FIRST_BYTES : 2 * text->room;
    char *larger = weft_realloc(text->data, room);
    if (larger == NULL)
        return false;
    text->data = larger;
    text->room = room;
    return true;
}

/* Read to the end of the file, or until the text is too long. */
static int text_read_stream(FILE *file, const char *what, const char *path, file_text_t *text)
{
    do {
        if (!grow_text(text))
            return weft_fail(MPI_ERR_NO_MEM, "no memory for the text of %s %s", what, path);
        errno = 0;
        text->used += fread(text->data + text->used, 1, text->room - text->used - 1, file);
    } while (text->used == text->room - 1 && text->used < MOST_BYTES);
    text->data[text->used] = '\0';
    if (ferror(file))
        return weft_fail(MPI_ERR_ARG, "%s %s: %s", what, path, strerror(errno));
    if (text->used >= MOST_BYTES)
        return weft_fail(MPI_ERR_ARG, "%s %s has more than %d bytes", what, path, MOST_BYTES);
    if (strlen(text->data) != text->used)
        return weft_fail(MPI_ERR_ARG, "%s %s is no text: byte %zu is 0", what, path,
                         strlen(text->data));
    return MPI_SUCCESS;
}

int weft_text_file_read(const char *what, const char *path, char **out)
{
    file_text_t text = {0};
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return weft_fail(MPI_ERR_NO_SUCH_FILE, "%s %s: %s", what, path, strerror(errno));
    int err = text_read_stream(file, what, path, &text);
    fclose(file);
    if (err == MPI_SUCCESS)
        *out = text.data;
    else
        weft_free(text.data);
    return err;
}
