/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/file_limit.h"

#include <sys/resource.h>

bool weft_file_limit_raise(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max)
        return false;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

unsigned long weft_file_limit(void)
{
    struct rlimit limit = {0};
    getrlimit(RLIMIT_NOFILE, &limit);
    return (unsigned long)limit.rlim_cur;
}
