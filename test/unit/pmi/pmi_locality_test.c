/* SPDX-License-Identifier: BSD-3-Clause */
/* Which ranks are on this host is not believed when a server names ranks that the job does not
 * have. */
#include "pmi/pmi_private.h"

#include "base/memory.h"
#include "mpi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SIZE = 4 };

static const pmix_rank_t *resolved;
static size_t resolved_count;

/* These take the place of the PMIx library's: a server that knows nothing but what it resolves. */
pmix_status_t PMIx_Get(const pmix_proc_t *proc, const char key[], const pmix_info_t info[],
                       size_t count, pmix_value_t **out)
{
    (void)proc, (void)key, (void)info, (void)count, (void)out;
    return PMIX_ERR_NOT_FOUND;
}

pmix_status_t PMIx_Resolve_peers(const char *host, const pmix_nspace_t space, pmix_proc_t **out,
                                 size_t *count)
{
    (void)host, (void)space;
    *out = calloc(resolved_count, sizeof(**out));
    *count = resolved_count;
    for (size_t i = 0; i < resolved_count; i++)
        (*out)[i].rank = resolved[i];
    return PMIX_SUCCESS;
}

static weft_pmi_job_t find(const pmix_rank_t *ranks, size_t count)
{
    const pmix_proc_t self = {.nspace = "test", .rank = 1};
    weft_pmi_job_t job = {.size = SIZE, .rank = 1};
    resolved = ranks;
    resolved_count = count;
    assert_int_equal(weft_pmi_find_locality(&self, &job), MPI_SUCCESS);
    return job;
}

static void ranks_of_the_job_are_taken(void **unused)
{
    static const pmix_rank_t ranks[] = {3, 1};
    (void)unused;
    weft_pmi_job_t job = find(ranks, 2);
    assert_int_equal(job.local_size, 2);
    assert_int_equal(job.local_ranks[0], 1);
    assert_int_equal(job.local_ranks[1], 3);
    weft_free((int *)(uintptr_t)job.local_ranks);
}

/* Then the names of the hosts decide, of which only that of this rank is known here. */
static void others_are_not(void **unused)
{
    static const pmix_rank_t lists[][3] = {
        {1, SIZE, 2}, {0, 1, 1000000}, {1, PMIX_RANK_WILDCARD, 0}, {1, 1, 2}, {0, 2, 3}};
    (void)unused;
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        weft_pmi_job_t job = find(lists[i], 3);
        assert_int_equal(job.local_size, 1);
        assert_int_equal(job.local_ranks[0], 1);
        assert_int_equal(job.local_rank, 0);
        weft_free((int *)(uintptr_t)job.local_ranks);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ranks_of_the_job_are_taken),
                                       cmocka_unit_test(others_are_not)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
