/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/plan/config_file.h"

#include "base/fail.h"
#include "base/memory.h"
#include "base/text_file.h"
#include "mpi.h"

#include <stdbool.h>
#include <string.h>

/* ---- Words ---- */

typedef struct cutter {
    const char *at;
    char *to;
    wl_words_t *words;
    int line; /* for messages */
} cutter_t;

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static bool skip_joint(cutter_t *cutter)
{
    size_t bytes = strncmp(cutter->at, "\\\n", 2) == 0     ? 2
                   : strncmp(cutter->at, "\\\r\n", 3) == 0 ? 3
                                                           : 0;
    cutter->at += bytes;
    cutter->line += bytes > 0;
    return bytes > 0;
}

/* Copy the part between quotes; false: the quote does not end. Inside "" a backslash protects '"'
 * and itself. */
static bool cut_quoted(cutter_t *cutter)
{
    char quote = *cutter->at++;
    while (*cutter->at != quote) {
        if (*cutter->at == '\0')
            return false;
        if (quote == '"' && skip_joint(cutter))
            continue;
        if (quote == '"' && cutter->at[0] == '\\' &&
            (cutter->at[1] == '"' || cutter->at[1] == '\\'))
            cutter->at++;
        cutter->line += *cutter->at == '\n';
        *cutter->to++ = *cutter->at++;
    }
    cutter->at++;
    return true;
}

/* A word up to a blank or the end of the line. */
static bool cut_word(cutter_t *cutter)
{
    cutter->words->words[cutter->words->count++] = cutter->to;
    while (*cutter->at != '\0' && *cutter->at != '\n' && !is_blank(*cutter->at)) {
        if (skip_joint(cutter))
            continue;
        if (*cutter->at == '"' || *cutter->at == '\'') {
            if (!cut_quoted(cutter))
                return false;
            continue;
        }
        if (*cutter->at == '\\' && cutter->at[1] != '\0')
            cutter->at++;
        *cutter->to++ = *cutter->at++;
    }
    *cutter->to++ = '\0';
    return true;
}

/* Go to the next word of the line; false: the line has no more words. */
static bool config_find_word(cutter_t *cutter)
{
    while (is_blank(*cutter->at) || skip_joint(cutter)) {
        if (is_blank(*cutter->at))
            cutter->at++;
    }
    return *cutter->at != '\0' && *cutter->at != '\n';
}

/* One line and its end; false: a quote does not end. */
static bool cut_line(cutter_t *cutter)
{
    static char separator[] = ":";
    wl_words_t *words = cutter->words;
    bool is_first = true;
    if (*cutter->at == '#')
        cutter->at += strcspn(cutter->at, "\n");
    while (config_find_word(cutter)) {
        if (is_first && words->count > 0)
            words->words[words->count++] = separator;
        is_first = false;
        if (!cut_word(cutter))
            return false;
    }
    cutter->at += *cutter->at == '\n';
    cutter->line++;
    return true;
}

/* Each word and each separator takes at least one byte of the text. */
static int reserve_words(size_t bytes, wl_words_t *out)
{
    out->text = weft_alloc(2 * bytes + 1);
    out->words = weft_alloc_array(bytes + 2, sizeof(*out->words));
    if (out->text != NULL && out->words != NULL)
        return MPI_SUCCESS;
    return weft_fail(MPI_ERR_NO_MEM, "the words of a file of %zu bytes", bytes);
}

static int cut_text(const char *path, const char *text, wl_words_t *out)
{
    int err = reserve_words(strlen(text), out);
    cutter_t cutter = {.at = text, .to = out->text, .words = out, .line = 1};
    while (err == MPI_SUCCESS && *cutter.at != '\0') {
        int line = cutter.line;
        if (!cut_line(&cutter))
            err = weft_fail(MPI_ERR_ARG, "--configfile %s, line %d: a quote does not end", path,
                            line);
    }
    if (err == MPI_SUCCESS && out->count == 0)
        err = weft_fail(MPI_ERR_ARG, "--configfile %s: it names no program", path);
    if (err == MPI_SUCCESS)
        out->words[out->count] = NULL;
    return err;
}

int wl_config_file_read(const char *path, wl_words_t *out)
{
    char *text = NULL;
    *out = (wl_words_t){0};
    int err = weft_text_file_read("--configfile", path, &text);
    if (err == MPI_SUCCESS)
        err = cut_text(path, text, out);
    weft_free(text);
    if (err != MPI_SUCCESS)
        wl_words_release(out);
    return err;
}

int wl_words_splice(const wl_words_t *line, int begin, int end, wl_words_t *part, wl_words_t *out)
{
    size_t count = (size_t)(line->count - (end - begin) + part->count);
    char **words = weft_alloc_array(count + 1, sizeof(*words)), **to = words;
    if (words == NULL) {
        wl_words_release(part);
        return weft_fail(MPI_ERR_NO_MEM, "a command line of %zu words", count);
    }
    for (int i = 0; i < begin; i++)
        *to++ = line->words[i];
    for (int i = 0; i < part->count; i++)
        *to++ = part->words[i];
    for (int i = end; i < line->count; i++)
        *to++ = line->words[i];
    *to = NULL;
    *out = (wl_words_t){.words = words, .count = (int)count, .text = part->text};
    part->text = NULL;
    wl_words_release(part);
    return MPI_SUCCESS;
}

void wl_words_release(wl_words_t *words)
{
    weft_free(words->words);
    weft_free(words->text);
    *words = (wl_words_t){0};
}
