/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/plan/placement.h"

#include "base/fail.h"
#include "base/memory.h"
#include "mpi.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Work in progress: hosts of all parts, each once. */
typedef struct site {
    const char *name;
    int used;
} site_t;

typedef struct builder {
    const wl_placement_rules_t *rules;
    site_t *sites;
    wl_name_index_t index; /* of sites[] by their names */
    int site_count;
    int *host_of; /* [size] index into sites[] */
    int next_rank;
} builder_t;

static int placement_slots_of(const wl_listed_host_t *host, const wl_placement_rules_t *rules)
{
    if (rules->per_host > 0)
        return rules->per_host;
    return host->slots > 0 ? host->slots : 1;
}

int wl_placement_slots(const wl_host_list_t *hosts, const wl_placement_rules_t *rules)
{
    long sum = 0;
    for (int i = 0; i < hosts->count; i++)
        sum += placement_slots_of(&hosts->hosts[i], rules);
    return sum > INT_MAX ? INT_MAX : (int)sum;
}

static int site_of(builder_t *builder, const char *name)
{
    int found = wl_name_index_find(&builder->index, name);
    if (found >= 0)
        return found;
    builder->sites[builder->site_count] = (site_t){.name = name};
    wl_name_index_add(&builder->index, name, builder->site_count);
    return builder->site_count++;
}

/* How many more ranks the host takes in this round over all hosts. */
static int room(const builder_t *builder, const wl_listed_host_t *host, int site, int round)
{
    long limit = (long)placement_slots_of(host, builder->rules) * round;
    if (host->most > 0 && limit > host->most)
        limit = host->most;
    long left = limit - builder->sites[site].used;
    return left < 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left;
}

static void put_ranks(builder_t *builder, int site, int count)
{
    for (int i = 0; i < count; i++)
        builder->host_of[builder->next_rank++] = site;
    builder->sites[site].used += count;
}

/* Go over the hosts once; returns how many ranks of `left` found a place. */
static int pass_over(builder_t *builder, const wl_placement_part_t *part, int left, int round)
{
    int placed = 0;
    for (int i = 0; i < part->hosts->count && placed < left; i++) {
        const wl_listed_host_t *host = &part->hosts->hosts[i];
        int site = site_of(builder, host->name);
        int count = room(builder, host, site, round);
        if (builder->rules->is_by_node && count > 1)
            count = 1;
        if (count > left - placed)
            count = left - placed;
        put_ranks(builder, site, count);
        placed += count;
    }
    return placed;
}

/* Has every host of the part reached its maximum of ranks? */
static bool is_full(builder_t *builder, const wl_host_list_t *hosts)
{
    for (int i = 0; i < hosts->count; i++) {
        const wl_listed_host_t *host = &hosts->hosts[i];
        if (host->most == 0 || builder->sites[site_of(builder, host->name)].used < host->most)
            return false;
    }
    return true;
}

static int place(builder_t *builder, const wl_placement_part_t *part)
{
    int left = part->count;
    for (int round = 1; left > 0;) {
        int placed = pass_over(builder, part, left, round);
        left -= placed;
        if (left > 0 && is_full(builder, part->hosts))
            return weft_fail(MPI_ERR_SPAWN,
                             "%d ranks were asked for, %d more than max_slots of the hosts allow",
                             part->count, left);
        if (left > 0 && placed == 0 && builder->rules->no_oversubscription)
            return weft_fail(MPI_ERR_SPAWN,
                             "%d ranks were asked for with --nooversubscribe, but the hosts have "
                             "%d slots",
                             part->count, wl_placement_slots(part->hosts, builder->rules));
        if (placed == 0)
            round++;
    }
    return MPI_SUCCESS;
}

/* Number the hosts by their first rank and leave out hosts without ranks; map[site] is the number.
 */
static int number_hosts(const builder_t *builder, int *map, char **names)
{
    int count = 0;
    for (int i = 0; i < builder->site_count; i++)
        map[i] = -1;
    for (int rank = 0; rank < builder->next_rank; rank++) {
        int site = builder->host_of[rank];
        if (map[site] >= 0)
            continue;
        names[count] = (char *)builder->sites[site].name;
        map[site] = count++;
    }
    return count;
}

static int finish_placement(builder_t *builder, wl_placement_t *out)
{
    size_t sites = (size_t)builder->site_count;
    int *map = weft_alloc_array(sites, sizeof(*map));
    char **names = weft_alloc_array(sites, sizeof(*names));
    int err = MPI_ERR_NO_MEM;
    if (map != NULL && names != NULL) {
        int count = number_hosts(builder, map, names);
        for (int rank = 0; rank < builder->next_rank; rank++)
            builder->host_of[rank] = map[builder->host_of[rank]];
        err = wl_placement_rebuild(builder->host_of, builder->next_rank, names, count, out);
    }
    weft_free(map);
    weft_free(names);
    return err;
}

int wl_placement_make(const wl_placement_part_t *parts, int part_count,
                      const wl_placement_rules_t *rules, wl_placement_t *out)
{
    size_t sites = 0, size = 0;
    for (int i = 0; i < part_count; i++) {
        sites += (size_t)parts[i].hosts->count;
        size += (size_t)parts[i].count;
    }
    builder_t builder = {.rules = rules,
                         .sites = weft_alloc_array(sites, sizeof(site_t)),
                         .host_of = weft_alloc_array(size, sizeof(int))};
    int err = builder.sites != NULL && builder.host_of != NULL &&
                      wl_name_index_reserve(&builder.index, sites)
                  ? MPI_SUCCESS
                  : weft_fail(MPI_ERR_NO_MEM, "a plan of %zu ranks", size);
    for (int i = 0; i < part_count && err == MPI_SUCCESS; i++)
        err = place(&builder, &parts[i]);
    if (err == MPI_SUCCESS)
        err = finish_placement(&builder, out);
    weft_free(builder.sites);
    wl_name_index_release(&builder.index);
    weft_free(builder.host_of);
    return err;
}

static void distribute(wl_placement_t *placement)
{
    int *block = placement->hosts[0].ranks;
    for (int rank = 0; rank < placement->size; rank++)
        placement->hosts[placement->host_of[rank]].count++;
    for (int i = 0; i < placement->host_count; i++) {
        placement->hosts[i].ranks = block;
        block += placement->hosts[i].count;
        placement->hosts[i].count = 0;
    }
    for (int rank = 0; rank < placement->size; rank++) {
        wl_placed_host_t *host = &placement->hosts[placement->host_of[rank]];
        placement->local_rank[rank] = host->count;
        host->ranks[host->count++] = rank;
    }
}

static bool allocate_sites(wl_placement_t *placement)
{
    size_t size = (size_t)placement->size;
    placement->hosts = weft_alloc_zeroed((size_t)placement->host_count, sizeof(*placement->hosts));
    placement->host_of = weft_alloc_array(size, sizeof(int));
    placement->local_rank = weft_alloc_array(size, sizeof(int));
    if (placement->hosts == NULL || placement->host_of == NULL || placement->local_rank == NULL)
        return false;
    placement->hosts[0].ranks = weft_alloc_array(size, sizeof(int));
    return placement->hosts[0].ranks != NULL;
}

int wl_placement_rebuild(const int *host_of, int size, char *const *names, int host_count,
                         wl_placement_t *out)
{
    wl_placement_t placement = {.host_count = host_count, .size = size};
    for (int rank = 0; rank < size; rank++) {
        if (host_of[rank] < 0 || host_of[rank] >= host_count)
            return weft_fail(MPI_ERR_OTHER, "rank %d is on host %d of %d", rank, host_of[rank],
                             host_count);
    }
    bool is_complete = allocate_sites(&placement);
    for (int i = 0; i < host_count && is_complete; i++) {
        placement.hosts[i].name = weft_strdup(names[i]);
        is_complete = placement.hosts[i].name != NULL;
    }
    if (!is_complete) {
        wl_placement_release(&placement);
        return weft_fail(MPI_ERR_NO_MEM, "a plan of %d ranks on %d hosts", size, host_count);
    }
    memcpy(placement.host_of, host_of, (size_t)size * sizeof(int));
    distribute(&placement);
    *out = placement;
    return MPI_SUCCESS;
}

void wl_placement_release(wl_placement_t *placement)
{
    for (int i = 0; placement->hosts != NULL && i < placement->host_count; i++)
        weft_free(placement->hosts[i].name);
    if (placement->hosts != NULL)
        weft_free(placement->hosts[0].ranks); /* the block begins there */
    weft_free(placement->hosts);
    weft_free(placement->host_of);
    weft_free(placement->local_rank);
    *placement = (wl_placement_t){0};
}

void wl_placement_name_ranks(const wl_placed_host_t *host, char *out, size_t bytes)
{
    int first = host->ranks[0], last = host->ranks[host->count - 1];
    if (host->count == 1)
        snprintf(out, bytes, "rank %d", first);
    else if (last - first == host->count - 1)
        snprintf(out, bytes, "ranks %d to %d", first, last);
    else
        snprintf(out, bytes, "rank %d and %d more", first, host->count - 1);
}
