/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim_team.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BINDINGS_MAX = 128, WAIT_NS = 1000000 };

/* An entry with a number is bound; no two bindings ever get the same number. */
typedef struct entry {
    _Atomic uint64_t number; /* 0: free; CLAIMED: being written */
    sim_binding_t binding;
} entry_t;

static const uint64_t CLAIMED = UINT64_MAX;

typedef struct table {
    uint32_t devices;
    uint64_t bytes;
    atomic_uint added;
    _Atomic uint64_t last_number;
    atomic_int members[SIM_DEVICES_MAX]; /* index + 1 */
    entry_t entries[BINDINGS_MAX];
} table_t;

struct sim_team {
    int fd;
    table_t *table;
    struct {
        uint64_t number; /* of the binding it was mapped for; 0: none */
        char *at;
        size_t bytes;
    } mapped[BINDINGS_MAX];
    struct {
        uint64_t number; /* of the binding that this process has made; 0: none */
        int fd;          /* keeps the memory while it is bound */
    } held[BINDINGS_MAX];
};

/* ---- the table ---- */

static sim_team_t *open_table(int fd)
{
    table_t *table = mmap(NULL, sizeof(table_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (table == MAP_FAILED) {
        close(fd);
        return NULL;
    }
    sim_team_t *team = sim_alloc(sizeof(*team));
    team->fd = fd;
    team->table = table;
    return team;
}

sim_team_t *sim_team_create(unsigned devices, size_t bytes)
{
    int fd = memfd_create("simcuda_team", MFD_CLOEXEC);
    if (fd == -1)
        return NULL;
    if (ftruncate(fd, sizeof(table_t)) != 0) {
        close(fd);
        return NULL;
    }
    sim_team_t *team = open_table(fd);
    if (team != NULL) {
        team->table->devices = devices;
        team->table->bytes = bytes;
    }
    return team;
}

sim_team_t *sim_team_adopt(int fd)
{
    return open_table(fd);
}

static void forget_mapping(sim_team_t *team, size_t slot)
{
    if (team->mapped[slot].number != 0)
        munmap(team->mapped[slot].at, team->mapped[slot].bytes);
    team->mapped[slot].number = 0;
}

static void let_go(sim_team_t *team, size_t slot)
{
    if (team->held[slot].number != 0)
        close(team->held[slot].fd);
    team->held[slot].number = 0;
}

void sim_team_release(sim_team_t *team)
{
    for (size_t i = 0; i < BINDINGS_MAX; i++) {
        uint64_t own = team->held[i].number;
        if (own != 0)
            atomic_compare_exchange_strong(&team->table->entries[i].number, &own, 0);
        let_go(team, i);
        forget_mapping(team, i);
    }
    munmap(team->table, sizeof(table_t));
    close(team->fd);
    free(team);
}

int sim_team_fd(const sim_team_t *team)
{
    return team->fd;
}

size_t sim_team_bytes(const sim_team_t *team)
{
    return team->table->bytes;
}

size_t sim_team_table_bytes(void)
{
    return sizeof(table_t);
}

/* ---- members ---- */

bool sim_team_has(const sim_team_t *team, int index)
{
    bool is_there = false;
    for (uint32_t i = 0; i < team->table->devices; i++)
        is_there |= atomic_load(&team->table->members[i]) == index + 1;
    return is_there;
}

CUresult sim_team_add(sim_team_t *team, int index)
{
    table_t *table = team->table;
    if (sim_team_has(team, index))
        return CUDA_ERROR_INVALID_VALUE;
    unsigned place = atomic_fetch_add(&table->added, 1);
    if (place >= table->devices)
        return CUDA_ERROR_INVALID_VALUE;
    atomic_store(&table->members[place], index + 1);
    return CUDA_SUCCESS;
}

static bool is_complete(const sim_team_t *team)
{
    bool is_full = true;
    for (uint32_t i = 0; i < team->table->devices; i++)
        is_full &= atomic_load(&team->table->members[i]) != 0;
    return is_full;
}

void sim_team_wait(const sim_team_t *team)
{
    pthread_cond_t never;
    sim_condition_init(&never);
    while (!is_complete(team))
        sim_wait_until(&never, sim_now() + WAIT_NS);
    pthread_cond_destroy(&never);
}

/* ---- bindings ---- */

static bool is_bound(const entry_t *entry)
{
    uint64_t number = atomic_load(&entry->number);
    return number != 0 && number != CLAIMED;
}

static bool overlaps(const sim_binding_t *a, const sim_binding_t *b)
{
    return a->index == b->index && a->offset < b->offset + b->bytes &&
           b->offset < a->offset + a->bytes;
}

/* The binding gets the entry `slot`, which was claimed for it. */
static CUresult hold_memory(sim_team_t *team, size_t slot, sim_binding_t *binding, int file)
{
    entry_t *entry = &team->table->entries[slot];
    int fd = sim_file_hold(file);
    if (fd == -1) {
        atomic_store(&entry->number, 0);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    binding->memory = sim_token_create(SIM_SHARED_HANDLE, fd, binding->index);
    entry->binding = *binding;
    team->held[slot].fd = fd;
    team->held[slot].number = atomic_fetch_add(&team->table->last_number, 1) + 1;
    atomic_store(&entry->number, team->held[slot].number);
    return CUDA_SUCCESS;
}

CUresult sim_team_bind(sim_team_t *team, sim_binding_t *binding, int file)
{
    table_t *table = team->table;
    for (size_t i = 0; i < BINDINGS_MAX; i++) {
        if (is_bound(&table->entries[i]) && overlaps(&table->entries[i].binding, binding))
            return CUDA_ERROR_INVALID_VALUE;
    }
    for (size_t i = 0; i < BINDINGS_MAX; i++) {
        uint64_t free_number = 0;
        if (atomic_compare_exchange_strong(&table->entries[i].number, &free_number, CLAIMED)) {
            let_go(team, i); /* if another process has ended the binding that was here */
            return hold_memory(team, i, binding, file);
        }
    }
    return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sim_team_unbind(sim_team_t *team, const sim_binding_t *binding)
{
    for (size_t i = 0; i < BINDINGS_MAX; i++) {
        entry_t *entry = &team->table->entries[i];
        const sim_binding_t *its = &entry->binding;
        if (is_bound(entry) && its->index == binding->index && its->offset == binding->offset &&
            its->bytes == binding->bytes) {
            let_go(team, i);
            atomic_store(&entry->number, 0);
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_INVALID_VALUE;
}

/* ---- what lies behind an address ---- */

static bool map_binding(sim_team_t *team, size_t slot)
{
    const entry_t *entry = &team->table->entries[slot];
    uint64_t number = atomic_load(&entry->number);
    sim_binding_t its = entry->binding;
    int fd;
    if (team->mapped[slot].number == number)
        return true;
    forget_mapping(team, slot);
    if (sim_token_open(&its.memory, SIM_SHARED_HANDLE, &fd) != CUDA_SUCCESS)
        return false;
    flock(fd, LOCK_UN); /* it is the binding that holds the memory */
    char *at =
        mmap(NULL, its.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)its.memory_offset);
    close(fd);
    if (at == MAP_FAILED)
        return false;
    team->mapped[slot].number = number;
    team->mapped[slot].at = at;
    team->mapped[slot].bytes = its.bytes;
    return true;
}

/* The place in the memory of one device; NULL: nothing of it is bound there, or cannot
 * be mapped. */
static char *place_of(sim_team_t *team, int index, uint64_t offset, uint64_t bytes)
{
    for (size_t i = 0; i < BINDINGS_MAX; i++) {
        const entry_t *entry = &team->table->entries[i];
        const sim_binding_t *its = &entry->binding;
        if (is_bound(entry) && its->index == index && offset >= its->offset &&
            offset + bytes <= its->offset + its->bytes)
            return map_binding(team, i) ? team->mapped[i].at + (offset - its->offset) : NULL;
    }
    return NULL;
}

unsigned sim_team_places(sim_team_t *team, uint64_t offset, uint64_t bytes,
                         char *places_out[SIM_DEVICES_MAX])
{
    for (uint32_t i = 0; i < team->table->devices; i++) {
        places_out[i] = place_of(team, atomic_load(&team->table->members[i]) - 1, offset, bytes);
        if (places_out[i] == NULL)
            return 0;
    }
    return team->table->devices;
}
