/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the library needs for operations while streams wait for them: the driver must not be asked
 * for it, as it may wait for those streams (simcuda's word `strict`). Arguments: cases.
 *
 *   types     vectors with gaps, larger than what is packed at a time
 *   fresh     a buffer for each operation, which no rank has seen before
 *   deep      many operations of many sizes, in several streams
 *   again     the same buffers again and again: in the end they are mapped
 *   shelf     the same where devices do not reach each other: in the end they reach shared memory
 *   many      more streams than some hardware has queues
 *   beside    while another stream waits for the program: a driver that does not wait (strict=2)
 *             maps buffers all the same
 */
#include "../tool/variables.h"
#include "stream_comm.h"

enum { STREAMS = 3, MANY = 12, ROUNDS = 6, TAG = 5, MOST = 1 << 20 };

unsigned long simLaunches(const char *prefix) __attribute__((weak));

static stream_comm_t on[MANY];
static int streams; /* that are used */

static int next_rank(void)
{
    return (expect_rank + 1) % expect_size;
}

static int previous_rank(void)
{
    return (expect_rank + expect_size - 1) % expect_size;
}

static int sum_of_ranks(int value)
{
    return expect_size * (expect_size - 1) / 2 + value * expect_size;
}

static void wait_for_all(void)
{
    for (int i = 0; i < streams; i++)
        CU(cuStreamSynchronize(on[i].stream));
}

/* Device memory, and pinned memory in which the stream saves what it has become. */
typedef struct buffer {
    memory_t memory, log;
    int count;
} buffer_t;

static buffer_t make_buffer(int count)
{
    size_t bytes = (size_t)count * sizeof(int);
    return (buffer_t){memory_take(DEVICE, bytes), memory_take(PINNED, bytes), count};
}

static void drop_buffer(buffer_t *buffer)
{
    memory_give(&buffer->memory);
    memory_give(&buffer->log);
}

static void fill(const stream_comm_t *its, const buffer_t *buffer, int value)
{
    stream_fill(its->stream, DEVICE, buffer->memory.at, value, buffer->count);
}

static void save(const stream_comm_t *its, const buffer_t *buffer)
{
    stream_save(its->stream, DEVICE, buffer->log.at, buffer->memory.at, buffer->count);
}

/* Every `stride`-th element should be `value`, and the others -1. */
static void expect_saved(const buffer_t *buffer, int stride, int value)
{
    const int *saved = buffer->log.at;
    int wrong = 0;
    for (int i = 0; i < buffer->count; i++)
        wrong += saved[i] != (i % stride == 0 ? value : -1);
    EXPECT(wrong, 0);
}

/* ---- the cases ---- */

/* Round a ring; 2 MiB of data that lie in 4 MiB. */
static void send_types(void)
{
    buffer_t in[STREAMS], out[STREAMS];
    MPI_Datatype every_other;
    MPI_Type_vector(MOST / 2, 1, 2, MPI_INT, &every_other);
    MPI_Type_commit(&every_other);
    for (int i = 0; i < STREAMS; i++) {
        in[i] = make_buffer(MOST);
        out[i] = make_buffer(MOST);
    }
    for (int i = 0; i < STREAMS; i++) {
        MPI_Request requests[2];
        fill(&on[i], &in[i], expect_rank + i);
        fill(&on[i], &out[i], -1);
        MPIX_Irecv_enqueue(out[i].memory.at, 1, every_other, previous_rank(), TAG, on[i].comm,
                           &requests[0]);
        MPIX_Isend_enqueue(in[i].memory.at, 1, every_other, next_rank(), TAG, on[i].comm,
                           &requests[1]);
        MPIX_Waitall_enqueue(2, requests, MPI_STATUSES_IGNORE);
        save(&on[i], &out[i]);
    }
    wait_for_all();
    for (int i = 0; i < STREAMS; i++) {
        expect_saved(&out[i], 2, previous_rank() + i);
        drop_buffer(&in[i]);
        drop_buffer(&out[i]);
    }
    MPI_Type_free(&every_other);
}

static void allreduce(const stream_comm_t *its, const buffer_t *buffer, int value)
{
    fill(its, buffer, expect_rank + value);
    MPIX_Allreduce_enqueue(MPI_IN_PLACE, buffer->memory.at, buffer->count, MPI_INT, MPI_SUM,
                           its->comm);
    save(its, buffer);
}

static void use_fresh_buffers(void)
{
    buffer_t buffers[ROUNDS * STREAMS];
    for (int i = 0; i < ROUNDS * STREAMS; i++)
        buffers[i] = make_buffer(i % 2 == 0 ? MOST : MOST / 3);
    for (int i = 0; i < ROUNDS * STREAMS; i++)
        allreduce(&on[i % STREAMS], &buffers[i], i);
    wait_for_all();
    for (int i = 0; i < ROUNDS * STREAMS; i++) {
        expect_saved(&buffers[i], 1, sum_of_ranks(i));
        drop_buffer(&buffers[i]);
    }
}

/* Each operation takes its data to the next one. */
static void go_deep(void)
{
    enum { DEPTH = 60 };
    buffer_t in[STREAMS], out[STREAMS];
    for (int i = 0; i < STREAMS; i++) {
        in[i] = make_buffer(MOST / 4);
        out[i] = make_buffer(MOST / 4);
        fill(&on[i], &in[i], expect_rank);
        fill(&on[i], &out[i], -1);
    }
    for (int step = 0; step < DEPTH; step++) {
        for (int i = 0; i < STREAMS; i++) {
            MPI_Request requests[2];
            int count = step % 4 == 0 ? MOST / 4 : 100 << step % 4 * 3;
            MPIX_Irecv_enqueue(out[i].memory.at, count, MPI_INT, previous_rank(), TAG, on[i].comm,
                               &requests[0]);
            MPIX_Isend_enqueue(in[i].memory.at, count, MPI_INT, next_rank(), TAG, on[i].comm,
                               &requests[1]);
            MPIX_Waitall_enqueue(2, requests, MPI_STATUSES_IGNORE);
            MPIX_Bcast_enqueue(out[i].memory.at, count, MPI_INT, step % expect_size, on[i].comm);
        }
    }
    for (int i = 0; i < STREAMS; i++)
        save(&on[i], &out[i]);
    wait_for_all();
    for (int i = 0; i < STREAMS; i++) {
        int root = (DEPTH - 1) % expect_size, last = 100 << (DEPTH - 1) % 4 * 3;
        out[i].count = last;
        expect_saved(&out[i], 1, (root + expect_size - 1) % expect_size);
        drop_buffer(&in[i]);
        drop_buffer(&out[i]);
    }
}

/* An operation in each stream, and all streams wait at once. */
static void use_many_streams(void)
{
    buffer_t buffers[MANY];
    for (int i = 0; i < MANY; i++)
        buffers[i] = make_buffer(1000);
    for (int i = 0; i < MANY; i++)
        allreduce(&on[i], &buffers[i], i);
    wait_for_all();
    for (int i = 0; i < MANY; i++) {
        expect_saved(&buffers[i], 1, sum_of_ranks(i));
        drop_buffer(&buffers[i]);
    }
}

static MPI_T_pvar_session session;
static MPI_T_pvar_handle shelf_bytes; /* out of this rank (runtime/shelf.h) */

static bool has_used_shelf(void)
{
    return pvar_value(session, shelf_bytes) > 0;
}

static bool has_opened(void)
{
    return simLaunches == NULL || simLaunches("cuIpcOpenMemHandle") > 0;
}

static bool (*reaches_others)(void) = has_opened;

/* Does the device of any rank reach what it does not reach at first? */
static bool is_mapped(void)
{
    int opened = reaches_others();
    MPI_Allreduce(MPI_IN_PLACE, &opened, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
    return opened;
}

/* Called where no other stream is in use: what could not be mapped in one operation is mapped
 * before a later one, though not always the next: ranks that come late do without mappings. */
static void use_until_mapped(const buffer_t *buffer)
{
    enum { ENOUGH = 300 };
    int round = 0;
    EXPECT(simLaunches == NULL || !is_mapped(), true);
    for (; round == 0 || (round < ENOUGH && !is_mapped()); round++) {
        allreduce(&on[0], buffer, round);
        CU(cuStreamSynchronize(on[0].stream));
        expect_saved(buffer, 1, sum_of_ranks(round));
    }
    EXPECT(is_mapped(), true);
}

static void use_again(void)
{
    buffer_t buffer = make_buffer(MOST / 8);
    use_until_mapped(&buffer);
    drop_buffer(&buffer);
}

static void use_shelf(void)
{
    int provided;
    EXPECT_T(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    EXPECT_T(MPI_T_pvar_session_create(&session));
    shelf_bytes = pvar_handle(session, "device_bytes_by_shelf", MPI_T_PVAR_CLASS_AGGREGATE, NULL);
    EXPECT_T(MPI_T_pvar_start(session, shelf_bytes));
    reaches_others = has_used_shelf;
    use_again();
    EXPECT_T(MPI_T_pvar_session_free(&session));
    EXPECT_T(MPI_T_finalize());
}

/* The second stream waits for a word, so the operation in it is not over before that is set. */
static void use_beside(void)
{
    memory_t word = memory_take(PINNED, sizeof(int));
    buffer_t held = make_buffer(10), buffer = make_buffer(MOST / 8);
    *(volatile int *)word.at = 0;
    CU(cuStreamWaitValue32(on[1].stream, (CUdeviceptr)word.at, 1, CU_STREAM_WAIT_VALUE_GEQ));
    allreduce(&on[1], &held, 7);
    use_until_mapped(&buffer);
    *(volatile int *)word.at = 1;
    wait_for_all();
    expect_saved(&held, 1, sum_of_ranks(7));
    drop_buffer(&held);
    drop_buffer(&buffer);
    memory_give(&word);
}

static void run(const char *name)
{
    static const struct {
        const char *name;
        int streams;
        void (*run)(void);
    } cases[] = {{"types", STREAMS, send_types},   {"fresh", STREAMS, use_fresh_buffers},
                 {"deep", STREAMS, go_deep},       {"again", 1, use_again},
                 {"many", MANY, use_many_streams}, {"beside", 2, use_beside},
                 {"shelf", 1, use_shelf}};
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        if (strcmp(cases[k].name, name) != 0)
            continue;
        streams = cases[k].streams;
        for (int i = 0; i < streams; i++)
            on[i] = stream_comm_make(i % 2 == 0 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT);
        cases[k].run();
        for (int i = 0; i < streams; i++) {
            stream_comm_free(&on[i]);
            CU(cuStreamDestroy(on[i].stream));
        }
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin();
    memory_begin(expect_rank);
    for (int i = 1; i < argc; i++)
        run(argv[i]);
    memory_end();
    return expect_end();
}
