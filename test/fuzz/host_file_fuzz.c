/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Host files, and the placement of ranks on their hosts. The first byte chooses how many ranks, and
 * by which rules.
 * fuzz: runs=100000 most=200 of=launch/plan,base
 */
#include "long_list.h"

#include "launch/plan/host_list.h"
#include "launch/plan/placement.h"
#include "mpi.h"

/* Each rank has one place, and each place one rank. */
static void check_placement(const wl_placement_t *placement, int ranks)
{
    int sum = 0;
    fuzz_expect(placement->size == ranks, "a placement has too few or too many ranks");
    for (int i = 0; i < placement->host_count; i++)
        sum += placement->hosts[i].count;
    fuzz_expect(sum == ranks, "the hosts have too few or too many ranks");
    for (int rank = 0; rank < ranks; rank++) {
        const wl_placed_host_t *host = &placement->hosts[placement->host_of[rank]];
        fuzz_expect(host->ranks[placement->local_rank[rank]] == rank, "a rank is in two places");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    fuzz_input_t input = {data, bytes};
    unsigned choice = fuzz_byte(&input);
    wl_host_list_t list = {0};
    wl_placement_t placement;
    const wl_placement_rules_t rules = {.per_host = (int)(choice >> 6),
                                        .is_by_node = (choice & 1) != 0,
                                        .no_oversubscription = (choice & 2) != 0};
    const wl_placement_part_t part = {&list, 1 + (int)(choice >> 2 & 15)};
    char *text = fuzz_text(input.at, input.left);
    bool is_long = fuzz_has_long_list(text);
    free(text);
    if (!is_long && wl_host_list_add_file(&list, fuzz_file(input.at, input.left)) == MPI_SUCCESS &&
        wl_placement_make(&part, 1, &rules, &placement) == MPI_SUCCESS) {
        check_placement(&placement, part.count);
        wl_placement_release(&placement);
    }
    wl_host_list_release(&list);
    return 0;
}
