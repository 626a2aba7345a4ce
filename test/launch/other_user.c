/* SPDX-License-Identifier: BSD-3-Clause */
/* A PMIx client that states user 0, whoever runs it: exits with 0 if it becomes a rank of the job
 * that the environment names. Linked with -rdynamic, so that the library asks these functions. */
#include <pmix.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

#define VISIBLE __attribute__((visibility("default")))

VISIBLE uid_t getuid(void)
{
    return 0;
}

VISIBLE uid_t geteuid(void)
{
    return 0;
}

VISIBLE gid_t getgid(void)
{
    return 0;
}

VISIBLE gid_t getegid(void)
{
    return 0;
}

int main(void)
{
    pmix_proc_t self;
    if (PMIx_Init(&self, NULL, 0) != PMIX_SUCCESS)
        _exit(1);
    printf("became rank %u of %s\n", self.rank, self.nspace);
    fflush(stdout);
    _exit(0);
}
