/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every algorithm of every collective on 1 to 33 ranks in one process (plan_simulator.h): all roots
 * that differ in kind, zero counts, in place, types with gaps, an operation that does not commute.
 */
#include "coll/plan_simulator.h"

#include "coll/tuning.h"

#include <stdio.h>

enum { SLACK_BYTES = 64, SLOT_BYTES = 24 };

/* ---- elements: two numbers, adjacent in memory or apart ---- */

typedef struct element {
    uint32_t a, b;
} element_t;

static struct {
    weft_type_t *type;
    ptrdiff_t a, b; /* offsets */
} kinds[2];

static void make_types(void)
{
    const int ones[2] = {1, 1};
    const MPI_Aint apart[2] = {4, 12};
    const MPI_Datatype numbers[2] = {MPI_UINT32_T, MPI_UINT32_T};
    weft_type_t *raw;
    kinds[0].b = 4;
    kinds[1].a = apart[0];
    kinds[1].b = apart[1];
    assert_int_equal(weft_type_contiguous(2, weft_type_of(MPI_UINT32_T), &kinds[0].type),
                     MPI_SUCCESS);
    weft_type_struct(2, weft_counts_int(ones), weft_counts_aint(apart), numbers, &raw);
    assert_int_equal(weft_type_resized(raw, -8, SLOT_BYTES, &kinds[1].type), MPI_SUCCESS);
    weft_type_commit(kinds[0].type);
    weft_type_commit(kinds[1].type);
}

static element_t load(const char *at, int kind)
{
    element_t element;
    memcpy(&element.a, at + kinds[kind].a, sizeof(element.a));
    memcpy(&element.b, at + kinds[kind].b, sizeof(element.b));
    return element;
}

static void store(char *at, int kind, element_t element)
{
    memcpy(at + kinds[kind].a, &element.a, sizeof(element.a));
    memcpy(at + kinds[kind].b, &element.b, sizeof(element.b));
}

/* What rank `from` has for rank `to`. */
static element_t content(int from, int to, size_t index)
{
    uint32_t seed =
        (uint32_t)from * 7919u + (uint32_t)to * 104729u + (uint32_t)index * 1299709u + 1;
    return (element_t){seed * 2654435761u | 1, seed * 40503u};
}

/* Composition of x -> a x + b: associative, and the order matters. */
static element_t compose(element_t x, element_t y)
{
    return (element_t){x.a * y.a, x.b * y.a + y.b};
}

static element_t add(element_t x, element_t y)
{
    return (element_t){x.a + y.a, x.b ^ y.b};
}

static void apply(element_t (*function)(element_t, element_t), const char *in, char *inout,
                  int count, MPI_Datatype handle)
{
    int kind = handle == weft_type_handle(kinds[1].type);
    MPI_Aint extent = kinds[kind].type->extent;
    for (int i = 0; i < count; i++)
        store(inout + i * extent, kind,
              function(load(in + i * extent, kind), load(inout + i * extent, kind)));
}

static void compose_all(void *in, void *inout, int *count, MPI_Datatype *type)
{
    apply(compose, in, inout, *count, *type);
}

static void add_all(void *in, void *inout, int *count, MPI_Datatype *type)
{
    apply(add, in, inout, *count, *type);
}

static struct {
    element_t (*function)(element_t, element_t);
    weft_op_t *op;
} operations[2] = {{.function = compose}, {.function = add}};

/* ---- cases ---- */

typedef struct plan_case {
    weft_coll_t coll;
    int size, root;
    size_t count;
    int kind; /* the kind of elements */
    bool is_in_place, is_commutative;
    int placing, radix; /* placing: see open_shape() */
    size_t segment_bytes;
} plan_case_t;

/* `count` elements at `offset` bytes in a buffer: those that ranks `from` to `last` have for rank
 * `to`, combined, counted from element `first`. */
typedef struct block {
    ptrdiff_t offset;
    size_t count, first;
    int kind, from, last, to;
} block_t;

typedef struct side {
    int count;
    block_t blocks[MOST_RANKS];
} side_t;

/* A rank's data at the beginning and at the end. */
typedef struct contents {
    side_t in, out;
} contents_t;

/* The arrays of a rank's arguments. */
typedef struct arrays {
    int send_counts[MOST_RANKS], send_displs[MOST_RANKS], recv_counts[MOST_RANKS],
        recv_displs[MOST_RANKS];
    MPI_Datatype send_types[MOST_RANKS], recv_types[MOST_RANKS];
} arrays_t;

static bool has_arrays(weft_coll_t coll)
{
    return coll == WEFT_GATHERV || coll == WEFT_SCATTERV || coll == WEFT_ALLGATHERV ||
           coll == WEFT_ALLTOALLV || coll == WEFT_ALLTOALLW || coll == WEFT_REDUCE_SCATTER;
}

/* The number of elements that go from one rank to another; it is the same in both directions, as
 * the call may be in place. */
static size_t count_between(const plan_case_t *its, int from, int to)
{
    unsigned low = (unsigned)(from < to ? from : to), high = (unsigned)(from < to ? to : from);
    if (!has_arrays(its->coll))
        return its->count;
    return its->count == 0 ? 0 : (its->count + 3 * low + 5 * high) % 4;
}

static void add_block(side_t *side, block_t block)
{
    side->blocks[side->count++] = block;
}

static int kind_between(const plan_case_t *its, int rank, int peer)
{
    return its->coll == WEFT_ALLTOALLW ? (rank + peer) % 2 : its->kind;
}

/* One block for each rank. Where the call has arrays, the last block comes first, and there is a
 * gap between blocks. `is_from`: the blocks come from the ranks, and do not go to them. */
static void add_blocks(const plan_case_t *its, side_t *side, int rank, bool is_from, bool is_to_all)
{
    size_t slot = 0;
    for (int i = 0; i < its->size; i++) {
        int peer = has_arrays(its->coll) ? its->size - 1 - i : i;
        int kind = kind_between(its, rank, peer);
        int self = is_to_all ? peer : rank;
        size_t count = count_between(its, peer, self);
        ptrdiff_t stride = its->coll == WEFT_ALLTOALLW ? SLOT_BYTES : kinds[kind].type->extent;
        add_block(side, (block_t){.offset = (ptrdiff_t)slot * stride,
                                  .count = count,
                                  .kind = kind,
                                  .from = is_from ? peer : rank,
                                  .last = is_from ? peer : rank,
                                  .to = is_from ? (is_to_all ? 0 : rank) : peer});
        slot += count + has_arrays(its->coll);
    }
}

static block_t own_block(const plan_case_t *its, int from, int to, size_t count)
{
    return (block_t){.count = count, .kind = its->kind, .from = from, .last = from, .to = to};
}

static void describe_moves(const plan_case_t *its, int rank, contents_t *out)
{
    bool is_root = rank == its->root;
    switch (its->coll) {
    case WEFT_BCAST:
        if (is_root)
            add_block(&out->in, own_block(its, its->root, 0, its->count));
        add_block(&out->out, own_block(its, its->root, 0, its->count));
        break;
    case WEFT_GATHER:
    case WEFT_GATHERV:
        add_block(&out->in, own_block(its, rank, 0, count_between(its, rank, rank)));
        if (is_root)
            add_blocks(its, &out->out, rank, true, true);
        break;
    case WEFT_SCATTER:
    case WEFT_SCATTERV:
        if (is_root)
            add_blocks(its, &out->in, rank, false, true);
        add_block(&out->out, own_block(its, its->root, rank, count_between(its, rank, rank)));
        break;
    case WEFT_ALLGATHER:
    case WEFT_ALLGATHERV:
        add_block(&out->in, own_block(its, rank, 0, count_between(its, rank, rank)));
        add_blocks(its, &out->out, rank, true, true);
        break;
    default: /* alltoall */
        add_blocks(its, &out->in, rank, false, false);
        add_blocks(its, &out->out, rank, true, false);
        break;
    }
}

static block_t result(const plan_case_t *its, int last, size_t first, size_t count)
{
    return (block_t){.count = count, .first = first, .kind = its->kind, .from = 0, .last = last};
}

/* The number of elements before a rank's block of the result. */
static size_t elements_before(const plan_case_t *its, int rank)
{
    size_t sum = 0;
    for (int i = 0; i < rank; i++)
        sum += count_between(its, i, i);
    return sum;
}

static void describe_reductions(const plan_case_t *its, int rank, contents_t *out)
{
    bool is_scatter = its->coll == WEFT_REDUCE_SCATTER || its->coll == WEFT_REDUCE_SCATTER_BLOCK;
    size_t count = is_scatter ? elements_before(its, its->size) : its->count;
    add_block(&out->in, own_block(its, rank, 0, count));
    if (is_scatter)
        add_block(&out->out, result(its, its->size - 1, elements_before(its, rank),
                                    count_between(its, rank, rank)));
    else if (its->coll == WEFT_SCAN)
        add_block(&out->out, result(its, rank, 0, count));
    else if (its->coll == WEFT_EXSCAN && rank > 0)
        add_block(&out->out, result(its, rank - 1, 0, count));
    else if (its->coll == WEFT_ALLREDUCE || (its->coll == WEFT_REDUCE && rank == its->root))
        add_block(&out->out, result(its, its->size - 1, 0, count));
}

/* ---- memory ---- */

/* A buffer of a rank, and its expected contents at the end. */
typedef struct memory {
    char *at, *expected; /* these begin SLACK_BYTES before the buffer */
    size_t bytes;
} memory_t;

static memory_t make_memory(size_t bytes)
{
    memory_t memory = {malloc(bytes), malloc(bytes), bytes};
    memset(memory.at, GUARD, bytes);
    memset(memory.expected, GUARD, bytes);
    return memory;
}

static element_t value_of(const plan_case_t *its, const block_t *block, size_t index)
{
    element_t value = content(block->from, block->to, block->first + index);
    for (int rank = block->from + 1; rank <= block->last; rank++)
        value = operations[its->is_commutative].function(
            value, content(rank, block->to, block->first + index));
    return value;
}

static void write_block(const plan_case_t *its, char *memory, const block_t *block)
{
    for (size_t i = 0; i < block->count; i++)
        store(memory + SLACK_BYTES + block->offset + (ptrdiff_t)i * kinds[block->kind].type->extent,
              block->kind, value_of(its, block, i));
}

static void write_side(const plan_case_t *its, char *memory, const side_t *side)
{
    for (int i = 0; i < side->count; i++)
        write_block(its, memory, &side->blocks[i]);
}

static size_t bytes_of(const side_t *side)
{
    ptrdiff_t end = 0;
    for (int i = 0; i < side->count; i++) {
        ptrdiff_t block_end =
            side->blocks[i].offset + (ptrdiff_t)(side->blocks[i].count + 1) * SLOT_BYTES;
        end = block_end > end ? block_end : end;
    }
    return (size_t)end + 2 * SLACK_BYTES;
}

static void check_memory(const sim_t *sim, int rank, const memory_t *memory, const char *name)
{
    for (size_t i = 0; i < memory->bytes; i++) {
        if (memory->at[i] != memory->expected[i])
            fail_msg("%s: rank %d of %d, root %d: byte %zd of the %s buffer is %d, not %d",
                     sim->what, rank, sim->size, sim->ranks[rank].args.root,
                     (ssize_t)i - SLACK_BYTES, name, memory->at[i], memory->expected[i]);
    }
    free(memory->at);
    free(memory->expected);
}

/* ---- running a case ---- */

typedef struct rank_state {
    contents_t contents;
    memory_t in, out;
    arrays_t arrays;
} rank_state_t;

static rank_state_t states[MOST_RANKS];
static sim_t sim;

static void fill_arrays(const plan_case_t *its, const side_t *side, int *counts, int *displs,
                        MPI_Datatype *types)
{
    for (int i = 0; i < side->count; i++) {
        const block_t *block = &side->blocks[i];
        int peer = side->count == its->size ? its->size - 1 - i : i;
        counts[peer] = (int)block->count;
        types[peer] =
            block->count == 0 ? MPI_DATATYPE_NULL : weft_type_handle(kinds[block->kind].type);
        displs[peer] =
            (int)(its->coll == WEFT_ALLTOALLW ? block->offset
                                              : block->offset / kinds[block->kind].type->extent);
    }
}

static bool is_reduction(weft_coll_t coll)
{
    return coll >= WEFT_REDUCE;
}

/* May this rank pass MPI_IN_PLACE, and for which buffer? */
static bool puts_send_in_place(const plan_case_t *its, int rank)
{
    bool is_rooted =
        its->coll == WEFT_GATHER || its->coll == WEFT_GATHERV || its->coll == WEFT_REDUCE;
    bool is_never =
        its->coll == WEFT_BCAST || its->coll == WEFT_SCATTER || its->coll == WEFT_SCATTERV;
    return its->is_in_place && !is_never && (!is_rooted || rank == its->root);
}

static bool puts_recv_in_place(const plan_case_t *its, int rank)
{
    return its->is_in_place && (its->coll == WEFT_SCATTER || its->coll == WEFT_SCATTERV) &&
           rank == its->root;
}

/* The contents that an in-place recv_buf has at the beginning. */
static void write_in_place(const plan_case_t *its, int rank, rank_state_t *state)
{
    if (is_reduction(its->coll)) {
        write_side(its, state->out.at, &state->contents.in);
        write_side(its, state->out.expected, &state->contents.in);
        return;
    }
    for (int i = 0; i < state->contents.out.count; i++) {
        block_t block = state->contents.out.blocks[i];
        if (its->coll >= WEFT_ALLTOALL) {
            block.to = block.from;
            block.from = block.last = rank;
        } else if (block.from != rank) {
            continue;
        }
        write_block(its, state->out.at, &block);
    }
}

static void fill_args(const plan_case_t *its, int rank, rank_state_t *state, weft_coll_args_t *args)
{
    weft_type_t *type = kinds[its->kind].type;
    arrays_t *arrays = &state->arrays;
    bool is_bcast = its->coll == WEFT_BCAST;
    char *in = is_bcast ? state->out.at : state->in.at;
    *args = (weft_coll_args_t){
        .comm = &sim.ranks[rank].comm, .root = its->root, .send_buf = in + SLACK_BYTES};
    args->recv_buf = is_bcast ? NULL : state->out.at + SLACK_BYTES;
    if (is_reduction(its->coll))
        args->op = operations[its->is_commutative].op;
    if (puts_send_in_place(its, rank)) {
        args->send_buf = MPI_IN_PLACE;
    } else if (!is_reduction(its->coll)) {
        args->send_count = has_arrays(its->coll) ? count_between(its, rank, rank) : its->count;
        args->send_type = type;
    }
    args->recv_count = has_arrays(its->coll) ? count_between(its, rank, rank) : its->count;
    args->recv_type = type;
    if (puts_recv_in_place(its, rank))
        args->recv_buf = MPI_IN_PLACE;
    if (!has_arrays(its->coll))
        return;
    args->send_counts = weft_counts_int(arrays->send_counts);
    args->send_displs = weft_counts_int(arrays->send_displs);
    args->recv_counts = weft_counts_int(arrays->recv_counts);
    args->recv_displs = weft_counts_int(arrays->recv_displs);
    args->send_types = arrays->send_types;
    args->recv_types = arrays->recv_types;
}

static void set_up(const plan_case_t *its, int rank)
{
    rank_state_t *state = &states[rank];
    memset(&state->contents, 0, sizeof(state->contents));
    if (is_reduction(its->coll))
        describe_reductions(its, rank, &state->contents);
    else if (its->coll != WEFT_BARRIER)
        describe_moves(its, rank, &state->contents);
    size_t in_bytes = bytes_of(&state->contents.in), out_bytes = bytes_of(&state->contents.out);
    state->in = make_memory(in_bytes);
    state->out = make_memory(out_bytes > in_bytes ? out_bytes : in_bytes);
    write_side(its, state->in.at, &state->contents.in);
    write_side(its, state->in.expected, &state->contents.in);
    if (puts_send_in_place(its, rank) || (its->coll == WEFT_BCAST && rank == its->root))
        write_in_place(its, rank, state);
    if (!puts_recv_in_place(its, rank))
        write_side(its, state->out.expected, &state->contents.out);
    fill_arrays(its, &state->contents.in, state->arrays.send_counts, state->arrays.send_displs,
                state->arrays.send_types);
    fill_arrays(its, &state->contents.out, state->arrays.recv_counts, state->arrays.recv_displs,
                state->arrays.recv_types);
    for (int i = 0; its->coll == WEFT_REDUCE_SCATTER && i < its->size; i++)
        state->arrays.recv_counts[i] = (int)count_between(its, i, i);
    sim.ranks[rank].comm = (weft_comm_t){.rank = rank, .size = its->size};
    fill_args(its, rank, state, &sim.ranks[rank].args);
}

enum { PLACINGS = 5 };

/* The placings: one node; blocks of equal size, or of 1, 2, 3, ...; cyclic; any. */
static void open_shape(int size, int placing, weft_shape_t *out)
{
    int hosts[MOST_RANKS], left = 1, block = 1;
    for (int i = 0; i < size; i++) {
        const int host[PLACINGS] = {0, i / (size % 3 == 0 ? 3 : 2),
                                    i == 0 ? 0 : hosts[i - 1] + (left == 0), i % 3,
                                    (int)sim_random((unsigned)size)};
        if (left-- == 0)
            left = block++;
        hosts[i] = host[placing];
    }
    assert_int_equal(weft_shape_open(hosts, size, MOST_RANKS, out), MPI_SUCCESS);
}

static bool is_fit(const plan_case_t *its, const weft_algorithm_t *algorithm)
{
    unsigned has = weft_shape_fulfils(sim.how.shape, its->is_commutative);
    has |= its->is_commutative ? WEFT_NEEDS_COMMUTATIVE : 0;
    has |= its->count >= (size_t)its->size ? WEFT_NEEDS_COUNT : 0;
    return (algorithm->needs & ~has) == 0;
}

static void run_on_shape(const plan_case_t *its, const weft_algorithm_t *algorithm)
{
    char what[200];
    snprintf(what, sizeof(what),
             "%s by %s, count %zu, kind %d, in place %d, commutative %d, placing %d, radix %d, "
             "segments of %zu, "
             "seed %llu",
             weft_coll_name(its->coll), algorithm->name, its->count, its->kind, its->is_in_place,
             its->is_commutative, its->placing, its->radix, its->segment_bytes, sim_seed);
    sim.what = what;
    sim.size = its->size;
    for (int rank = 0; rank < its->size; rank++)
        set_up(its, rank);
    sim_run(&sim, algorithm->build);
    for (int rank = 0; rank < its->size; rank++) {
        check_memory(&sim, rank, &states[rank].in, "send");
        check_memory(&sim, rank, &states[rank].out, "receive");
    }
}

static void run_case(const plan_case_t *its, const weft_algorithm_t *algorithm)
{
    weft_shape_t shape;
    open_shape(its->size, its->placing, &shape);
    sim.how =
        (weft_how_t){.shape = &shape, .radix = its->radix, .segment_bytes = its->segment_bytes};
    if (is_fit(its, algorithm))
        run_on_shape(its, algorithm);
    weft_shape_close(&shape);
}

/* ---- all of them ---- */

/* An exclusive scan leaves the in-place operand of rank 0 unchanged, which write_in_place()
 * expects. */
static void run_variants(weft_coll_t coll, const weft_algorithm_t *algorithm, int size, int root)
{
    const size_t counts[] = {0, 1, 3, 37};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        for (int variant = 0; variant < 8; variant++) {
            plan_case_t its = {.coll = coll,
                               .size = size,
                               .root = root,
                               .count = counts[i],
                               .kind = variant & 1,
                               .is_in_place = (variant & 2) != 0,
                               .is_commutative = (variant & 4) != 0,
                               .radix = 2};
            if ((!is_reduction(coll) && its.is_commutative) || (size > 13 && sim_random(3) > 0))
                continue;
            run_case(&its, algorithm);
            for (int turn = 0; counts[i] % 2 == 1 && turn < 2; turn++) {
                its.placing = 1 + (int)sim_random(PLACINGS - 1);
                its.radix = 2 + (int)sim_random(4);
                its.segment_bytes = sim_random(2) == 0 ? 0 : 72;
                run_case(&its, algorithm);
            }
        }
    }
}

/* clang-format off */
static const weft_algorithm_t *const tables[WEFT_COLLS] = {
    weft_barrier_algorithms,        weft_bcast_algorithms,
    weft_gather_algorithms,         weft_gatherv_algorithms,
    weft_scatter_algorithms,        weft_scatterv_algorithms,
    weft_allgather_algorithms,      weft_allgatherv_algorithms,
    weft_alltoall_algorithms,       weft_alltoallv_algorithms,
    weft_alltoallw_algorithms,      weft_reduce_algorithms,
    weft_allreduce_algorithms,      weft_reduce_scatter_algorithms,
    weft_reduce_scatter_block_algorithms, weft_scan_algorithms,
    weft_exscan_algorithms,
};
/* clang-format on */

static bool is_rooted(weft_coll_t coll)
{
    return coll == WEFT_BCAST || (coll >= WEFT_GATHER && coll <= WEFT_SCATTERV) ||
           coll == WEFT_REDUCE;
}

static void run_all(int size)
{
    const int roots[] = {0, size - 1, size / 2, 1};
    for (int coll = 0; coll < WEFT_COLLS; coll++) {
        for (const weft_algorithm_t *algorithm = tables[coll]; algorithm->name != NULL;
             algorithm++) {
            for (int i = 0; i < (is_rooted((weft_coll_t)coll) ? 4 : 1); i++) {
                if (roots[i] < size && (i == 0 || roots[i] != roots[0]))
                    run_variants((weft_coll_t)coll, algorithm, size, roots[i]);
            }
        }
    }
}

static void few_ranks(void **state)
{
    (void)state;
    for (int size = 1; size <= 13; size++)
        run_all(size);
}

static void many_ranks(void **state)
{
    (void)state;
    run_all(17);
    run_all(MOST_RANKS);
}

static void scratch_has_room_for_whole_elements(void **state)
{
    weft_type_t *narrow, *backward;
    (void)state;
    weft_type_resized(weft_type_of(MPI_CHAR), 0, 200, &narrow);
    weft_type_resized(weft_type_of(MPI_INT), 0, -4, &backward);
    weft_plan_t *plan = weft_plan_create(&(weft_how_t){.radix = 2});
    weft_place_t first = weft_plan_scratch(plan, 3, narrow);
    assert_true(first.offset >= 0 && first.offset % 64 == 0);
    assert_true(plan->scratch_bytes >= 600);
    ptrdiff_t taken = (ptrdiff_t)plan->scratch_bytes;
    weft_place_t last = weft_plan_scratch(plan, 50, backward);
    assert_true(last.offset - 49 * 4 >= taken);
    assert_true((ptrdiff_t)plan->scratch_bytes >= last.offset + 4);
    weft_plan_release(plan);
    weft_type_release(narrow);
    weft_type_release(backward);
}

static int open_all(void **state)
{
    (void)state;
    sim_seed = 1;
    make_types();
    weft_op_create(compose_all, NULL, false, &operations[0].op);
    weft_op_create(add_all, NULL, true, &operations[1].op);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scratch_has_room_for_whole_elements),
        cmocka_unit_test(few_ranks),
        cmocka_unit_test(many_ranks),
    };
    return cmocka_run_group_tests(tests, open_all, NULL);
}
