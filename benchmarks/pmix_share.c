/* SPDX-License-Identifier: BSD-3-Clause */
/* The heap that the PMIx client alone takes in a job of this size: the part of weft_scale's
 * init_heap that is not Weft's. Rank 0 prints it. */
#include <malloc.h>
#include <pmix.h>
#include <stdio.h>

int main(void)
{
    pmix_proc_t self;
    size_t before = mallinfo2().uordblks;
    if (PMIx_Init(&self, NULL, 0) != PMIX_SUCCESS)
        return 1;
    if (self.rank == 0)
        printf("%zu\n", mallinfo2().uordblks - before);
    PMIx_Fence(NULL, 0, NULL, 0);
    return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : 1;
}
