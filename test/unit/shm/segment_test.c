/* SPDX-License-Identifier: BSD-3-Clause */
/* What is left when the shared segment of a host cannot be opened: nothing. And each slot, ring and
 * baton of each VCI has a place of its own. */
#include "shm/segment.h"

#include "runtime/wall_place.h"
#include "base/config.h"
#include "mpi.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const int local_ranks[] = {0, 1};
static int put_result, fence_result;

static int put(const char *key, const void *data, size_t bytes)
{
    (void)key, (void)data, (void)bytes;
    return put_result;
}

static int fence(void)
{
    return fence_result;
}

static int count_mappings(const char *name)
{
    char line[512];
    int count = 0;
    FILE *file = fopen("/proc/self/maps", "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL)
        count += strstr(line, name) != NULL;
    fclose(file);
    return count;
}

static int count_descriptors(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

static void expect_nothing_left(const char *how, const char *path)
{
    weft_segment_t segment;
    int descriptors = count_descriptors();
    weft_config.SHM = how;
    assert_int_equal(weft_segment_open(&weft_world, &segment), MPI_ERR_OTHER);
    assert_int_equal(count_mappings(path), 0);
    assert_int_equal(count_descriptors(), descriptors);
}

static void a_failure_leaves_nothing(void **unused)
{
    static char path[64];
    (void)unused;
    snprintf(path, sizeof(path), "/dev/shm/%s.weft", weft_world.job_id);
    put_result = MPI_ERR_OTHER;
    expect_nothing_left("memfd", "memfd:weft");
    expect_nothing_left("file", path);
    put_result = MPI_SUCCESS;
    fence_result = MPI_ERR_OTHER;
    expect_nothing_left("memfd", "memfd:weft");
    expect_nothing_left("file", path);
    assert_int_not_equal(access(path, F_OK), 0);
}

/* ---- places ---- */

enum { RANKS = 5, PLACES_MOST = WEFT_VCIS * RANKS * RANKS * 7 };

typedef struct place {
    uintptr_t begin, end;
} place_t;

static place_t places[PLACES_MOST];
static int place_count;

static void add_place(const void *at, size_t bytes)
{
    assert_true(place_count < PLACES_MOST);
    places[place_count++] = (place_t){(uintptr_t)at, (uintptr_t)at + bytes};
}

static void add_channel(const weft_segment_t *segment, int vci, int receiver, int sender)
{
    weft_channel_t channel = weft_segment_channel(segment, vci, receiver, sender);
    size_t bytes = (size_t)channel.units * WEFT_DATA_UNIT;
    add_place(channel.credit, sizeof(*channel.credit));
    add_place(channel.data, bytes);
    assert_int_equal((uintptr_t)channel.data % 64, 0);
    assert_int_equal((uintptr_t)channel.credit % 64, 0);
    if (channel.large == NULL)
        return;
    bytes = (size_t)channel.large_units * WEFT_DATA_UNIT;
    assert_int_equal(vci, 0);
    add_place(channel.large, bytes);
}

static void add_slots(const weft_segment_t *segment, int vci, int rank, int peer)
{
    weft_slots_pair_t own = weft_segment_slots(segment, vci, rank, peer);
    weft_slots_pair_t other = weft_segment_slots(segment, vci, peer, rank);
    assert_ptr_equal(own.to, other.from);
    assert_ptr_equal(own.baton, other.baton);
    add_place(own.to, WEFT_SLOTS * sizeof(*own.to));
    if (rank <= peer)
        add_place(own.baton, vci == 0 ? WEFT_BATON_BYTES : WEFT_BATON_SHORT_BYTES);
}

/* Both ranks of a pair see the same cells. */
static void add_cells(const weft_segment_t *segment, int rank, int peer)
{
    weft_cells_t own, other;
    weft_segment_cells(segment, rank, peer, &own);
    weft_segment_cells(segment, peer, rank, &other);
    assert_ptr_equal(own.memory, other.memory);
    assert_int_equal(own.count, segment->header->cells / 2);
    assert_int_equal(own.count, other.count);
    if (rank < peer) {
        assert_int_not_equal(weft_cells_next(&own), weft_cells_next(&other));
        add_place(own.memory, segment->header->cells * WEFT_CELL_BYTES);
    }
}

static int compare_places(const void *left, const void *right)
{
    const place_t *one = left, *other = right;
    return (one->begin > other->begin) - (one->begin < other->begin);
}

static void nothing_overlaps(void **unused)
{
    (void)unused;
    static _Alignas(4096) weft_segment_header_t header = {.data_bytes = 65536,
                                                          .large_bytes = 1 << 20,
                                                          .baton_bytes = WEFT_BATON_BYTES,
                                                          .wall_ring_bytes = 65536,
                                                          .vci_data_bytes = 8192,
                                                          .cells = 4};
    weft_segment_t segment = {.header = &header, .ranks = RANKS};
    for (int vci = 0; vci < WEFT_VCIS; vci++) {
        for (int pair = 0; pair < RANKS * RANKS; pair++) {
            add_channel(&segment, vci, pair / RANKS, pair % RANKS);
            add_slots(&segment, vci, pair / RANKS, pair % RANKS);
        }
    }
    for (int pair = 0; pair < RANKS * RANKS; pair++)
        add_cells(&segment, pair / RANKS, pair % RANKS);
    add_place(weft_segment_walls(&segment), weft_walls_bytes(RANKS, header.wall_ring_bytes));
    qsort(places, (size_t)place_count, sizeof(places[0]), compare_places);
    for (int i = 1; i < place_count; i++)
        assert_true(places[i - 1].end <= places[i].begin);
}

/* ---- VCIs ---- */

static int vcis_with(int thread_level, unsigned long long bytes)
{
    weft_segment_t segment;
    weft_config.SHM = "memfd";
    weft_config.SHM_BYTES = bytes;
    weft_world.thread_level = thread_level;
    weft_world.size = weft_world.local_size = 1; /* nobody else attaches */
    assert_int_equal(weft_segment_open(&weft_world, &segment), MPI_SUCCESS);
    int vcis = weft_segment_vcis(&segment);
    weft_channel_t last = weft_segment_channel(&segment, vcis - 1, 0, 0);
    last.data[(size_t)last.units * WEFT_DATA_UNIT - 1] = 1; /* it is there */
    weft_segment_close(&segment);
    return vcis;
}

/* ---- cells ---- */

static int cells_with(unsigned long long bytes)
{
    weft_segment_t segment;
    weft_cells_t cells;
    weft_config.SHM = "memfd";
    weft_config.SHM_BYTES = bytes;
    weft_world.size = weft_world.local_size = 1;
    assert_int_equal(weft_segment_open(&weft_world, &segment), MPI_SUCCESS);
    int count = (int)segment.header->cells;
    weft_segment_cells(&segment, 0, 0, &cells);
    if (count > 0)
        weft_cells_at(&cells, (unsigned)count - 1)[WEFT_CELL_BYTES - 1] = 1; /* it is there */
    weft_segment_close(&segment);
    return count;
}

static void cells_fit_into_what_rings_may_take(void **unused)
{
    (void)unused;
    put_result = fence_result = MPI_SUCCESS;
    assert_int_equal(cells_with(256 << 20), WEFT_CELLS_MOST);
    assert_int_equal(cells_with(4 * 7 * WEFT_CELL_BYTES), 6); /* each rank has half of them */
    assert_int_equal(cells_with(4 * 4 * WEFT_CELL_BYTES), 4);
    assert_int_equal(cells_with(4 * 4 * WEFT_CELL_BYTES - 1), 0);
}

static void vcis_have_room_or_are_not_there(void **unused)
{
    (void)unused;
    put_result = fence_result = MPI_SUCCESS;
    assert_int_equal(vcis_with(MPI_THREAD_MULTIPLE, 1 << 20), WEFT_VCIS);
    assert_int_equal(vcis_with(MPI_THREAD_MULTIPLE, 4096 * WEFT_VCIS), WEFT_VCIS);
    assert_int_equal(vcis_with(MPI_THREAD_MULTIPLE, 4096 * WEFT_VCIS - 1), 1);
    assert_int_equal(vcis_with(MPI_THREAD_SERIALIZED, 1 << 20), 1);
}

int main(void)
{
    static char job_id[32];
    static const weft_wireup_t wireup = {.put = put, .fence = fence};
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_failure_leaves_nothing),
                                       cmocka_unit_test(nothing_overlaps),
                                       cmocka_unit_test(cells_fit_into_what_rings_may_take),
                                       cmocka_unit_test(vcis_have_room_or_are_not_there)};
    weft_config_read();
    snprintf(job_id, sizeof(job_id), "unit-segment-%d", (int)getpid());
    weft_world.job_id = job_id;
    weft_world.size = weft_world.local_size = 2;
    weft_world.local_ranks = local_ranks;
    weft_world.wireup = &wireup;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
