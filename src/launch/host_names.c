/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/host_names.h"

#include "base/fail.h"
#include "mpi.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The same name, with or without a domain on either side. */
static bool is_same_host(const char *a, const char *b)
{
    size_t length = strcspn(a, ".");
    if (strcmp(a, b) == 0)
        return true;
    bool has_one_domain = a[length] == '\0' || strchr(b, '.') == NULL;
    return has_one_domain && length == strcspn(b, ".") && strncmp(a, b, length) == 0;
}

static bool is_this_host(const char *name)
{
    char own[256] = "";
    gethostname(own, sizeof(own) - 1);
    return strcmp(name, "localhost") == 0 || strncmp(name, "127.", 4) == 0 ||
           strcmp(name, "::1") == 0 || is_same_host(name, own);
}

/* One "name" or "name:slots". */
static int check_host(char *text, int *slots)
{
    char *colon = strchr(text, ':');
    if (colon != NULL && strchr(colon + 1, ':') == NULL) { /* two: an IPv6 address */
        *slots += (int)strtol(colon + 1, NULL, 10);
        *colon = '\0';
    }
    if (is_this_host(text))
        return MPI_SUCCESS;
    return weft_fail(
        MPI_ERR_UNSUPPORTED_OPERATION,
        "the host %s is not this one, and starting ranks on other hosts is not in this "
        "version (Slurm can: `srun --mpi=pmix`)",
        text);
}

int weft_hosts_check_list(const char *list, int *slots)
{
    int err = MPI_SUCCESS, sum = 0;
    while (*list != '\0' && err == MPI_SUCCESS) {
        char name[256];
        size_t length = strcspn(list, ",");
        snprintf(name, sizeof(name), "%.*s", (int)length, list);
        if (name[0] != '\0')
            err = check_host(name, &sum);
        list += length + (list[length] == ',');
    }
    if (err == MPI_SUCCESS)
        *slots += sum;
    return err;
}

static int check_line(char *line, int *slots)
{
    line[strcspn(line, "#\r\n")] = '\0';
    char *name = line + strspn(line, " \t");
    if (*name == '\0')
        return MPI_SUCCESS;
    const char *number = strstr(name, "slots=");
    if (number != NULL && (number == name || number[-1] == ' ' || number[-1] == '\t'))
        *slots += (int)strtol(number + strlen("slots="), NULL, 10);
    name[strcspn(name, " \t")] = '\0';
    return check_host(name, slots);
}

int weft_hosts_check_file(const char *path, int *slots)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return weft_fail(MPI_ERR_NO_SUCH_FILE, "the host file %s cannot be read: %s", path,
                         strerror(errno));
    char line[1024];
    int err = MPI_SUCCESS, sum = 0;
    while (err == MPI_SUCCESS && fgets(line, sizeof(line), file) != NULL)
        err = check_line(line, &sum);
    fclose(file);
    if (err == MPI_SUCCESS)
        *slots += sum;
    return err;
}
