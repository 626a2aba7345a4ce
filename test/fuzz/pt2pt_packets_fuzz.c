/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets of other ranks among sends and receives under way. The input is a sequence of steps:
 * begin a send or a receive, let a packet come, let one land, end a registration, progress. Numbers
 * of requests in packets are taken from those that the library has given away.
 * fuzz: runs=60000 most=400 of=pt2pt,runtime,object,base
 */
#include "input.h"

#include "base/config.h"
#include "base/log.h"
#include "mpi.h"
#include "object/comm.h"
#include "pt2pt/pt2pt_private.h"
#include "runtime/progress.h"
#include "runtime/shelf.h"

enum { RANKS = 4, PENDING = 6, BUFFER = 2048, PACKET_MOST = 2048, GUARD = 64, KNOWN = 16 };

static fuzz_input_t input;

/* ---- a transport that accepts packets and remembers the requests that they named ---- */

static weft_endpoint_t endpoints[RANKS];
static uint64_t known[KNOWN]; /* numbers of requests, of this rank and of others */
static unsigned known_count;
static char room[PACKET_MOST];
static weft_registration_t *registered[PENDING];
static unsigned registered_count;

static void learn(uint64_t number)
{
    known[known_count++ % KNOWN] = number;
}

static bool is_rts(uint8_t kind)
{
    return kind == WEFT_PACKET_RTS || kind == WEFT_PACKET_RTS_SHORT ||
           kind == WEFT_PACKET_RTS_RKEY || kind == WEFT_PACKET_RTS_SHARE ||
           kind == WEFT_PACKET_RTS_SHARE_SYNC;
}

static void look_at(const weft_header_t *header, const void *payload)
{
    weft_rts_t rts;
    weft_cts_t cts;
    if (is_rts(header->kind)) {
        memcpy(&rts, payload, WEFT_RTS_BYTES);
        learn(rts.request);
    } else if (header->kind == WEFT_PACKET_CTS) {
        memcpy(&cts, payload, sizeof(cts));
        learn(cts.request);
    }
}

static bool fake_send(weft_endpoint_t *endpoint, weft_header_t header, const void *payload)
{
    (void)endpoint;
    if (fuzz_byte(&input) == 1)
        return false;
    look_at(&header, payload);
    return true;
}

static void *fake_reserve(weft_endpoint_t *endpoint, size_t bytes)
{
    (void)endpoint;
    fuzz_expect(bytes <= PACKET_MOST, "a packet is too long");
    return fuzz_byte(&input) == 1 ? NULL : room;
}

static void fake_commit(weft_endpoint_t *endpoint, weft_header_t header)
{
    (void)endpoint;
    look_at(&header, room);
}

static bool fake_register(weft_endpoint_t *endpoint, const void *data, size_t bytes,
                          const struct weft_memory *memory, weft_registration_t *out)
{
    (void)endpoint, (void)bytes, (void)memory;
    *out = (weft_registration_t){.rkey.address = (uint64_t)(uintptr_t)data};
    if (registered_count == PENDING || fuzz_byte(&input) % 2 == 1)
        return false;
    registered[registered_count++] = out;
    return true;
}

static void fake_deregister(weft_endpoint_t *endpoint, weft_registration_t *registration)
{
    unsigned at = 0;
    (void)endpoint;
    while (at < registered_count && registered[at] != registration)
        at++;
    fuzz_expect(at < registered_count, "memory is deregistered that is not registered");
    registered[at] = registered[--registered_count];
}

static void end_a_registration(void)
{
    unsigned choice = fuzz_byte(&input);
    if (registered_count == 0)
        return;
    weft_registration_t *registration = registered[choice % registered_count];
    if (registration->taken != NULL)
        registration->taken(registration);
}

static void fake_get(weft_get_t *get)
{
    bool is_good = fuzz_byte(&input) % 2 == 0;
    if (is_good)
        memset(get->to, 1, get->bytes);
    get->done(get, is_good);
}

static const weft_link_ops_t fake_link = {.send = fake_send,
                                          .reserve = fake_reserve,
                                          .store = weft_plain_store,
                                          .commit = fake_commit,
                                          .flush = weft_no_flush,
                                          .peek = weft_no_peek,
                                          .take = weft_no_take,
                                          .throttle = weft_no_throttle};

static bool fake_prefers_asking(weft_endpoint_t *endpoint, size_t bytes, bool is_blocking)
{
    (void)endpoint, (void)is_blocking;
    return bytes % 2 == 0;
}

/* Ranks use the two in turns; the second one tells owners. */
static const weft_remote_ops_t fake_remotes[2] = {{.read = weft_no_read,
                                                   .prefers_stream = weft_no_preference,
                                                   .stream_over = weft_no_stream_over,
                                                   .prefers_asking = fake_prefers_asking,
                                                   .note_wait = weft_no_note_wait,
                                                   .note_short = weft_no_note_short,
                                                   .register_memory = fake_register,
                                                   .deregister_memory = fake_deregister,
                                                   .get = fake_get,
                                                   .takes_device = weft_no_device},
                                                  {.tells_owner = true,
                                                   .read = weft_no_read,
                                                   .prefers_stream = weft_no_preference,
                                                   .stream_over = weft_no_stream_over,
                                                   .prefers_asking = fake_prefers_asking,
                                                   .note_wait = weft_no_note_wait,
                                                   .note_short = weft_no_note_short,
                                                   .register_memory = fake_register,
                                                   .deregister_memory = fake_deregister,
                                                   .get = fake_get,
                                                   .takes_device = weft_no_device}};

static void set_up(void)
{
    static const int local_ranks[RANKS] = {0, 1, 2, 3};
    static char shelves[RANKS * WEFT_SHELF_BYTES];
    weft_config_read();
    weft_log_threshold = -1;
    weft_world.rank = 0;
    weft_world.size = weft_world.local_size = RANKS;
    weft_world.local_ranks = local_ranks;
    weft_shelves_open(shelves, RANKS, 0);
    fuzz_expect(weft_processes_open(RANKS, 0) == MPI_SUCCESS, "no memory");
    for (int i = 0; i < RANKS; i++) {
        endpoints[i] = (weft_endpoint_t){.link = &fake_link,
                                         .remote = &fake_remotes[i % 2],
                                         .packet_max = PACKET_MOST,
                                         .at_once_max = 512,
                                         .blocking_max = 512,
                                         .eager_max = 512,
                                         .can_get = true};
        weft_processes.at[i].endpoint = &endpoints[i];
    }
    weft_pt2pt_open();
    fuzz_expect(weft_comm_open() == MPI_SUCCESS, "no memory");
}

/* ---- requests ---- */

typedef struct pending {
    weft_request_t *request; /* NULL: none */
    unsigned char *memory;   /* [GUARD + bytes + GUARD] */
    size_t bytes;
    bool is_send;
} pending_t;

static pending_t pending[PENDING];

static void begin(pending_t *at)
{
    unsigned how = fuzz_byte(&input);
    weft_type_t *type = weft_type_of(MPI_BYTE);
    int peer = 1 + (int)(how >> 1 & 3) % (RANKS - 1), tag = (int)(how >> 3 & 1);
    at->is_send = (how & 1) != 0;
    /* A send of no bytes, asked for as a stream, never ends, and no rank asks for that. */
    at->bytes = fuzz_short(&input) % BUFFER + at->is_send;
    at->memory = malloc(at->bytes + 2 * GUARD);
    memset(at->memory, 0xa5, at->bytes + 2 * GUARD);
    weft_comm_t *comm = &weft_comm_world;
    weft_send_args_t send = {
        .buf = at->memory + GUARD,
        .count = at->bytes,
        .type = type,
        .comm = comm,
        .context = comm->context,
        .dest = peer,
        .tag = tag,
        .mode = (how & 16) != 0 ? WEFT_SEND_STANDARD : WEFT_SEND_SYNCHRONOUS,
    };
    weft_recv_args_t recv = {at->memory + GUARD,
                             at->bytes,
                             type,
                             comm,
                             comm->context,
                             (how & 32) != 0 ? MPI_ANY_SOURCE : peer,
                             (how & 64) != 0 ? MPI_ANY_TAG : tag,
                             WEFT_WHERE_UNKNOWN};
    int err =
        at->is_send ? weft_send_begin(&send, &at->request) : weft_recv_begin(&recv, &at->request);
    fuzz_expect(err == MPI_SUCCESS, "a request cannot begin");
    learn((uint64_t)(uintptr_t)at->request);
}

static void end_if_complete(pending_t *at)
{
    for (size_t i = 0; i < GUARD; i++)
        fuzz_expect(at->memory[i] == 0xa5 && at->memory[GUARD + at->bytes + i] == 0xa5,
                    "bytes beside a buffer are written");
    if (!at->request->is_complete)
        return;
    weft_request_release(at->request);
    free(at->memory);
    *at = (pending_t){0};
}

/* ---- packets ---- */

static uint64_t some_number(void)
{
    unsigned choice = fuzz_byte(&input);
    return known[choice % KNOWN] + (choice >> 6 == 3 ? 1 : 0);
}

static void packet_comes(void)
{
    uint8_t kind = (uint8_t)fuzz_byte(&input);
    unsigned choice = fuzz_byte(&input);
    weft_header_t header = weft_header_for(kind, some_number(), fuzz_short(&input) % PACKET_MOST);
    bool is_matched = kind == WEFT_PACKET_EAGER || kind == WEFT_PACKET_EAGER_FIRST ||
                      is_rts(kind) || kind == WEFT_PACKET_ERROR;
    if (is_matched) {
        header.context = weft_comm_world.context | (choice >> 4 & 1);
        header.tag =
            (choice & 32) != 0 ? (int32_t)((choice & 127) << 24) : (int32_t)(choice >> 3 & 1);
    }
    unsigned char *payload = malloc(header.bytes > 0 ? header.bytes : 1);
    uint64_t number = some_number();
    fuzz_fill(&input, payload, header.bytes < 64 ? header.bytes : 64);
    if (header.bytes > 64)
        memset(payload + 64, 7, header.bytes - 64);
    if (is_rts(kind) && header.bytes >= WEFT_RTS_BYTES)
        memcpy(payload + offsetof(weft_rts_t, request), &number, sizeof(number));
    else if (kind == WEFT_PACKET_CTS && header.bytes >= sizeof(number))
        memcpy(payload, &number, sizeof(number));
    weft_split_end_t end = {.total = header.bytes + (choice & 15) * 8};
    if (kind == WEFT_PACKET_EAGER_FIRST && header.bytes >= sizeof(end))
        memcpy(payload + header.bytes - sizeof(end), &end, sizeof(end));
    weft_packet_arrived(1 + (int)(choice & 3) % (RANKS - 1), header, payload);
    free(payload);
}

/* ---- data that a transport writes to their destination, one packet of each peer at a time ---- */

static struct {
    weft_header_t header;
    unsigned char *place;
} landings[RANKS];

static void end_landing(int source)
{
    unsigned char *place = landings[source].place;
    landings[source].place = NULL;
    memset(place, 2, landings[source].header.bytes);
    weft_packet_arrived(source, landings[source].header, place);
}

static void land(void)
{
    unsigned choice = fuzz_byte(&input);
    int source = 1 + (int)(choice & 3) % (RANKS - 1);
    if (landings[source].place != NULL) {
        end_landing(source);
        return;
    }
    landings[source].header =
        (weft_header_t){.kind = (choice & 128) != 0 ? (uint8_t)choice : WEFT_PACKET_EAGER,
                        .bytes = fuzz_short(&input) % BUFFER,
                        .context = weft_comm_world.context,
                        .tag = (int32_t)(choice >> 2 & 1)};
    landings[source].place = weft_packet_land(source, &landings[source].header);
}

/* ---- steps ---- */

static void take_step(unsigned step)
{
    pending_t *at = &pending[step / 8 % PENDING];
    switch (step % 8) {
    case 0:
    case 1:
        if (at->request == NULL)
            begin(at);
        break;
    case 2:
        land();
        break;
    case 3:
        end_a_registration();
        break;
    case 4:
        weft_progress();
        break;
    default:
        packet_comes();
    }
}

static void check_pending(void)
{
    size_t sends = 0;
    for (int i = 0; i < PENDING; i++) {
        if (pending[i].request == NULL)
            continue;
        sends += pending[i].is_send && !pending[i].request->is_complete;
        end_if_complete(&pending[i]);
    }
    fuzz_expect(wefti_pt2pt.active_sends == sends, "the number of sends under way is wrong");
}

/* ---- the end: what is under way ends as with peers that fail, so that nothing is kept ---- */

/* A packet that ends the transfer of a request comes from each rank. */
static void fail_transfer(const weft_request_t *request, bool is_send)
{
    static const weft_packet_error_t error = {.error_class = MPI_ERR_OTHER, .text = "it failed"};
    const weft_header_t header =
        weft_header_for(is_send ? WEFT_PACKET_NACK : WEFT_PACKET_DATA_ERROR,
                        (uint64_t)(uintptr_t)request, sizeof(error));
    for (int source = 1; source < RANKS && !request->is_complete; source++)
        weft_packet_arrived(source, header, &error);
}

/* A send whose data have been asked for cannot fail; the rest of them is asked for. */
static void ask_for_all(const weft_request_t *request)
{
    static const weft_cts_t cts = {.limit = UINT64_MAX};
    const weft_header_t header =
        weft_header_for(WEFT_PACKET_CTS, (uint64_t)(uintptr_t)request, sizeof(cts));
    for (int source = 1; source < RANKS && !request->is_complete; source++)
        weft_packet_arrived(source, header, &cts);
}

static void end_pending(pending_t *at)
{
    if (!at->is_send)
        at->request->ops->cancel(at->request);
    if (!at->request->is_complete)
        fail_transfer(at->request, at->is_send);
    if (at->is_send && !at->request->is_complete)
        ask_for_all(at->request);
    end_if_complete(at);
}

/* Receive what nobody has received; false: there is nothing in this context. */
static bool take_unexpected(uint32_t context)
{
    static unsigned char buffer[BUFFER];
    weft_recv_args_t args = {
        buffer,         BUFFER,      weft_type_of(MPI_BYTE), &weft_comm_world, context,
        MPI_ANY_SOURCE, MPI_ANY_TAG, WEFT_WHERE_UNKNOWN};
    weft_request_t *request;
    fuzz_expect(weft_recv_begin(&args, &request) == MPI_SUCCESS, "a request cannot begin");
    bool is_there = !((const weft_recv_t *)request)->is_queued;
    if (!is_there)
        request->ops->cancel(request);
    if (!request->is_complete)
        fail_transfer(request, false);
    fuzz_expect(request->is_complete, "a receive does not end");
    weft_request_release(request);
    return is_there;
}

/* The rest of a split message comes. */
static void end_split(int source)
{
    static const unsigned char rest[WEFT_SPLIT_MOST];
    size_t left = wefti_split_from(weft_process_reached(source))->left;
    weft_header_t header =
        weft_header(WEFT_PACKET_EAGER_NEXT, (uint32_t)left, weft_comm_world.context, 0);
    if (left > 0)
        weft_packet_arrived(source, header, rest);
}

static void end_all(void)
{
    for (int source = 1; source < RANKS; source++) {
        end_split(source);
        if (landings[source].place != NULL)
            end_landing(source);
    }
    for (int round = 0; round < 3; round++) {
        for (unsigned i = registered_count; i-- > 0;) {
            if (i < registered_count && registered[i]->taken != NULL)
                registered[i]->taken(registered[i]);
        }
        weft_progress();
        for (int i = 0; i < PENDING; i++) {
            if (pending[i].request != NULL)
                end_pending(&pending[i]);
        }
    }
    for (int i = 0; i < PENDING; i++)
        fuzz_expect(pending[i].request == NULL, "a request does not end");
    for (uint32_t collective = 0; collective < 2; collective++) {
        while (take_unexpected(weft_comm_world.context | collective))
            ;
    }
    fuzz_expect(wefti_pt2pt.active_sends == 0 && registered_count == 0, "something is left");
    memset(known, 0, sizeof(known));
    known_count = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static bool is_set_up;
    if (!is_set_up)
        set_up();
    is_set_up = true;
    input = (fuzz_input_t){data, bytes};
    while (input.left > 0) {
        take_step(fuzz_byte(&input));
        check_pending();
    }
    end_all();
    return 0;
}
