/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What walls (src/coll/wall) might get wrong: more communicators than there are walls, a root that
 * runs ahead and frees its communicator, lengths around those of a post, a chunk and a ring,
 * blocks of which only two ranks know the length, barriers between them, leaders of barriers that
 * change, nonblocking collectives in between, and ranks that disagree.
 */
#include "expect.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    CALLS_BEFORE_WALL = 4,
    COMMS = 40, /* a rank has fewer walls */
    ROUNDS = 6,
    AHEAD = 100,
    LONGEST = 600000,
    MOST_RANKS = 16,
    LONG_USE = 120,
    LEADER_ROUNDS = 240,
    BARRIERS = 3000,
    STEPS_LATE = 1000,
};

static unsigned char *given, *gotten, *all, *many;
static int counts[MOST_RANKS], displs[MOST_RANKS], other_counts[MOST_RANKS],
    other_displs[MOST_RANKS];

static void use_wall(MPI_Comm comm)
{
    for (int i = 0; i < CALLS_BEFORE_WALL; i++)
        MPI_Barrier(comm);
}

static unsigned char byte_of(int rank, int index, int round)
{
    return (unsigned char)(rank * 37 + index * 11 + round * 5);
}

static void give(int bytes, int round)
{
    for (int i = 0; i < bytes; i++)
        given[i] = byte_of(expect_rank, i, round);
}

/* All that can be looked at cheaply: some bytes of each block. */
static int is_wrong(const unsigned char *block, int rank, int bytes, int round)
{
    for (int i = 0; i < bytes; i += bytes / 97 + 1) {
        if (block[i] != byte_of(rank, i, round))
            return 1;
    }
    return bytes > 0 && block[bytes - 1] != byte_of(rank, bytes - 1, round);
}

static void check_bcast(int bytes, int root)
{
    give(bytes, root);
    MPI_Bcast(expect_rank == root ? given : gotten, bytes, MPI_BYTE, root, MPI_COMM_WORLD);
    EXPECT(is_wrong(expect_rank == root ? given : gotten, root, bytes, root), 0);
}

static void check_allgather(int bytes, int round)
{
    give(bytes, round);
    MPI_Allgather(given, bytes, MPI_BYTE, all, bytes, MPI_BYTE, MPI_COMM_WORLD);
    for (int i = 0; i < expect_size; i++)
        EXPECT(is_wrong(all + (size_t)i * (size_t)bytes, i, bytes, round), 0);
}

static int sum_of(int index, int ranks, int round)
{
    int sum = 0;
    for (int rank = 0; rank < ranks; rank++)
        sum += byte_of(rank, index, round);
    return sum % 256;
}

static void check_allreduce(int bytes, int round)
{
    give(bytes, round);
    MPI_Allreduce(given, gotten, bytes, MPI_UNSIGNED_CHAR, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < bytes; i += bytes / 97 + 1)
        EXPECT(gotten[i], sum_of(i, expect_size, round));
}

/* The result is written over operands that are still to be read. */
static void check_in_place(int bytes, int root)
{
    give(bytes, 1);
    MPI_Allreduce(MPI_IN_PLACE, given, bytes, MPI_UNSIGNED_CHAR, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < bytes; i += bytes / 97 + 1)
        EXPECT(given[i], sum_of(i, expect_size, 1));
    give(bytes, 2);
    MPI_Reduce(expect_rank == root ? MPI_IN_PLACE : given, given, bytes, MPI_UNSIGNED_CHAR, MPI_SUM,
               root, MPI_COMM_WORLD);
    for (int i = 0; expect_rank == root && i < bytes; i += bytes / 97 + 1)
        EXPECT(given[i], sum_of(i, expect_size, 2));
    give(bytes, 3);
    MPI_Scan(MPI_IN_PLACE, given, bytes, MPI_UNSIGNED_CHAR, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < bytes; i += bytes / 97 + 1)
        EXPECT(given[i], sum_of(i, expect_rank + 1, 3));
}

/* ---- counts that only two ranks know ---- */

static int add_up(const int *lengths, int *begins)
{
    int sum = 0;
    for (int i = 0; i < expect_size; i++) {
        begins[i] = sum;
        sum += lengths[i];
    }
    return sum;
}

/* Of very different lengths, some without bytes; the same from `from` to `to` as back. */
static int length_between(int from, int to, int longest)
{
    return (from + to) % 4 == 1 ? 0 : longest >> 3 * ((from + to) % 3);
}

static void check_blocks(const unsigned char *buffer, int round)
{
    for (int i = 0; i < expect_size; i++)
        EXPECT(is_wrong(buffer + displs[i], i, counts[i], round), 0);
}

static void check_gatherv(int longest, int root, int is_in_place)
{
    for (int i = 0; i < expect_size; i++)
        counts[i] = length_between(root, i, longest);
    memset(all, 0, (size_t)add_up(counts, displs));
    give(counts[expect_rank], root);
    is_in_place = is_in_place && expect_rank == root;
    if (is_in_place)
        memcpy(all + displs[root], given, (size_t)counts[root]);
    MPI_Gatherv(is_in_place ? MPI_IN_PLACE : given, counts[expect_rank], MPI_BYTE, all, counts,
                displs, MPI_BYTE, root, MPI_COMM_WORLD);
    if (expect_rank == root)
        check_blocks(all, root);
}

static void check_scatterv(int longest, int root, int is_in_place)
{
    for (int i = 0; i < expect_size; i++)
        counts[i] = length_between(root, i, longest);
    add_up(counts, displs);
    for (int i = 0; expect_rank == root && i < expect_size; i++) {
        for (int k = 0; k < counts[i]; k++)
            all[displs[i] + k] = byte_of(i, k, root);
    }
    is_in_place = is_in_place && expect_rank == root;
    memset(gotten, 0, (size_t)counts[expect_rank]);
    MPI_Scatterv(all, counts, displs, MPI_BYTE, is_in_place ? MPI_IN_PLACE : gotten,
                 counts[expect_rank], MPI_BYTE, root, MPI_COMM_WORLD);
    if (!is_in_place)
        EXPECT(is_wrong(gotten, expect_rank, counts[expect_rank], root), 0);
}

/* The block for rank i is that of a rank i more, so those for different ranks differ. */
static void give_blocks(unsigned char *buffer, const int *lengths, const int *begins, int round)
{
    for (int i = 0; i < expect_size; i++) {
        for (int k = 0; k < lengths[i]; k++)
            buffer[begins[i] + k] = byte_of(expect_rank, k, round + i);
    }
}

static void check_from_all(const unsigned char *buffer, int round)
{
    for (int i = 0; i < expect_size; i++)
        EXPECT(is_wrong(buffer + displs[i], i, counts[i], round + expect_rank), 0);
}

static void check_alltoallv(int longest, int round)
{
    for (int i = 0; i < expect_size; i++) {
        other_counts[i] = length_between(expect_rank, 2 * i, longest);
        counts[i] = length_between(i, 2 * expect_rank, longest);
    }
    memset(all, 0, (size_t)add_up(counts, displs));
    add_up(other_counts, other_displs);
    give_blocks(many, other_counts, other_displs, round);
    MPI_Alltoallv(many, other_counts, other_displs, MPI_BYTE, all, counts, displs, MPI_BYTE,
                  MPI_COMM_WORLD);
    check_from_all(all, round);
}

static void check_alltoallv_in_place(int longest, int round)
{
    for (int i = 0; i < expect_size; i++)
        counts[i] = length_between(expect_rank, i, longest);
    add_up(counts, displs);
    give_blocks(all, counts, displs, round);
    MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, all, counts, displs, MPI_BYTE,
                  MPI_COMM_WORLD);
    check_from_all(all, round);
}

/* Odd ranks receive every second byte only. */
static void check_alltoallw(int longest, int round)
{
    MPI_Datatype in_types[MOST_RANKS], out_types[MOST_RANKS], every_second;
    MPI_Type_create_resized(MPI_BYTE, 0, 2, &every_second);
    MPI_Type_commit(&every_second);
    int step = expect_rank % 2 + 1;
    for (int i = 0; i < expect_size; i++) {
        other_counts[i] = length_between(expect_rank, 2 * i, longest / 2);
        counts[i] = length_between(i, 2 * expect_rank, longest / 2);
        in_types[i] = MPI_BYTE;
        out_types[i] = step == 2 ? every_second : MPI_BYTE;
    }
    memset(all, 0, 2 * (size_t)add_up(counts, displs));
    add_up(other_counts, other_displs);
    give_blocks(many, other_counts, other_displs, round);
    for (int i = 0; i < expect_size; i++)
        displs[i] *= step;
    MPI_Alltoallw(many, other_counts, other_displs, in_types, all, counts, displs, out_types,
                  MPI_COMM_WORLD);
    for (int i = 0; i < expect_size; i++) {
        for (int k = 0; k < counts[i]; k += counts[i] / 97 + 1)
            EXPECT(all[displs[i] + k * step], byte_of(i, k, round + expect_rank));
    }
    MPI_Type_free(&every_second);
}

static void test_unequal(void)
{
    static const int lengths[] = {0, 1, 9, 100, 240, 1000, 20000, 65536, 131073, LONGEST};
    for (int i = 0; i < (int)(sizeof(lengths) / sizeof(lengths[0])); i++) {
        for (int is_in_place = 0; is_in_place < 2; is_in_place++) {
            check_gatherv(lengths[i], i % expect_size, is_in_place);
            check_scatterv(lengths[i], (i + 1) % expect_size, is_in_place);
        }
        check_alltoallv(lengths[i], i);
        check_alltoallv_in_place(lengths[i], i);
        check_alltoallw(lengths[i], i);
    }
}

/* ---- equal lengths ---- */

static void test_lengths(void)
{
    static const int lengths[] = {0,     1,      47,    48,     239,   240,    241,
                                  4095,  4097,   16383, 16385,  32768, 65535,  65536,
                                  65537, 131071, 65600, 262145, 100,   300001, LONGEST};
    for (int i = 0; i < (int)(sizeof(lengths) / sizeof(lengths[0])); i++) {
        check_bcast(lengths[i], i % expect_size);
        check_allreduce(lengths[i], i);
        check_allgather(lengths[i], i);
        check_in_place(lengths[i], i % expect_size);
    }
}

/* The root makes many posts that nobody has read yet. */
static void test_ahead(int bytes)
{
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    use_wall(comm);
    if (expect_rank != 0) /* come late */
        memset(all, 0, (size_t)LONGEST * (size_t)expect_size);
    else
        give(bytes, 1);
    for (int i = 0; i < AHEAD; i++) {
        MPI_Bcast(expect_rank == 0 ? given : gotten, bytes, MPI_BYTE, 0, comm);
        EXPECT(is_wrong(expect_rank == 0 ? given : gotten, 0, bytes, 1), 0);
    }
    MPI_Comm_free(&comm);
}

/* Leaders that change, behind so many barriers, with other calls between (wall_leader.h). */
static void test_leaders(void)
{
    for (int round = 0; round < LEADER_ROUNDS; round++) {
        int root = round / 12 % expect_size;
        for (int i = 0; i < round / 3 % 4; i++)
            MPI_Barrier(MPI_COMM_WORLD);
        if (round % 3 == 0)
            check_bcast(8, root);
        else if (round % 3 == 1)
            check_scatterv(50, root, 0);
        else
            check_allreduce(8, round);
    }
}

/* Barriers between other calls: two ranks make these in another place than their posts. */
static void test_barriers(void)
{
    static const int lengths[] = {8, 300, 50000, 0};
    for (int round = 0; round < LEADER_ROUNDS; round++) {
        check_bcast(lengths[round % 4], round % expect_size);
        for (int i = 0; i < round / 4 % 3; i++)
            MPI_Barrier(MPI_COMM_WORLD);
        if (round % 5 == 0)
            check_allgather(lengths[round % 3], round);
    }
}

static int is_one_host(void)
{
    MPI_Comm host;
    int ranks;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_size(host, &ranks);
    MPI_Comm_free(&host);
    return ranks == expect_size;
}

/* A counter for each rank, in memory that all of them have mapped. */
static atomic_int *map_counters(void)
{
    char path[] = "/tmp/weft-walls-XXXXXX";
    size_t bytes = MOST_RANKS * sizeof(atomic_int);
    int fd = expect_rank == 0 ? mkstemp(path) : -1;
    if (expect_rank == 0)
        EXPECT(ftruncate(fd, (off_t)bytes), 0);
    MPI_Bcast(path, sizeof(path), MPI_CHAR, 0, MPI_COMM_WORLD);
    if (expect_rank != 0)
        fd = open(path, O_RDWR);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    EXPECT(memory != MAP_FAILED, 1);
    close(fd);
    MPI_Barrier(MPI_COMM_WORLD);
    if (expect_rank == 0)
        unlink(path);
    return memory;
}

/* Nobody leaves a barrier before all have come to it, whoever comes late. Ranks of one host see
 * this in memory that they share. */
static void test_order(void)
{
    if (!is_one_host())
        return;
    atomic_int *counters = map_counters();
    int early = 0;
    for (int round = 1; round <= BARRIERS; round++) {
        for (volatile int i = 0; round % expect_size == expect_rank && i < STEPS_LATE; i++)
            continue;
        atomic_store_explicit(&counters[expect_rank], round, memory_order_relaxed);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < expect_size; i++)
            early += atomic_load_explicit(&counters[i], memory_order_relaxed) < round;
    }
    EXPECT(early, 0);
    munmap(counters, MOST_RANKS * sizeof(atomic_int));
}

/* After so many bytes the whole ring comes into use where loops copy. */
static void test_long_use(void)
{
    for (int i = 0; i < LONG_USE; i++)
        check_bcast(LONGEST, 0);
}

/* Communicators of changing members, some with a wall and some without, made and freed. */
static void test_many(void)
{
    MPI_Comm comms[COMMS];
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < COMMS; i++)
            MPI_Comm_split(MPI_COMM_WORLD, (expect_rank >> (i % 3)) & 1, 0, &comms[i]);
        for (int call = 0; call < 2 * CALLS_BEFORE_WALL; call++) {
            for (int i = 0; i < COMMS; i++) {
                int size, one = i + 1, sum = 0;
                MPI_Comm_size(comms[i], &size);
                MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comms[i]);
                EXPECT(sum, size * one);
                if (call % 2 == 0)
                    MPI_Barrier(comms[i]);
            }
        }
        for (int i = 0; i < COMMS; i++)
            MPI_Comm_free(&comms[(i * 7 + round) % COMMS]);
    }
}

static void test_nonblocking_between(void)
{
    MPI_Request requests[3];
    int sums[3] = {0}, own[3] = {1, 2, 3}, sum = 0;
    for (int i = 0; i < AHEAD; i++) {
        MPI_Iallreduce(&own[0], &sums[0], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
        MPI_Allreduce(&own[1], &sums[1], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]);
        MPI_Iallreduce(&own[2], &sums[2], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[2]);
        MPI_Scan(&i, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        for (int k = 0; k < 3; k++)
            EXPECT(sums[k], own[k] * expect_size);
        EXPECT(sum, (expect_rank + 1) * i);
    }
}

/* Ranks that call for different numbers of bytes, or different collectives, are told so, and so are
 * those that come later. */
static void test_disagreement(void)
{
    MPI_Comm comm;
    int class, in[8] = {0}, out[8];
    if (expect_size == 1)
        return;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    use_wall(comm);
    MPI_Error_class(MPI_Allreduce(in, out, 4 + (expect_rank == 0), MPI_INT, MPI_SUM, comm), &class);
    EXPECT(class == MPI_ERR_TRUNCATE || class == MPI_ERR_OTHER, 1);
    MPI_Error_class(MPI_Barrier(comm), &class);
    EXPECT(class, MPI_ERR_OTHER);
    MPI_Comm_free(&comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    use_wall(comm);
    if (expect_rank == 0)
        MPI_Error_class(MPI_Allgather(in, 1, MPI_BYTE, out, 1, MPI_BYTE, comm), &class);
    else
        MPI_Error_class(MPI_Scan(in, out, 1, MPI_CHAR, MPI_SUM, comm), &class);
    EXPECT(class == MPI_ERR_TRUNCATE || class == MPI_ERR_OTHER, 1);
    MPI_Comm_free(&comm);
}

/* One rank is in a barrier, the others in another call, after as many calls as there are places for
 * posts, or fewer. */
static void check_barrier_disagreement(int in_barrier, int calls_before)
{
    MPI_Comm comm;
    int class, in = 1, out;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    use_wall(comm);
    for (int i = 0; i < calls_before; i++)
        MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, comm);
    if (expect_rank == in_barrier)
        MPI_Error_class(MPI_Barrier(comm), &class);
    else
        MPI_Error_class(MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, comm), &class);
    EXPECT(class == MPI_ERR_TRUNCATE || class == MPI_ERR_OTHER, 1);
    MPI_Error_class(MPI_Barrier(comm), &class);
    EXPECT(class, MPI_ERR_OTHER);
    MPI_Comm_free(&comm);
}

/* A rank whose block is longer, or shorter, than what another rank expects of it. */
static void check_unequal_disagreement(int coll, int sent, int expected)
{
    MPI_Comm comm;
    int class;
    if (expect_size == 1)
        return;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    use_wall(comm);
    for (int i = 0; i < expect_size; i++) {
        other_counts[i] = expect_rank == 1 && i == 0 ? sent : expected;
        counts[i] = expected;
        displs[i] = i * LONGEST;
    }
    if (coll == 0) /* rank 1 sends to the root 0 */
        MPI_Error_class(
            MPI_Gatherv(given, other_counts[0], MPI_BYTE, all, counts, displs, MPI_BYTE, 0, comm),
            &class);
    else if (coll == 1) /* the root 1 sends to rank 0 */
        MPI_Error_class(
            MPI_Scatterv(many, other_counts, displs, MPI_BYTE, gotten, expected, MPI_BYTE, 1, comm),
            &class);
    else
        MPI_Error_class(MPI_Alltoallv(many, other_counts, displs, MPI_BYTE, all, counts, displs,
                                      MPI_BYTE, comm),
                        &class);
    if (expect_rank == 0)
        EXPECT(class, MPI_ERR_TRUNCATE);
    else
        EXPECT(class == MPI_SUCCESS || class == MPI_ERR_OTHER, 1);
    MPI_Comm_free(&comm);
}

static void test_unequal_disagreement(void)
{
    for (int coll = 0; coll < 3; coll++) {
        check_unequal_disagreement(coll, 5, 4);
        check_unequal_disagreement(coll, 200000, 300);
        if (expect_size == 2) /* more ranks may use messages, which may be shorter */
            check_unequal_disagreement(coll, 0, 400);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin();
    given = malloc(LONGEST);
    gotten = malloc(LONGEST);
    all = malloc((size_t)LONGEST * (size_t)expect_size);
    many = malloc((size_t)LONGEST * (size_t)expect_size);
    use_wall(MPI_COMM_WORLD);
    test_lengths();
    test_unequal();
    test_ahead(8);
    test_ahead(50000);
    test_many();
    test_nonblocking_between();
    test_leaders();
    test_long_use();
    test_lengths();
    test_barriers();
    test_order();
    if (argc > 1) {
        test_disagreement();
        for (int i = 0; i < 2 && expect_size > 1; i++)
            check_barrier_disagreement(i, i * 20);
        test_unequal_disagreement();
    }
    free(given);
    free(gotten);
    free(all);
    free(many);
    return expect_end();
}
