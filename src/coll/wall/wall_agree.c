/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which wall a communicator or a persistent request gets. The members say by messages which walls
 * are free at each of them, and take the first that is free at all. A rank may write to its strip
 * of that wall only when nobody reads it any more for an earlier communicator: so the last thing
 * that a member does on a wall is a post without data, and a wall is free again when all members
 * have made it.
 */
#include "coll/wall/wall.h"

#include "coll/comm_shape.h"
#include "coll/wall/wall_groups.h"
#include "coll/wall/wall_neighbors.h"
#include "object/topology.h"
#include "runtime/device.h"
#include "runtime/progress.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/log.h"
#include "base/memory.h"

enum {
    FIRST_TRY = 3, /* a communicator with fewer blocking collectives than that needs no wall */
    NEXT_TRY = 2,  /* if there was none; after that many times as many calls */
    CHUNK_MOST = 64 * 1024, /* and more of larger communicators: */
    MEMBERS_PER_CHUNK = 4,  /* so many have one */
    RING_LEAST = 16 * 1024,
    SPINS = 400,
    POSTS_BEFORE_DOWN = 4 * WEFT_WALL_POSTS,
    NEVER = 0,
};

/* What a member says of itself. Numbers begin so high that one can count back from them. */
typedef struct offer {
    uint64_t number; /* no post of it has a higher one */
    uint32_t free;   /* a bit for each wall */
    int32_t part;    /* of the machine (wall_groups.h); -1: not known */
    uint32_t edges;  /* that lead away from it, in the communicator's topology */
    uint8_t is_willing;
    uint8_t has_no_device; /* and will not have any */
    uint8_t reads_best;    /* the other one's large messages, rather than go through a ring */
} wall_offer_t;

int weft_wall_slot = -1;

static weft_wall_t *walls[WEFT_WALLS]; /* by index; also those that others may still read */
static size_t ring_in_use[WEFT_WALLS]; /* bytes whose pages have been touched, or will be */
static uint64_t highest_number;        /* of the posts on walls that are free again */
static bool is_agreeing; /* a thread has offered walls, and does not know yet which it will take */

/* ---- free walls ---- */

/* As soon as there is room for it: this must not wait, and a root may be ahead of the others. */
static void make_last_post(weft_wall_t *wall)
{
    bool has_room = wall->all_have + WEFT_WALL_POSTS > wall->number + 1 ||
                    weft_wall_has_all(wall, wall->number + 2 - WEFT_WALL_POSTS);
    if (wall->error == MPI_SUCCESS && has_room && weft_wall_signal(wall))
        wall->owes_post = false;
}

/* May its owner write to the strip again? */
static bool is_drained(weft_wall_t *wall)
{
    if (wall->owes_post)
        make_last_post(wall);
    return !wall->owes_post && weft_wall_has_all(wall, wall->number);
}

static void release_wall(weft_wall_t *wall)
{
    weft_wall_forget_neighbors(wall);
    weft_free(wall->groups);
    weft_free(wall);
}

static void free_wall(int index)
{
    if (walls[index]->number > highest_number)
        highest_number = walls[index]->number;
    atomic_store(&walls[index]->strip->state.taken_down_at, 0);
    weft_wall_routes_clear(walls[index]->strip);
    release_wall(walls[index]);
    walls[index] = NULL;
}

/* One on which a collective has failed stays taken: its posts are not alike. */
static uint32_t free_walls(void)
{
    uint32_t free = 0;
    for (int i = 0; i < WEFT_WALLS; i++) {
        if (walls[i] != NULL && walls[i]->comm == NULL && walls[i]->error == MPI_SUCCESS &&
            is_drained(walls[i]))
            free_wall(i);
        free |= (uint32_t)(walls[i] == NULL) << i;
    }
    return free;
}

/* The communicator may be gone. */
void weft_wall_give(weft_wall_t *wall)
{
    wall->comm = NULL;
    wall->stamp = 0;
    wall->owes_post = true;
    make_last_post(wall);
    ring_in_use[wall->index] = wall->ring_bytes;
}

static void release_use(weft_comm_t *comm, void *state)
{
    weft_wall_use_t *use = state;
    (void)comm;
    if (use->wall != NULL)
        weft_wall_give(use->wall);
    weft_free(use);
}

/* ---- agreeing ---- */

/* Do all members have strips? They all come to the same answer. */
static bool is_possible(const weft_comm_t *comm)
{
    weft_shape_t room;
    const weft_shape_t *shape;
    if (weft_wall_place.memory == NULL || comm->size > WEFT_WALL_MEMBERS_MOST ||
        weft_comm_shape(comm, &room, &shape) != MPI_SUCCESS || shape->nodes != 1)
        return false;
    for (int i = 0; i < comm->size; i++) {
        if (weft_processes.at[weft_comm_process(comm, i)].job != WEFT_OWN_JOB)
            return false;
    }
    return true;
}

static bool reads_best(const weft_comm_t *comm)
{
    if (!weft_world_has_one_pair())
        return false;
    int other = weft_comm_process(comm, (comm->rank + 1) % comm->size);
    const weft_endpoint_t *endpoint = weft_processes.at[other].endpoint;
    return endpoint != NULL && endpoint->can_read && endpoint->reads_best;
}

static uint32_t edges_of(const weft_comm_t *comm)
{
    return comm->topology == NULL
               ? 0
               : (uint32_t)weft_topology_destinations(comm->topology, comm->rank);
}

static wall_offer_t own_offer(const weft_comm_t *comm, bool is_willing)
{
    uint32_t free = is_agreeing ? 0 : free_walls(); /* this may raise highest_number */
    wall_offer_t offer = {.number = WEFT_WALL_POSTS + highest_number,
                          .free = free,
                          .part = weft_wall_own_part(comm->size),
                          .edges = edges_of(comm),
                          .is_willing =
                              is_willing && (*weft_device_news == 0 || comm->is_host_only),
                          .has_no_device = comm->is_host_only || !weft_device_may_come(),
                          .reads_best = reads_best(comm)};
    for (int i = 0; i < WEFT_WALLS; i++) {
        if (walls[i] != NULL && walls[i]->number > offer.number)
            offer.number = walls[i]->number;
    }
    return offer;
}

static int exchange_offers(weft_comm_t *comm, bool is_willing, wall_offer_t *offers)
{
    wall_offer_t own = own_offer(comm, is_willing);
    weft_coll_args_t args = weft_coll_args_of_bytes(comm, &own, offers, sizeof(own));
    is_agreeing = is_agreeing || own.free != 0;
    int err = weft_coll_run_by_messages(WEFT_ALLGATHER, &args);
    is_agreeing = is_agreeing && own.free == 0;
    return err;
}

/* All that the members need is in the sum of their offers: false if there is no wall for them. */
static bool combine(const wall_offer_t *offers, int members, wall_offer_t *sum)
{
    *sum = (wall_offer_t){.free = UINT32_MAX, .is_willing = 1, .has_no_device = 1, .reads_best = 1};
    for (int i = 0; i < members; i++) {
        sum->free &= offers[i].free;
        sum->is_willing &= offers[i].is_willing;
        sum->has_no_device &= offers[i].has_no_device;
        sum->reads_best &= offers[i].reads_best;
        if (offers[i].number > sum->number)
            sum->number = offers[i].number;
        if (offers[i].edges > sum->edges)
            sum->edges = offers[i].edges;
    }
    return sum->is_willing != 0 && sum->free != 0;
}

/* ---- making ---- */

static void add_member(weft_wall_t *wall, int member)
{
    int local_rank = weft_process_local_rank(weft_comm_process(wall->comm, member));
    wall->members[member] = (weft_wall_member_t){.strip = weft_wall_strip(wall->index, local_rank),
                                                 .ring = weft_wall_ring(wall->index, local_rank),
                                                 .swap = weft_wall_swap(wall->index, local_rank),
                                                 .doorbell = weft_wall_place.doorbell(local_rank),
                                                 .leaving = weft_wall_place.leaving(local_rank)};
}

/* Where members take turns on a core, each chunk takes a turn of each, so chunks are as large as
 * they can be. With 512 KiB instead of 64 an allreduce of 4 MiB on 4 ranks of 2 cores takes 0.65 to
 * 0.9 of the time, and a nonblocking one beside a computation waits for fewer turns. */
static size_t chunk_bytes(int members)
{
    size_t chunks = ((size_t)members + MEMBERS_PER_CHUNK - 1) / MEMBERS_PER_CHUNK;
    size_t most = weft_wall_place.ring_bytes / WEFT_WALL_CHUNKS;
    return weft_world.is_oversubscribed ? most : weft_least(most, CHUNK_MOST * chunks) / 64 * 64;
}

static void use_ring(weft_wall_t *wall)
{
    size_t in_use = ring_in_use[wall->index];
    wall->chunk = chunk_bytes(wall->size);
    wall->ring = weft_wall_ring(wall->index, weft_world.local_rank);
    wall->ring_bytes = in_use > 0 ? in_use : RING_LEAST;
}

/* Nobody has posted with a number above that of the sum, so what is left on the wall is not taken
 * for new. */
static void set_up(weft_wall_t *wall, weft_comm_t *comm, const wall_offer_t *sum)
{
    wall->comm = comm;
    wall->index = __builtin_ctz(sum->free);
    wall->size = comm->size;
    wall->rank = comm->rank;
    wall->takes_all = sum->has_no_device;
    wall->is_idle = true;
    weft_list_init(&wall->pending);
    wall->spins = weft_world.is_oversubscribed ? 0 : SPINS;
    wall->number = wall->all_have = sum->number;
    wall->is_untouched = wall->index == 0 && comm->size == 2 && weft_store_begins_large();
    wall->strip = weft_wall_strip(wall->index, weft_world.local_rank);
    use_ring(wall);
    for (int i = 0; i < comm->size; i++)
        add_member(wall, i);
    weft_wall_store_open(wall);
    weft_wall_swaps_open(wall);
    weft_wall_routes_open(&wall->routes, sum->reads_best);
    walls[wall->index] = wall;
    WEFT_LOG(WEFT_DEBUG, "coll", "wall %d for %d ranks, chunks of %zu bytes", wall->index,
             wall->size, wall->chunk);
}

/* What else the members have told of themselves. */
static int know_members(weft_wall_t *wall, const wall_offer_t *offers, size_t edges_most)
{
    int parts[WEFT_WALL_MEMBERS_MOST];
    for (int i = 0; i < wall->size; i++)
        parts[i] = offers[i].part;
    wall->groups = weft_wall_groups_make(parts, wall->size, wall->rank);
    if (wall->groups == NULL) {
        weft_wall_give_up(wall, weft_fail(MPI_ERR_NO_MEM, "no memory for groups of ranks"));
        return wall->error;
    }
    return wall->comm->topology == NULL ? MPI_SUCCESS : weft_wall_find_neighbors(wall, edges_most);
}

/* A member without memory for it is not willing. *out: NULL if there is no wall. */
static int agree(weft_comm_t *comm, bool is_willing, weft_wall_t **out)
{
    size_t size = (size_t)comm->size;
    wall_offer_t *offers = weft_alloc_array(size, sizeof(*offers)), sum;
    weft_wall_t *wall = weft_alloc_zeroed(1, sizeof(*wall) + size * sizeof(*wall->members));
    *out = NULL;
    if (offers == NULL) {
        weft_free(wall);
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a collective");
    }
    int err = exchange_offers(comm, is_willing && wall != NULL, offers);
    if (err == MPI_SUCCESS && combine(offers, comm->size, &sum)) {
        set_up(wall, comm, &sum);
        *out = wall;
        err = know_members(wall, offers, sum.edges);
    } else {
        weft_free(wall);
    }
    weft_free(offers);
    return err;
}

/* ---- for all calls ---- */

static weft_wall_use_t *use_of(weft_comm_t *comm)
{
    if (comm->slot[weft_wall_slot] == NULL) {
        weft_wall_use_t *use = weft_alloc_zeroed(1, sizeof(*use));
        if (use != NULL)
            use->next_try = is_possible(comm) ? FIRST_TRY : NEVER;
        comm->slot[weft_wall_slot] = use;
    }
    return comm->slot[weft_wall_slot];
}

int weft_wall_find(weft_comm_t *comm, weft_wall_t **out)
{
    weft_wall_use_t *use = use_of(comm);
    *out = NULL;
    if (use == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a collective");
    if (use->wall != NULL) { /* it has been taken down */
        weft_wall_give(use->wall);
        use->wall = NULL;
        use->next_try = NEVER;
    }
    if (++use->calls != use->next_try)
        return MPI_SUCCESS;
    use->next_try *= NEXT_TRY;
    int err = agree(comm, true, &use->wall);
    *out = use->wall;
    return err;
}

/* Communicators find half of the walls at least, whatever requests have taken. */
int weft_wall_take(weft_comm_t *comm, bool is_wanted, weft_wall_t **out)
{
    bool is_willing =
        is_wanted && !weft_device_may_come() && __builtin_popcount(free_walls()) > WEFT_WALLS / 2;
    *out = NULL;
    return is_possible(comm) ? agree(comm, is_willing, out) : MPI_SUCCESS;
}

int weft_wall_prepare(weft_comm_t *comm)
{
    weft_wall_use_t *use = use_of(comm);
    if (use == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a collective");
    return use->wall != NULL || use->next_try == NEVER ? MPI_SUCCESS
                                                       : agree(comm, true, &use->wall);
}

/* No member is more than WEFT_WALL_POSTS posts ahead of this one, so none can have come to that
 * number without having seen it. */
void weft_wall_take_down(weft_wall_t *wall)
{
    /* the strip belongs to another process, which only others read otherwise */
    weft_strip_t *first = (weft_strip_t *)wall->members[0].strip;
    unsigned long long none = 0;
    atomic_compare_exchange_strong(&first->state.taken_down_at, &none,
                                   wall->number + POSTS_BEFORE_DOWN);
}

int weft_walls_open(void)
{
    weft_wall_slot = weft_comm_slot_register("walls", release_use);
    return weft_wall_slot < 0 ? MPI_ERR_INTERN : MPI_SUCCESS;
}

void weft_walls_close(void)
{
    weft_wall_requests_close();
    for (int i = 0; i < WEFT_WALLS; i++) {
        if (walls[i] != NULL)
            release_wall(walls[i]);
        walls[i] = NULL;
        ring_in_use[i] = 0;
    }
    highest_number = 0;
}
