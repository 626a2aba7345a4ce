/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/wall/wall_groups.h"

#include "coll/wall/fold.h"
#include "coll/wall/wall_algorithms.h"
#include "runtime/hardware.h"
#include "runtime/world.h"
#include "base/clock.h"
#include "base/copy.h"
#include "base/memory.h"

/* ---- groups ---- */

int weft_wall_own_part(int members)
{
    int instances[WEFT_HARDWARE_KINDS];
    if (members < WEFT_GROUPED_LEAST || weft_world.is_oversubscribed || !weft_hardware_is_bound())
        return -1;
    weft_hardware_find(instances);
    return instances[WEFT_HARDWARE_L3];
}

static int members_of_part(const int *parts, int members, int part)
{
    int count = 0;
    for (int i = 0; i < members; i++)
        count += parts[i] == part;
    return count;
}

static bool suit_groups(const int *parts, int members)
{
    for (int i = 0; i < members; i++) {
        int count = members_of_part(parts, members, parts[i]);
        if (parts[i] < 0 || count == 1 || count == members)
            return false;
    }
    return true;
}

/* The least whose square has room for all. */
static int even_size(int members)
{
    int size = 1;
    while (size * size < members)
        size++;
    return size;
}

static int leader_by_part(const int *parts, int member)
{
    int leader = 0;
    while (parts[leader] != parts[member])
        leader++;
    return leader;
}

/* leader, and index within its group, of each. */
static void place_members(weft_wall_groups_t *its, const int *parts, int members)
{
    bool by_part = suit_groups(parts, members);
    int even = even_size(members);
    for (int i = 0; i < members; i++) {
        int leader = by_part ? leader_by_part(parts, i) : i / even * even, index = 0;
        for (int k = leader; k < i; k++)
            index += its->of[k].leader == leader;
        its->of[i] = (weft_grouped_member_t){.leader = leader, .index = index};
        its->of[leader].led = index + 1;
        its->largest = index >= its->largest ? index + 1 : its->largest;
    }
}

static void list_members(weft_wall_groups_t *its, int members, int rank)
{
    for (int i = 0; i < members; i++) {
        if (its->of[i].leader == its->of[rank].leader)
            its->members[its->size++] = i;
        if (its->of[i].leader == i)
            its->leaders[its->count++] = i;
    }
    for (int i = 0; i < its->count; i++) {
        if (its->leaders[i] != rank)
            its->leaders[its->count + its->others++] = its->leaders[i];
    }
}

weft_wall_groups_t *weft_wall_groups_make(const int *parts, int members, int rank)
{
    size_t size = (size_t)members;
    size_t own = sizeof(weft_wall_groups_t) + size * sizeof(weft_grouped_member_t);
    weft_wall_groups_t *its = weft_alloc_zeroed(1, own + 3 * size * sizeof(int));
    if (its == NULL)
        return NULL;
    its->members = (int *)((char *)its + own);
    its->leaders = its->members + members;
    place_members(its, parts, members);
    list_members(its, members, rank);
    for (int i = 0; i < WEFT_GROUP_KINDS; i++)
        weft_route_open(&its->kinds[i], WEFT_ROUTE_WALL, 0);
    return its;
}

/* ---- a call by groups ---- */

typedef struct grouped_call {
    weft_wall_t *wall;
    const weft_wall_groups_t *groups;
    const weft_coll_args_t *args;
    size_t bytes; /* of an operand; 0: there is none, as in a barrier */
    int leader;
    bool is_leader;
} grouped_call_t;

static grouped_call_t call_of(weft_wall_t *wall, const weft_coll_args_t *args, size_t bytes)
{
    int leader = wall->groups->of[wall->rank].leader;
    return (grouped_call_t){wall, wall->groups, args, bytes, leader, leader == wall->rank};
}

/* A post without data that only its author's next posts tell of. */
static bool pass(weft_wall_t *wall)
{
    bool has_room = weft_wall_room(wall, 0) != NULL;
    if (has_room)
        weft_wall_post_for(wall, NULL, 0);
    return has_room;
}

static bool post_operand(const grouped_call_t *call)
{
    void *room = weft_wall_room(call->wall, call->bytes);
    if (room == NULL)
        return false;
    if (call->bytes > 0)
        weft_wall_copy_in(call->wall, room, weft_fold_input(call->args), call->bytes);
    weft_wall_post_for(call->wall, &call->leader, 1);
    return true;
}

/* Where the operands of this group are; they stay until this member's next post. */
static bool await_group(const grouped_call_t *call, const void *operands[])
{
    const weft_wall_groups_t *groups = call->groups;
    if (!pass(call->wall) ||
        !weft_wall_await_list(call->wall, groups->members + 1, groups->size - 1))
        return false;
    operands[0] = weft_fold_input(call->args);
    for (int i = 1; i < groups->size; i++) {
        operands[i] = weft_wall_data(call->wall, groups->members[i], call->bytes);
        if (operands[i] == NULL)
            return false;
    }
    return true;
}

/* out: where they are, one behind the other. */
static bool post_group(const grouped_call_t *call, const void *const operands[], const char **out)
{
    const weft_wall_groups_t *groups = call->groups;
    char *room = weft_wall_room(call->wall, (size_t)groups->size * call->bytes);
    if (room == NULL)
        return false;
    for (int i = 0; i < groups->size && call->bytes > 0; i++)
        weft_wall_copy_in(call->wall, room + (size_t)i * call->bytes, operands[i], call->bytes);
    weft_wall_post_for(call->wall, groups->leaders + groups->count, groups->others);
    *out = room;
    return true;
}

/* own: this group's operands. */
static bool reduce_all(const grouped_call_t *call, const char *own)
{
    const weft_coll_args_t *args = call->args;
    const char *posts[WEFT_WALL_MEMBERS_MOST];
    const weft_wall_groups_t *groups = call->groups;
    posts[call->wall->rank] = own;
    for (int i = 0; i < groups->others; i++) {
        int leader = groups->leaders[groups->count + i];
        posts[leader] =
            weft_wall_data(call->wall, leader, (size_t)groups->of[leader].led * call->bytes);
        if (posts[leader] == NULL)
            return false;
    }
    if (call->bytes == 0)
        return true;
    weft_fold_t fold = weft_fold_of(args, call->wall->size, args->recv_count);
    for (int i = 0; i < call->wall->size; i++)
        fold.at[i] = posts[groups->of[i].leader] + (size_t)groups->of[i].index * call->bytes;
    weft_fold(&fold, args->recv_buf);
    return true;
}

static bool lead(const grouped_call_t *call)
{
    const void *operands[WEFT_WALL_MEMBERS_MOST];
    const char *own;
    const weft_wall_groups_t *groups = call->groups;
    if (!await_group(call, operands) || !post_group(call, operands, &own) ||
        !weft_wall_await_list(call->wall, groups->leaders + groups->count, groups->others) ||
        !reduce_all(call, own))
        return false;
    void *room = weft_wall_room(call->wall, call->bytes);
    if (room == NULL)
        return false;
    if (call->bytes > 0)
        weft_wall_copy_in(call->wall, room, call->args->recv_buf, call->bytes);
    weft_wall_post(call->wall);
    return true;
}

static bool follow(const grouped_call_t *call)
{
    if (!post_operand(call) || !pass(call->wall) || !weft_wall_signal(call->wall) ||
        !weft_wall_await_list(call->wall, &call->leader, 1))
        return false;
    const void *result = weft_wall_data(call->wall, call->leader, call->bytes);
    if (result == NULL)
        return false;
    if (call->bytes > 0)
        weft_copy_read(call->args->recv_buf, result, call->bytes);
    return true;
}

/* Whoever knows the result knows that all members have made their first posts. */
static int run_call(const grouped_call_t *call)
{
    uint64_t first = call->wall->number + 1;
    weft_wall_stamp(call->wall, call->bytes);
    if ((call->is_leader ? lead(call) : follow(call)) && call->wall->all_have < first)
        call->wall->all_have = first;
    return call->wall->error;
}

static int run_barrier(weft_wall_t *wall, const weft_coll_args_t *args)
{
    grouped_call_t call = call_of(wall, args, 0);
    return run_call(&call);
}

static int run_allreduce(weft_wall_t *wall, const weft_coll_args_t *args)
{
    size_t bytes = args->recv_count * args->recv_type->size;
    if (bytes == 0 || bytes * (size_t)wall->groups->largest > wall->chunk)
        return weft_wall_flat_allreduce(wall, args);
    grouped_call_t call = call_of(wall, args, bytes);
    return run_call(&call);
}

/* ---- learning ---- */

/* Barriers; allreduces of a few numbers, and of more. */
static int kind_of_call(const weft_coll_args_t *args)
{
    enum { FEW_BYTES = 64 };
    size_t bytes = args->recv_type == NULL ? 0 : args->recv_count * args->recv_type->size;
    return args->op == NULL ? 0 : bytes <= FEW_BYTES ? 1 : 2;
}

/* The first member's calls are measured. */
static int run_timed(weft_wall_t *wall, const weft_coll_args_t *args, weft_on_wall_t run, int kind,
                     weft_route_t route)
{
    enum { PER_CALL = 1024 }; /* costs are counted for so many bytes */
    weft_route_choice_t *choice = &wall->groups->kinds[kind];
    if (wall->rank != 0 || !weft_route_begin(choice))
        return run(wall, args);
    int64_t began_ns = weft_clock_ns();
    int err = run(wall, args);
    if (err == MPI_SUCCESS && weft_route_note(choice, route, weft_clock_ns() - began_ns, PER_CALL))
        weft_wall_show_route(wall, kind, choice->route);
    return err;
}

static int run_learnt(weft_wall_t *wall, const weft_coll_args_t *args, weft_on_wall_t flat,
                      weft_on_wall_t by_groups)
{
    int kind = kind_of_call(args);
    weft_route_t route = weft_wall_route_now(wall, kind, WEFT_ROUTE_WALL);
    return run_timed(wall, args, route == WEFT_ROUTE_WALL ? flat : by_groups, kind, route);
}

/* ---- plans ---- */

/* Nonblocking calls have one level: with posts that wait for others in between, each of them would
 * take another round of progress. */
#define WEFT_WALL_GROUPED(name)                                                                    \
    static int run_learnt_##name(weft_wall_t *wall, const weft_coll_args_t *args)                  \
    {                                                                                              \
        return run_learnt(wall, args, weft_wall_flat_##name, run_##name);                          \
    }                                                                                              \
    void weft_grouped_##name(weft_plan_t *plan, const weft_coll_args_t *args)                      \
    {                                                                                              \
        weft_wall_##name(plan, args);                                                              \
        plan->on_wall = run_##name;                                                                \
    }                                                                                              \
    void weft_learnt_##name(weft_plan_t *plan, const weft_coll_args_t *args)                       \
    {                                                                                              \
        weft_wall_##name(plan, args);                                                              \
        plan->on_wall = run_learnt_##name;                                                         \
    }

WEFT_WALL_GROUPED(barrier)
WEFT_WALL_GROUPED(allreduce)
