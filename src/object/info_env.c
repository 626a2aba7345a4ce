/* SPDX-License-Identifier: BSD-3-Clause */
#include "object/info_env.h"

#include "runtime/world.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* A value, cut off at the length that an info may hold. */
typedef struct text {
    char at[MPI_MAX_INFO_VAL];
    size_t length;
} env_text_t;

static void env_append_word(env_text_t *text, const char *word)
{
    size_t room = sizeof(text->at) - text->length;
    int wanted = snprintf(text->at + text->length, room, text->length == 0 ? "%s" : " %s", word);
    text->length = (size_t)wanted < room ? text->length + (size_t)wanted : sizeof(text->at) - 1;
}

/* The words of a command line: the first one, and the others with blanks between them. */
typedef struct command_line {
    env_text_t command, arguments;
} command_line_t;

static void join_words(command_line_t *line, int argc, char *const argv[])
{
    env_append_word(&line->command, argv[0]);
    for (int i = 1; i < argc; i++)
        env_append_word(&line->arguments, argv[i]);
}

/* The kernel ends each word with a 0. */
static void read_command_line(command_line_t *line)
{
    char words[2 * MPI_MAX_INFO_VAL + 1];
    int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t bytes = file < 0 ? -1 : read(file, words, sizeof(words) - 1);
    if (file >= 0)
        close(file);
    if (bytes <= 0)
        return;
    words[bytes] = '\0';
    env_append_word(&line->command, words);
    for (char *word = words + strlen(words) + 1; word < words + bytes; word += strlen(word) + 1)
        env_append_word(&line->arguments, word);
}

static int set_command(weft_info_t *info, int argc, char *const argv[])
{
    command_line_t line = {.command.length = 0};
    if (argc > 0 && argv != NULL)
        join_words(&line, argc, argv);
    else
        read_command_line(&line);
    int err = MPI_SUCCESS;
    if (line.command.length > 0)
        err = weft_info_set(info, "command", line.command.at);
    if (err == MPI_SUCCESS && line.arguments.length > 0)
        err = weft_info_set(info, "argv", line.arguments.at);
    return err;
}

static const struct {
    const char *name;
    int level;
} thread_levels[] = {{"MPI_THREAD_SINGLE", MPI_THREAD_SINGLE},
                     {"MPI_THREAD_FUNNELED", MPI_THREAD_FUNNELED},
                     {"MPI_THREAD_SERIALIZED", MPI_THREAD_SERIALIZED},
                     {"MPI_THREAD_MULTIPLE", MPI_THREAD_MULTIPLE}};

enum { THREAD_LEVELS = sizeof(thread_levels) / sizeof(thread_levels[0]) };

const char *weft_thread_level_name(int level)
{
    int i = 0;
    while (i < THREAD_LEVELS - 1 && thread_levels[i].level != level)
        i++;
    return thread_levels[i].name;
}

bool weft_thread_level_read(const char *name, int *out)
{
    for (int i = 0; i < THREAD_LEVELS; i++) {
        if (strcmp(thread_levels[i].name, name) == 0) {
            *out = thread_levels[i].level;
            return true;
        }
    }
    return false;
}

int weft_info_describe_job(weft_info_t *info)
{
    char size[16];
    snprintf(size, sizeof(size), "%d", weft_world.size);
    int err = weft_info_set(info, "maxprocs", size);
    if (err == MPI_SUCCESS)
        err = weft_info_set(info, "soft", size);
    if (err == MPI_SUCCESS)
        err = weft_info_set(info, "thread_level", weft_thread_level_name(weft_world.thread_level));
    return err;
}

static int set_machine(weft_info_t *info)
{
    struct utsname machine;
    char directory[MPI_MAX_INFO_VAL];
    int err = MPI_SUCCESS;
    if (uname(&machine) == 0) {
        err = weft_info_set(info, "host", machine.nodename);
        if (err == MPI_SUCCESS)
            err = weft_info_set(info, "arch", machine.machine);
    }
    if (err == MPI_SUCCESS && getcwd(directory, sizeof(directory)) != NULL)
        err = weft_info_set(info, "wdir", directory);
    return err;
}

int weft_info_describe_process(weft_info_t *info, int argc, char *const argv[])
{
    int err = set_command(info, argc, argv);
    if (err == MPI_SUCCESS)
        err = set_machine(info);
    return err;
}
