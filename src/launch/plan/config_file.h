/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file of `mpirun --configfile FILE` (MPI 5.0, section 11.5): a line for each part that would
 * stand between ':' in the command line.
 */
#ifndef WEFT_LAUNCH_PLAN_CONFIG_FILE_H
#define WEFT_LAUNCH_PLAN_CONFIG_FILE_H

/** Words of a command line, with the memory of those that were read. */
typedef struct wl_words {
    char **words; /* [count + 1], the last one NULL */
    int count;
    char *text;
} wl_words_t;

/**
 * Read the words of a file. Lines that begin with '#' are comments, a '\' at the end of a line
 * joins the next one to it, quotes and backslashes work as in a shell, and nothing else is special.
 * A word ":" is put between the lines.
 * returns  MPI_SUCCESS; MPI_ERR_NO_SUCH_FILE; MPI_ERR_ARG: the file is not text, a quote does not
 *          end, or the file is empty; MPI_ERR_NO_MEM
 */
int wl_config_file_read(const char *path, wl_words_t *out);

/** The words of `line` with those of `part` in place of [begin, end). `part` is released; `out`
 *  takes over its text. MPI_ERR_NO_MEM. */
int wl_words_splice(const wl_words_t *line, int begin, int end, wl_words_t *part, wl_words_t *out);

void wl_words_release(wl_words_t *words);

#endif
