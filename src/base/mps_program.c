/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/mps_program.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Folders without a '/' in front are left out: the program may be started in another directory. */
static bool find_in(const char *folders, char path_out[PATH_MAX])
{
    struct stat status;
    for (size_t length; *folders != '\0'; folders += length + (folders[length] == ':')) {
        length = strcspn(folders, ":");
        int bytes = snprintf(path_out, PATH_MAX, "%.*s/" WEFT_MPS_PROGRAM, (int)length, folders);
        if (folders[0] == '/' && bytes < PATH_MAX && stat(path_out, &status) == 0 &&
            S_ISREG(status.st_mode) && access(path_out, X_OK) == 0)
            return true;
    }
    path_out[0] = '\0';
    return false;
}

bool weft_mps_program_find(const char *folders, char path_out[PATH_MAX])
{
    return (folders != NULL && find_in(folders, path_out)) ||
           find_in("/usr/local/nvidia/bin:/usr/bin", path_out);
}
