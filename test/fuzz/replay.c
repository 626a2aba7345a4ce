/* SPDX-License-Identifier: BSD-3-Clause */
/* replay PATH...: give each file, and each file of the folders named, to the entry point once. When
 * that ends the process, the file is named on stderr. */
#include "input.h"

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>

static char current[4096];

static void name_input(int number)
{
    static const char head[] = "the input is ", end[] = "\n";
    (void)!write(STDERR_FILENO, head, sizeof(head) - 1);
    (void)!write(STDERR_FILENO, current, strlen(current));
    (void)!write(STDERR_FILENO, end, sizeof(end) - 1);
    signal(number, SIG_DFL);
    raise(number);
}

static int feed_file(const char *path)
{
    struct stat status;
    FILE *file = fopen(path, "rb");
    if (file == NULL || fstat(fileno(file), &status) != 0) {
        perror(path);
        return 1;
    }
    size_t bytes = (size_t)status.st_size;
    uint8_t *data = malloc(bytes + 1);
    bool is_read = data != NULL && fread(data, 1, bytes, file) == bytes;
    fclose(file);
    snprintf(current, sizeof(current), "%s", path);
    if (is_read) {
        uint8_t *exact = fuzz_copy(data, bytes);
        LLVMFuzzerTestOneInput(exact, bytes);
        free(exact);
    }
    free(data);
    return is_read ? 0 : 1;
}

static int feed_folder(const char *path, DIR *folder)
{
    int failed = 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char inner[4096];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(inner, sizeof(inner), "%s/%s", path, entry->d_name);
        failed |= feed_file(inner);
    }
    return failed;
}

int main(int argc, char **argv)
{
    static const int fatal[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM};
    int failed = 0;
    for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++)
        signal(fatal[i], name_input);
    alarm(60); /* an input that takes so long is wrong, too */
    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);
        failed |= folder != NULL ? feed_folder(argv[i], folder) : feed_file(argv[i]);
        if (folder != NULL)
            closedir(folder);
    }
    return failed;
}
