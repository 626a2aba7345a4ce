/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/algorithm.h"
#include "coll/reduce_scatter/reduce_scatter_nodes.h"
#include "coll/team/pieces.h"
#include "coll/wall/wall_algorithms.h"
#include "base/memory.h"

/* The number of elements that rank `rank` gets; reduce_scatter_block has one count for all
 * ranks. */
static size_t count_of(const weft_coll_args_t *args, int rank)
{
    return args->recv_counts.at == NULL ? args->recv_count
                                        : (size_t)weft_count_at(args->recv_counts, (size_t)rank);
}

static size_t total_of(const weft_coll_args_t *args)
{
    size_t total = 0;
    for (int i = 0; i < args->comm->size; i++)
        total += count_of(args, i);
    return total;
}

/* ---- algorithms for an operand cut by ranks ---- */

/* Writes a plan for an operand that is cut into one part for each rank; none of it may be used as
 * scratch. */
typedef void (*write_fn_t)(weft_plan_t *plan, const weft_coll_args_t *args, const weft_cut_t *cut);

static void with_cut(weft_plan_t *plan, const weft_coll_args_t *args, write_fn_t write)
{
    enum { FEW = 64 };
    int size = args->comm->size;
    size_t few[FEW + 1], *many = NULL;
    if (size > FEW)
        many = weft_alloc_array((size_t)size + 1, sizeof(*many));
    size_t *firsts = size > FEW ? many : few;
    if (firsts == NULL) {
        plan->error = MPI_ERR_NO_MEM;
        return;
    }
    firsts[0] = 0;
    for (int i = 0; i < size; i++)
        firsts[i + 1] = firsts[i] + count_of(args, i);
    weft_cut_t cut = {weft_own_operand(args), args->recv_type, size, firsts[size], firsts, 0};
    write(plan, args, &cut);
    weft_free(many);
}

/* Every rank sends each other rank its block of the operand, and reduces its own block. In place
 * recv_buf still holds this rank's operand, so the result is written last. */
static void exchange_blocks(weft_plan_t *plan, const weft_coll_args_t *args, const weft_cut_t *cut)
{
    weft_team_t team = weft_team_all(args->comm->size, args->comm->rank);
    weft_data_t own = weft_cut_part(cut, team.index);
    weft_place_t out = weft_place_at(WEFT_OUT, 0), sum = out;
    MPI_Count first = (MPI_Count)weft_cut_first(cut, team.index);
    if (weft_is_in_place(args))
        sum = weft_plan_scratch(plan, own.count, own.type);
    weft_cut_t sums = weft_cut_at(cut, weft_after(sum, -first, own.type));
    weft_team_reduce_scatter(plan, &team, cut->at, &sums);
    weft_plan_copy(plan, weft_cut_part(&sums, team.index), weft_data(out, own.count, own.type));
}

typedef void (*team_fn_t)(weft_plan_t *plan, const weft_team_t *team, weft_place_t from,
                          const weft_cut_t *cut);

/* For algorithms that need room for all sums. */
static void by_rounds(weft_plan_t *plan, const weft_coll_args_t *args, const weft_cut_t *cut,
                      team_fn_t reduce)
{
    weft_team_t team = weft_team_all(args->comm->size, args->comm->rank);
    weft_cut_t sums = weft_cut_at(cut, weft_plan_scratch(plan, cut->count, cut->type));
    reduce(plan, &team, cut->at, &sums);
    weft_data_t own = weft_cut_part(&sums, team.index);
    weft_plan_wait(plan);
    weft_plan_copy(plan, own, weft_data(weft_place_at(WEFT_OUT, 0), own.count, own.type));
}

static void reduce_around_ring(weft_plan_t *plan, const weft_coll_args_t *args,
                               const weft_cut_t *cut)
{
    by_rounds(plan, args, cut, weft_team_reduce_scatter_ring);
}

static void reduce_by_halving(weft_plan_t *plan, const weft_coll_args_t *args,
                              const weft_cut_t *cut)
{
    by_rounds(plan, args, cut, weft_team_reduce_scatter_bine);
}

/* Rank 0 reduces everything and sends each rank its block. */
static void reduce_through_root(weft_plan_t *plan, const weft_coll_args_t *args)
{
    int size = args->comm->size, rank = args->comm->rank;
    weft_type_t *type = args->recv_type;
    size_t total = total_of(args);
    weft_place_t own = weft_own_operand(args);
    weft_data_t out = weft_data(weft_place_at(WEFT_OUT, 0), count_of(args, rank), type);
    if (rank != 0) {
        weft_plan_send(plan, weft_data(own, total, type), 0);
        weft_plan_wait(plan);
        weft_plan_recv(plan, out, 0);
        return;
    }
    weft_place_t all = weft_plan_scratch(plan, total * (size_t)size, type);
    for (int peer = 1; peer < size; peer++)
        weft_plan_recv(plan, weft_data(weft_after(all, (MPI_Count)total * peer, type), total, type),
                       peer);
    weft_plan_wait(plan);
    for (int peer = 1; peer < size; peer++)
        weft_plan_reduce(plan, peer == 1 ? own : all,
                         weft_after(all, (MPI_Count)total * peer, type),
                         weft_data(all, total, type));
    weft_place_t sum = size == 1 ? own : all;
    MPI_Count at = 0;
    for (int peer = 0; peer < size; at += (MPI_Count)count_of(args, peer), peer++) {
        if (peer > 0)
            weft_plan_send(plan, weft_data(weft_after(sum, at, type), count_of(args, peer), type),
                           peer);
    }
    weft_plan_copy(plan, weft_data(sum, out.count, type), out);
}

static void direct(weft_plan_t *plan, const weft_coll_args_t *args)
{
    with_cut(plan, args, exchange_blocks);
}

static void ring(weft_plan_t *plan, const weft_coll_args_t *args)
{
    with_cut(plan, args, reduce_around_ring);
}

static void bine(weft_plan_t *plan, const weft_coll_args_t *args)
{
    with_cut(plan, args, reduce_by_halving);
}

static void reduce_scatter_two_level(weft_plan_t *plan, const weft_coll_args_t *args)
{
    with_cut(plan, args, weft_reduce_scatter_two_level);
}

static void two_level_bine(weft_plan_t *plan, const weft_coll_args_t *args)
{
    with_cut(plan, args, weft_reduce_scatter_two_level_bine);
}

static void reduce_scatter_lanes(weft_plan_t *plan, const weft_coll_args_t *args)
{
    with_cut(plan, args, weft_reduce_scatter_lanes);
}

static void reduce_scatter_lanes_bine(weft_plan_t *plan, const weft_coll_args_t *args)
{
    with_cut(plan, args, weft_reduce_scatter_lanes_bine);
}

/* What algorithms for parts of any size can have. */
#define FOR_ANY_COUNTS                                                                             \
    {"direct",                                                                                     \
     direct,                                                                                       \
     0,                                                                                            \
     "1 round, p - 1 messages of a block each",                                                    \
     weft_reduce_scatter_direct_us,                                                                \
     WEFT_HAS_FOLD},                                                                               \
        {"through_root", reduce_through_root, 0, "2 rounds, rank 0 reduces all",                   \
         NULL,           WEFT_HAS_FOLD},                                                           \
        {"ring",                                                                                   \
         ring,                                                                                     \
         WEFT_NEEDS_COMMUTATIVE,                                                                   \
         "p - 1 rounds of a block",                                                                \
         weft_reduce_scatter_ring_us,                                                              \
         0},                                                                                       \
        {"bine",                                                                                   \
         bine,                                                                                     \
         WEFT_NEEDS_COMMUTATIVE,                                                                   \
         "log2 p rounds, p blocks, short ways",                                                    \
         weft_reduce_scatter_bine_us,                                                              \
         0},                                                                                       \
        {"two_level",                                                                              \
         reduce_scatter_two_level,                                                                 \
         WEFT_NEEDS_BLOCKS,                                                                        \
         "a leader a node reduces all: 1 round, N - 1 messages",                                   \
         weft_reduce_scatter_two_level_us,                                                         \
         0},                                                                                       \
    {                                                                                              \
        "two_level_bine", two_level_bine, WEFT_NEEDS_BLOCKS | WEFT_NEEDS_COMMUTATIVE,              \
            "a leader a node reduces all: log2 N rounds", weft_reduce_scatter_two_level_bine_us, 0 \
    }

const weft_algorithm_t weft_reduce_scatter_block_algorithms[] = {
    FOR_ANY_COUNTS,
    {"lanes", reduce_scatter_lanes, WEFT_NEEDS_REGULAR | WEFT_NEEDS_BLOCKS,
     "all ranks of a node carry 1/m: 1 round, N - 1 messages", weft_reduce_scatter_lanes_us, 0},
    {"lanes_bine", reduce_scatter_lanes_bine,
     WEFT_NEEDS_REGULAR | WEFT_NEEDS_BLOCKS | WEFT_NEEDS_COMMUTATIVE,
     "all ranks of a node carry 1/m: log2 N rounds", weft_reduce_scatter_lanes_bine_us, 0},
    {"wall", weft_wall_reduce_scatter, WEFT_NEEDS_WALL, "1 post of n bytes a rank; each reduces n",
     NULL, WEFT_HAS_FOLD},
    {0},
};

const weft_algorithm_t weft_reduce_scatter_algorithms[] = {
    FOR_ANY_COUNTS,
    {"wall", weft_wall_reduce_scatter, WEFT_NEEDS_WALL,
     "1 post of n bytes a rank; each reduces n / p", NULL, WEFT_HAS_FOLD},
    {0},
};
