/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists of hosts as words: --host, and SLURM_JOB_NODELIST.
 * fuzz: runs=200000 most=120 of=launch/plan,base
 */
#include "long_list.h"

#include "base/fail.h"
#include "launch/plan/host_list.h"
#include "mpi.h"

static void check_list(const wl_host_list_t *list)
{
    fuzz_expect(list->count <= list->capacity, "a list has more hosts than room");
    for (int i = 0; i < list->count; i++) {
        fuzz_expect(list->hosts[i].slots >= 0 && list->hosts[i].most >= 0, "a number is negative");
        fuzz_expect(i == 0 || strcmp(list->hosts[i - 1].name, list->hosts[i].name) != 0,
                    "a host stands there twice");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char *words = fuzz_text(data, bytes);
    wl_host_list_t list = {0}, copy = {0};
    if (fuzz_has_long_list(words)) {
        /* It shows nothing else. */
    } else if (wl_host_list_add(&list, words) == MPI_SUCCESS) {
        fuzz_expect(wl_host_list_copy(&list, &copy) == MPI_SUCCESS && copy.count == list.count,
                    "a list cannot be copied");
        wl_host_list_take_slots(&copy, &list);
        if (list.count > 0)
            wl_is_this_host(list.hosts[0].name);
    } else {
        fuzz_expect(weft_fail_text()[0] != '\0', "a refusal has no text");
    }
    check_list(&list);
    check_list(&copy);
    wl_host_list_release(&list);
    wl_host_list_release(&copy);
    free(words);
    return 0;
}
