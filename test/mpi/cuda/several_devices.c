/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks with two devices each, on which their buffers lie by turns: both buffers of a call on one
 * of them, one on each, some ranks on their first device and others on their second one or in host
 * memory, and the current context on any. Where each device belongs to one rank (two devices a
 * rank), and all ranks use their first devices or all their second ones, collectives are done by
 * kernels of the method ll or multicast (the first argument); else (argument any) only results are
 * checked. More arguments: numbers of elements.
 */
#include "expect.h"
#include "nccl_comm.h"
#include "stream_comm.h"

#include <dlfcn.h>

enum { DEVICES = 2, STEP = 1000000, UNTOUCHED = -1, TAG = 3, ROUNDS_MOST = 60 };

typedef enum form { BLOCKING, NONBLOCKING, PERSISTENT, FORMS } form_t;

/* The places of a rank's buffers, each "0" or "1", its devices, or "H": of what it gives, and of
 * what it gets; then that of the current context. */
typedef struct layout {
    const char *even, *odd; /* for ranks with even and with odd numbers */
    /* Which collectives are done by kernels that wait for each other. A kernel of a device must
     * have memory of the other ranks mapped, and it is the driver's to say whether a process may
     * map memory for two of its devices: the simulated one maps it once. */
    enum { NONE, WITHOUT_ROOT, ALL } exchanges;
} layout_t;

static const layout_t layouts[] = {
    {"000", "000", ALL},          {"111", "111", ALL},  {"001", "110", NONE}, {"110", "000", NONE},
    {"010", "011", WITHOUT_ROOT}, {"101", "010", NONE}, {"001", "000", ALL},  {"0H0", "H10", NONE},
    {"1H0", "HH0", NONE},         {"HH1", "011", NONE},
};

static CUcontext contexts[DEVICES];
static stream_comm_t streams[DEVICES]; /* one on each device */
static int rank, size, root, count, wrong;
static form_t form;
static MPI_Comm comm = MPI_COMM_WORLD;
static const char *at;                            /* the layout for this rank */
static int *ins[DEVICES + 1], *outs[DEVICES + 1]; /* [place]: size * count integers each */
static int *in, *out;                             /* those that the layout says */
static int *sent, *wanted;

/* NULL: the driver is not the simulated one */
static unsigned long (*launches_of)(const char *prefix);

static bool by_switch; /* by multicast */

static unsigned long kernels(void)
{
    return launches_of(by_switch ? "weft_multicast" : "weft_exchange");
}

/* ---- memory ---- */

static size_t total_bytes(void)
{
    return (size_t)size * (size_t)count * sizeof(int);
}

static void enter(char place)
{
    CU(cuCtxSetCurrent(contexts[place == '1']));
}

static int place_index(char place)
{
    return place == 'H' ? DEVICES : place - '0';
}

static int *take(int place)
{
    CUdeviceptr address;
    if (place == DEVICES)
        return malloc(total_bytes());
    CU(cuCtxSetCurrent(contexts[place]));
    CU(cuMemAlloc(&address, total_bytes()));
    return (int *)address;
}

static void give(int place, int *buffer)
{
    if (place == DEVICES)
        free(buffer);
    else
        CU(cuMemFree((CUdeviceptr)buffer));
}

static void put(char place, int *buffer, const int *from)
{
    enter(place);
    if (place == 'H')
        memcpy(buffer, from, total_bytes());
    else
        memory_put(buffer, from, total_bytes());
}

/* ---- the calls: each sets the expected result, and calls MPI ---- */

#define OPEN(...) __VA_ARGS__
#define CALL(name, lower, ARGUMENTS)                                                               \
    do {                                                                                           \
        MPI_Request request = MPI_REQUEST_NULL;                                                    \
        if (form == BLOCKING)                                                                      \
            MPI_##name(OPEN ARGUMENTS, comm);                                                      \
        else if (form == NONBLOCKING)                                                              \
            MPI_I##lower(OPEN ARGUMENTS, comm, &request);                                          \
        else                                                                                       \
            MPI_##name##_init(OPEN ARGUMENTS, comm, MPI_INFO_NULL, &request);                      \
        run_request(&request);                                                                     \
    } while (0)

static void run_request(MPI_Request *request)
{
    if (form == PERSISTENT)
        MPI_Start(request);
    MPI_Wait(request, MPI_STATUS_IGNORE);
    if (form == PERSISTENT)
        MPI_Request_free(request);
}

static int value(int of_rank, int index)
{
    return of_rank * STEP + index;
}

/* The sums of elements [first, first + count) of ranks [0, last]. */
static void want_sums(int first, int last)
{
    for (int i = 0; i < count; i++) {
        wanted[i] = 0;
        for (int r = 0; r <= last; r++)
            wanted[i] += value(r, first + i);
    }
}

static void want_blocks(int first_of_block, int step)
{
    for (int i = 0; i < size * count; i++)
        wanted[i] = value(i / count, first_of_block * step + i % count);
}

static void allreduce(void)
{
    want_sums(0, size - 1);
    CALL(Allreduce, allreduce, (in, out, count, MPI_INT, MPI_SUM));
}

static void allreduce_in_place(void)
{
    want_sums(0, size - 1);
    for (int i = count; i < size * count; i++)
        wanted[i] = sent[i];
    put(at[1], out, sent);
    enter(at[2]);
    CALL(Allreduce, allreduce, (MPI_IN_PLACE, out, count, MPI_INT, MPI_SUM));
}

static void reduce(void)
{
    if (rank == root)
        want_sums(0, size - 1);
    CALL(Reduce, reduce, (in, out, count, MPI_INT, MPI_SUM, root));
}

static void reduce_scatter_block(void)
{
    want_sums(rank * count, size - 1);
    CALL(Reduce_scatter_block, reduce_scatter_block, (in, out, count, MPI_INT, MPI_SUM));
}

static void scan(void)
{
    want_sums(0, rank);
    CALL(Scan, scan, (in, out, count, MPI_INT, MPI_SUM));
}

static void exscan(void)
{
    if (rank > 0)
        want_sums(0, rank - 1);
    CALL(Exscan, exscan, (in, out, count, MPI_INT, MPI_SUM));
}

static void bcast(void)
{
    for (int i = 0; i < size * count; i++)
        wanted[i] = i < count ? value(root, i) : sent[i];
    put(at[1], out, sent);
    enter(at[2]);
    CALL(Bcast, bcast, (out, count, MPI_INT, root));
}

static void gather(void)
{
    if (rank == root)
        want_blocks(0, 0);
    CALL(Gather, gather, (in, count, MPI_INT, out, count, MPI_INT, root));
}

static void scatter(void)
{
    for (int i = 0; i < count; i++)
        wanted[i] = value(root, rank * count + i);
    CALL(Scatter, scatter, (in, count, MPI_INT, out, count, MPI_INT, root));
}

static void allgather(void)
{
    want_blocks(0, 0);
    CALL(Allgather, allgather, (in, count, MPI_INT, out, count, MPI_INT));
}

static void alltoall(void)
{
    want_blocks(rank, count);
    CALL(Alltoall, alltoall, (in, count, MPI_INT, out, count, MPI_INT));
}

static void alltoall_in_place(void)
{
    want_blocks(rank, count);
    put(at[1], out, sent);
    enter(at[2]);
    CALL(Alltoall, alltoall, (MPI_IN_PLACE, 0, MPI_INT, out, count, MPI_INT));
}

/* To the next rank, or to the rank itself, as the form says. */
static void messages(void)
{
    int distance = (int)form % size;
    int to = (rank + distance) % size, from = (rank + size - distance) % size;
    for (int i = 0; i < count; i++)
        wanted[i] = value(from, i);
    MPI_Sendrecv(in, count, MPI_INT, to, TAG, out, count, MPI_INT, from, TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

static void reduce_local(void)
{
    for (int i = 0; i < size * count; i++)
        wanted[i] = i < count ? 2 * sent[i] : sent[i];
    put(at[1], out, sent);
    enter(at[2]);
    MPI_Reduce_local(in, out, count, MPI_INT, MPI_SUM);
}

static const stream_comm_t *stream_of_layout(void)
{
    return &streams[at[2] == '1'];
}

static void enqueued_allreduce(void)
{
    want_sums(0, size - 1);
    MPIX_Allreduce_enqueue(in, out, count, MPI_INT, MPI_SUM, stream_of_layout()->comm);
}

static void enqueued_alltoall(void)
{
    want_blocks(rank, count);
    MPIX_Alltoall_enqueue(in, count, MPI_INT, out, count, MPI_INT, stream_of_layout()->comm);
}

/* All that is received is of one datatype with gaps: every second integer of twice as many. */
static void enqueued_bcast(void)
{
    MPI_Datatype gaps;
    MPI_Type_vector((count + 1) / 2, 1, 2, MPI_INT, &gaps);
    MPI_Type_commit(&gaps);
    for (int i = 0; i < size * count; i++)
        wanted[i] = i < count && i % 2 == 0 ? value(root, i) : sent[i];
    put(at[1], out, sent);
    enter(at[2]);
    MPIX_Bcast_enqueue(out, 1, gaps, root, stream_of_layout()->comm);
    MPI_Type_free(&gaps);
}

/* ---- running them ---- */

typedef struct call {
    const char *name;
    void (*run)(void);
    bool is_in_stream, is_in_all_forms;
    int exchanges; /* the least for which a layout does it by kernels; 0: never */
    bool multicast_knows;
} call_t;

static const call_t calls[] = {
    {"allreduce", allreduce, false, true, WITHOUT_ROOT, true},
    {"allreduce in place", allreduce_in_place, false, true, WITHOUT_ROOT, true},
    {"reduce", reduce, false, true, ALL, true},
    {"reduce_scatter_block", reduce_scatter_block, false, true, WITHOUT_ROOT, true},
    {"scan", scan, false, true, NONE, false},
    {"exscan", exscan, false, true, NONE, false},
    {"bcast", bcast, false, true, ALL, true},
    {"gather", gather, false, true, ALL, false},
    {"scatter", scatter, false, true, ALL, false},
    {"allgather", allgather, false, true, WITHOUT_ROOT, true},
    {"alltoall", alltoall, false, true, WITHOUT_ROOT, false},
    {"alltoall in place", alltoall_in_place, false, true, WITHOUT_ROOT, false},
    {"messages", messages, false, true, NONE, false},
    {"reduce_local", reduce_local, false, false, NONE, false},
    {"enqueued allreduce", enqueued_allreduce, true, false, NONE, false},
    {"enqueued alltoall", enqueued_alltoall, true, false, NONE, false},
    {"enqueued bcast of pieces", enqueued_bcast, true, false, NONE, false},
};

enum { CALLS = sizeof(calls) / sizeof(calls[0]), LAYOUTS = sizeof(layouts) / sizeof(layouts[0]) };

/* The streams of a communicator are on the same of their devices at all ranks, so the layout may
 * only differ in where the buffers are. */
static const char *choose_layout(const layout_t *layout, const call_t *call)
{
    static char of_stream[4];
    const char *chosen = rank % 2 == 0 ? layout->even : layout->odd;
    if (!call->is_in_stream)
        return chosen;
    memcpy(of_stream, chosen, sizeof(of_stream));
    of_stream[2] = layout->even[2];
    return of_stream;
}

static void compare(const layout_t *layout, const call_t *call)
{
    char what[128];
    int *got = malloc(total_bytes());
    if (at[1] != 'H')
        enter(at[1]);
    if (at[1] == 'H')
        memcpy(got, out, total_bytes());
    else
        memory_get(got, out, total_bytes());
    int differ = 0;
    for (int i = 0; i < size * count; i++)
        differ += got[i] != wanted[i];
    snprintf(what, sizeof(what), "%s of %d, form %d, layout %s %s, root %d: wrong ones", call->name,
             count, (int)form, layout->even, layout->odd, root);
    expect_equal(differ, 0, what, __FILE__, __LINE__);
    wrong += differ > 0;
    free(got);
}

static void run_once(const layout_t *layout, const call_t *call)
{
    CUcontext after;
    at = choose_layout(layout, call);
    in = ins[place_index(at[0])], out = outs[place_index(at[1])];
    for (int i = 0; i < size * count; i++) {
        sent[i] = value(rank, i);
        wanted[i] = UNTOUCHED;
    }
    put(at[1], out, wanted);
    put(at[0], in, sent);
    enter(at[2]);
    call->run();
    CU(cuCtxGetCurrent(&after));
    EXPECT(after == contexts[at[2] == '1'], true);
    if (call->is_in_stream)
        CU(cuStreamSynchronize(stream_of_layout()->stream));
    compare(layout, call);
}

static void run_all(void)
{
    for (int i = 0; i < LAYOUTS; i++) {
        for (int j = 0; j < CALLS; j++) {
            for (form = BLOCKING; form < (calls[j].is_in_all_forms ? FORMS : 1); form++) {
                root = (i + j) % size;
                run_once(&layouts[i], &calls[j]);
            }
        }
    }
}

/* On new communicators, whose ranks do not know yet that one of them cannot map a buffer: those
 * that can have perhaps written results when they hear of it, and then all do the call again. */
static void run_first_calls(void)
{
    form = BLOCKING;
    for (int i = 0; i < LAYOUTS; i++) {
        for (int j = 0; j < CALLS; j++) {
            if (!calls[j].is_in_all_forms)
                continue;
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
            run_once(&layouts[i], &calls[j]);
            MPI_Comm_free(&comm);
        }
    }
    comm = MPI_COMM_WORLD;
}

static bool all_are(bool claim)
{
    int own = claim, all = 0;
    MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all;
}

/* Streams that run late make ranks go alone until they have learnt to wait, so calls are repeated
 * until all ranks have used kernels. */
static void check_kernels(const layout_t *layout, const call_t *call)
{
    char what[128];
    bool is_over = false;
    for (int round = 0; round < ROUNDS_MOST && !is_over && wrong == 0; round++) {
        unsigned long before = kernels();
        root = round % size;
        run_once(layout, call);
        is_over = all_are(kernels() > before);
        wrong = all_are(wrong == 0) ? 0 : 1;
    }
    snprintf(what, sizeof(what), "%s of %d, layout %s %s: by kernels", call->name, count,
             layout->even, layout->odd);
    expect_equal(is_over, true, what, __FILE__, __LINE__);
}

static void check_all_kernels(void)
{
    form = BLOCKING;
    wrong = all_are(wrong == 0) ? 0 : 1;
    for (int i = 0; i < LAYOUTS; i++) {
        for (int j = 0; j < CALLS; j++) {
            bool knows = by_switch ? calls[j].multicast_knows : calls[j].exchanges != NONE;
            if (knows && (int)layouts[i].exchanges >= calls[j].exchanges)
                check_kernels(&layouts[i], &calls[j]);
        }
    }
}

/* A communicator of NCCL on each device, and operations of both under way. */
static void use_nccl(void)
{
    static nccl_comm_t comms[DEVICES];
    static const layout_t layout[DEVICES] = {{"000", "000", NONE}, {"111", "111", NONE}};
    static const call_t call = {"ncclAllReduce", NULL, true, false, NONE, false};
    want_sums(0, size - 1);
    for (int i = 0; i < DEVICES; i++) {
        put('0' + (char)i, ins[i], sent);
        put('0' + (char)i, outs[i], sent);
        comms[i] = nccl_comm_of(MPI_COMM_WORLD, streams[i].stream);
    }
    for (int i = 0; i < DEVICES; i++)
        NCCL(ncclAllReduce(ins[i], outs[i], (size_t)count, ncclInt32, ncclSum, comms[i].nccl,
                           comms[i].stream));
    for (int i = count; i < size * count; i++)
        wanted[i] = sent[i];
    for (int i = 0; i < DEVICES; i++) {
        at = layout[i].even, out = outs[i];
        CU(cuStreamSynchronize(streams[i].stream));
        compare(&layout[i], &call);
        nccl_expect_no_error(&comms[i]);
        NCCL(ncclCommDestroy(comms[i].nccl));
    }
}

static void check_count(bool by_kernels)
{
    sent = malloc(total_bytes()), wanted = malloc(total_bytes());
    for (int place = 0; place <= DEVICES; place++)
        ins[place] = take(place), outs[place] = take(place);
    run_first_calls();
    run_all();
    if (by_kernels)
        check_all_kernels();
    use_nccl();
    MPI_Barrier(MPI_COMM_WORLD);
    for (int place = 0; place <= DEVICES; place++)
        give(place, ins[place]), give(place, outs[place]);
    free(sent), free(wanted);
}

static void begin_device(int index, int devices)
{
    CUdevice device;
    CUdeviceptr word;
    CU(cuDeviceGet(&device, (rank + index * (devices / DEVICES)) % devices));
    CU(cuDevicePrimaryCtxRetain(&contexts[index], device));
    CU(cuCtxSetCurrent(contexts[index]));
    CU(cuMemAlloc(&word, sizeof(int)));
    MPI_Bcast((void *)word, 1, MPI_INT, 0, MPI_COMM_WORLD);
    CU(cuMemFree(word));
}

/* It is known which ranks work on which devices before communicators of streams are made. */
static void begin_devices(void)
{
    int devices;
    CU(cuInit(0));
    CU(cuDeviceGetCount(&devices));
    for (int i = 0; i < DEVICES; i++)
        begin_device(i, devices);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < DEVICES; i++) {
        CU(cuCtxSetCurrent(contexts[i]));
        streams[i] = stream_comm_make(CU_STREAM_NON_BLOCKING);
    }
}

static void end_streams(void)
{
    for (int i = 0; i < DEVICES; i++) {
        stream_comm_free(&streams[i]);
        CU(cuCtxSetCurrent(contexts[i]));
        CU(cuStreamDestroy(streams[i].stream));
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin();
    rank = expect_rank, size = expect_size;
    begin_devices();
    *(void **)&launches_of = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "simLaunches");
    by_switch = strcmp(argv[1], "multicast") == 0;
    for (int i = 2; i < argc; i++) {
        count = atoi(argv[i]);
        check_count(strcmp(argv[1], "any") != 0 && size > 1 && launches_of != NULL);
    }
    end_streams();
    return expect_end();
}
