/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets that no rank would send, among good ones: malformed ones are dropped, receives and sends
 * under way end correctly, nothing is written outside a buffer. */
#include "pt2pt/pt2pt_private.h"

#include "pt2pt/fake_world.h"

#include "object/comm.h"
#include "runtime/progress.h"
#include "runtime/shelf.h"
#include "base/config.h"
#include "base/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    RANKS = 4,
    ROUNDS = 20000,
    PENDING = 24,
    BUFFER = 4096,
    PACKET_MAX = 2048,
    GUARD = 64,
    KNOWN = 64
};

static uint64_t state = 11;

static unsigned pick(unsigned below)
{
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)(state >> 33) % below;
}

/* ---- a transport that accepts packets and remembers the requests that they named ---- */

static weft_endpoint_t endpoints[RANKS];
static uint64_t known[KNOWN]; /* numbers of requests, of this rank and of others */
static unsigned known_count;
static char room[PACKET_MAX];
static weft_registration_t *registered[PENDING];
static unsigned registered_count, landings_ended;

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
    if (pick(4) == 0)
        return false;
    look_at(&header, payload);
    return true;
}

static void *fake_reserve(weft_endpoint_t *endpoint, size_t bytes)
{
    (void)endpoint;
    assert_true(bytes <= PACKET_MAX);
    return pick(4) == 0 ? NULL : room;
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
    if (registered_count == PENDING || pick(2) == 0)
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
    assert_true(at < registered_count);
    registered[at] = registered[--registered_count];
}

/* Acts as a transport that has sent all bytes that were asked for. */
static void end_a_registration(void)
{
    weft_registration_t *registration =
        registered_count == 0 ? NULL : registered[pick(registered_count)];
    if (registration != NULL && registration->taken != NULL)
        registration->taken(registration);
}

static void fake_get(weft_get_t *get)
{
    bool is_good = pick(2) == 0;
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
    (void)endpoint, (void)bytes, (void)is_blocking;
    return pick(2) == 0;
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

/* ---- requests, during which packets come ---- */

typedef struct pending {
    weft_request_t *request; /* NULL: none */
    unsigned char *memory;   /* [GUARD + bytes + GUARD] */
    size_t bytes;
    bool is_send;
} pending_t;

static pending_t pending[PENDING];

static void begin(pending_t *at)
{
    weft_type_t *type = weft_type_of(MPI_BYTE);
    at->bytes = pick(BUFFER);
    at->memory = malloc(at->bytes + 2 * GUARD);
    memset(at->memory, 0xa5, at->bytes + 2 * GUARD);
    int peer = 1 + (int)pick(RANKS - 1), tag = (int)pick(4);
    at->is_send = pick(2) == 0;
    if (at->is_send) {
        weft_send_args_t args = {
            .buf = at->memory + GUARD,
            .count = at->bytes,
            .type = type,
            .comm = &weft_comm_world,
            .context = weft_comm_world.context,
            .dest = peer,
            .tag = tag,
            .mode = pick(2) ? WEFT_SEND_STANDARD : WEFT_SEND_SYNCHRONOUS,
        };
        assert_int_equal(weft_send_begin(&args, &at->request), MPI_SUCCESS);
    } else {
        weft_recv_args_t args = {at->memory + GUARD,
                                 at->bytes,
                                 type,
                                 &weft_comm_world,
                                 weft_comm_world.context,
                                 pick(3) ? peer : MPI_ANY_SOURCE,
                                 pick(3) ? tag : MPI_ANY_TAG,
                                 WEFT_WHERE_UNKNOWN};
        assert_int_equal(weft_recv_begin(&args, &at->request), MPI_SUCCESS);
    }
    learn((uint64_t)(uintptr_t)at->request);
}

static void end_if_complete(pending_t *at)
{
    for (size_t i = 0; i < GUARD; i++) {
        assert_int_equal(at->memory[i], 0xa5);
        assert_int_equal(at->memory[GUARD + at->bytes + i], 0xa5);
    }
    if (!at->request->is_complete)
        return;
    assert_false(!at->is_send && ((const weft_recv_t *)at->request)->is_queued);
    weft_request_release(at->request);
    free(at->memory);
    *at = (pending_t){0};
}

/* ---- packets ---- */

static uint64_t some_number(void)
{
    uint64_t number = pick(10) == 0 ? (uint64_t)pick(1 << 30) << 20 : known[pick(KNOWN)];
    return pick(20) == 0 ? number + pick(256) : number;
}

static void fill_payload(weft_header_t *header, unsigned char *payload)
{
    for (unsigned i = 0; i < header->bytes; i++)
        payload[i] = (unsigned char)pick(256);
    weft_rts_t rts = {.bytes = pick(3) ? pick(2 * BUFFER) : (uint64_t)pick(1 << 30) << pick(35),
                      .address = pick(2) ? 0 : known[pick(KNOWN)],
                      .request = some_number()};
    if (pick(4) == 0 && header->bytes >= WEFT_RTS_BYTES)
        rts.bytes = header->bytes - WEFT_RTS_BYTES;
    weft_placed_t placed = {.ticket = some_number(), .bytes = pick(BUFFER)};
    uint64_t number = some_number();
    weft_split_end_t end = {.total = header->bytes + (uint64_t)pick(BUFFER)};
    if (is_rts(header->kind) && pick(10) != 0)
        memcpy(payload, &rts, header->bytes < WEFT_RTS_BYTES ? header->bytes : WEFT_RTS_BYTES);
    else if (header->kind == WEFT_PACKET_CTS)
        memcpy(payload, &number, header->bytes < sizeof(number) ? header->bytes : sizeof(number));
    else if (header->kind == WEFT_PACKET_PLACED && header->bytes == sizeof(placed) && pick(10) != 0)
        memcpy(payload, &placed, sizeof(placed));
    else if (header->kind == WEFT_PACKET_EAGER_FIRST && header->bytes >= sizeof(end) &&
             pick(10) != 0)
        memcpy(payload + header->bytes - sizeof(end), &end, sizeof(end));
}

static uint32_t some_length(uint8_t kind)
{
    if (pick(3) == 0)
        return pick(2) * pick(100);
    switch (kind) {
    case WEFT_PACKET_RTS:
        return WEFT_RTS_BYTES + pick(2) * pick(900);
    case WEFT_PACKET_RTS_SHORT:
        return WEFT_RTS_SHORT_BYTES;
    case WEFT_PACKET_RTS_RKEY:
        return WEFT_RTS_RKEY_BYTES;
    case WEFT_PACKET_RTS_SHARE:
    case WEFT_PACKET_RTS_SHARE_SYNC:
        return WEFT_RTS_SHARE_BYTES;
    case WEFT_PACKET_ERROR:
    case WEFT_PACKET_NACK:
    case WEFT_PACKET_DATA_ERROR:
        return sizeof(weft_packet_error_t);
    case WEFT_PACKET_CTS:
        return sizeof(weft_cts_t);
    case WEFT_PACKET_PLACED:
        return sizeof(weft_placed_t);
    case WEFT_PACKET_TAKEN:
    case WEFT_PACKET_NO_SHELF:
        return 0;
    default:
        return pick(PACKET_MAX);
    }
}

static void packet_comes(void)
{
    uint8_t kind = (uint8_t)(pick(30) == 0   ? pick(256)
                             : pick(12) == 0 ? WEFT_PACKET_PLACED + pick(3)
                                             : 1 + pick(WEFT_PACKET_LANDED));
    bool is_matched = kind == WEFT_PACKET_EAGER || kind == WEFT_PACKET_EAGER_FIRST ||
                      is_rts(kind) || kind == WEFT_PACKET_ERROR;
    weft_header_t header = weft_header_for(kind, some_number(), some_length(kind));
    if (is_matched && pick(20) != 0) {
        header.context = weft_comm_world.context | pick(2) * pick(2);
        header.tag = pick(30) == 0 ? (int32_t)(pick(1 << 30) << 2) : (int32_t)pick(4);
    }
    unsigned char *payload =
        malloc(header.bytes); /* a separate block, so that a sanitizer detects reads beyond it */
    fill_payload(&header, payload);
    weft_packet_arrived(1 + (int)pick(RANKS - 1), header, payload);
    free(payload);
}

/* Data that a transport writes directly to their destination, for one packet of each peer at a
 * time. */
static void land(void)
{
    static struct {
        weft_header_t header;
        unsigned char *place;
    } landings[RANKS], *landing;
    int source = 1 + (int)pick(RANKS - 1);
    landing = &landings[source];
    if (landing->place != NULL) {
        memset(landing->place, 2, landing->header.bytes);
        weft_packet_arrived(source, landing->header, landing->place);
        landing->place = NULL;
        landings_ended++;
        return;
    }
    weft_header_t header = {.kind = pick(9) ? WEFT_PACKET_EAGER : (uint8_t)pick(256),
                            .bytes = pick(BUFFER),
                            .context = weft_comm_world.context,
                            .tag = (int32_t)pick(4)};
    landing->header = header;
    landing->place = weft_packet_land(source, &landing->header);
    assert_true(landing->place == NULL || header.kind == WEFT_PACKET_EAGER);
    assert_true((landing->place == NULL) ==
                (memcmp(&header, &landing->header, sizeof(header)) == 0));
}

static void check_pending(void)
{
    size_t sends = 0;
    for (int i = 0; i < PENDING; i++) {
        if (pending[i].request == NULL)
            continue;
        sends += pending[i].is_send && !pending[i].request->is_complete;
        if (pick(2) == 0)
            end_if_complete(&pending[i]);
    }
    assert_int_equal(wefti_pt2pt.active_sends, sends);
}

static void test_malformed(void **unused)
{
    (void)unused;
    for (int round = 0; round < ROUNDS; round++) {
        pending_t *at = &pending[pick(PENDING)];
        if (at->request == NULL)
            begin(at);
        packet_comes();
        if (pick(4) == 0)
            land();
        if (pick(8) == 0)
            end_a_registration();
        weft_progress();
        check_pending();
    }
    assert_true(landings_ended > 0);
}

/* ---- split messages ---- */

enum { SPLITTER = 3, HALF = 100 };

static unsigned char split_data[2 * HALF];

static weft_request_t *receive_split(void)
{
    weft_request_t *request;
    weft_recv_args_t args = {.buf = split_data,
                             .count = sizeof(split_data),
                             .type = weft_type_of(MPI_BYTE),
                             .comm = &weft_comm_world,
                             .context = weft_comm_world.context,
                             .source = SPLITTER};
    memset(split_data, 0, sizeof(split_data));
    assert_int_equal(weft_recv_begin(&args, &request), MPI_SUCCESS);
    return request;
}

static void first_comes(void)
{
    unsigned char payload[HALF + sizeof(weft_split_end_t)];
    weft_split_end_t end = {.total = 2 * HALF};
    memset(payload, 1, HALF);
    memcpy(payload + HALF, &end, sizeof(end));
    weft_header_t header =
        weft_header(WEFT_PACKET_EAGER_FIRST, sizeof(payload), weft_comm_world.context, 0);
    weft_packet_arrived(SPLITTER, header, payload);
}

static void next_comes(void)
{
    unsigned char payload[HALF];
    memset(payload, 2, HALF);
    weft_header_t header = weft_header(WEFT_PACKET_EAGER_NEXT, HALF, weft_comm_world.context, 0);
    weft_packet_arrived(SPLITTER, header, payload);
}

static void expect_split(weft_request_t *request, int error)
{
    assert_true(request->is_complete);
    assert_int_equal(request->status.MPI_ERROR, error);
    weft_request_release(request);
    if (error != MPI_SUCCESS)
        return;
    for (int i = 0; i < 2 * HALF; i++)
        assert_int_equal(split_data[i], i < HALF ? 1 : 2);
}

/* Into the receive, and through memory of the library, before and after the receive is posted. */
static void test_split(void **unused)
{
    (void)unused;
    weft_request_t *request = receive_split();
    first_comes();
    assert_false(request->is_complete);
    next_comes();
    expect_split(request, MPI_SUCCESS);
    first_comes();
    request = receive_split();
    assert_false(request->is_complete);
    next_comes();
    expect_split(request, MPI_SUCCESS);
    first_comes();
    next_comes();
    expect_split(receive_split(), MPI_SUCCESS);
    assert_int_equal(wefti_pt2pt.messages_bytes, 0);
}

/* The sender is lost in the middle: the receive ends with an error, and the next message is whole.
 */
static void test_split_lost(void **unused)
{
    (void)unused;
    weft_request_t *request = receive_split();
    first_comes();
    wefti_recvs_lose(SPLITTER);
    expect_split(request, MPI_ERR_OTHER);
    first_comes();
    request = receive_split();
    wefti_recvs_lose(SPLITTER);
    expect_split(request, MPI_ERR_OTHER);
    first_comes();
    wefti_recvs_lose(SPLITTER);
    expect_split(receive_split(), MPI_ERR_OTHER);
    next_comes(); /* belongs to nothing */
    test_split(NULL);
}

/* ---- shares of device memory ---- */

enum { SHARER = 2, SHARED_BYTES = 5000 };

static int mapped;

static bool fake_map(const weft_share_t *share, weft_device_t *device, bool at_any_price,
                     weft_mapping_t *out)
{
    (void)share, (void)device, (void)at_any_price, (void)out;
    mapped++;
    return false;
}

static bool fake_is_refused(const weft_share_t *share, weft_device_t *device)
{
    (void)share, (void)device;
    return true;
}

static const weft_device_ops_t fake_device = {.map = fake_map, .is_refused = fake_is_refused};

static void share_comes(const weft_share_t *share)
{
    char payload[WEFT_RTS_SHARE_BYTES];
    weft_rts_t rts = {.bytes = SHARED_BYTES, .request = 77};
    memcpy(payload, &rts, WEFT_RTS_BYTES);
    memcpy(payload + WEFT_RTS_BYTES, share, sizeof(*share));
    weft_header_t header =
        weft_header(WEFT_PACKET_RTS_SHARE, sizeof(payload), weft_comm_world.context, 1);
    weft_packet_arrived(SHARER, header, payload);
}

/* The receive has asked to map the memory, or has ended with an error. */
static void expect_share(const weft_share_t *share, bool is_sound)
{
    static char data[SHARED_BYTES];
    weft_recv_args_t args = {.buf = data,
                             .count = SHARED_BYTES,
                             .type = weft_type_of(MPI_BYTE),
                             .comm = &weft_comm_world,
                             .context = weft_comm_world.context,
                             .source = SHARER,
                             .tag = 1};
    weft_request_t *request;
    assert_int_equal(weft_recv_begin(&args, &request), MPI_SUCCESS);
    mapped = 0;
    share_comes(share);
    assert_int_equal(mapped, is_sound);
    assert_int_equal(request->is_complete, !is_sound);
    if (is_sound)
        wefti_recvs_lose(SHARER); /* it would go on as a stream */
    assert_int_equal(request->status.MPI_ERROR, MPI_ERR_OTHER);
    weft_request_release(request);
}

static void test_shares(void **unused)
{
    (void)unused;
    const weft_share_t good = {
        .owner = SHARER, .base = 4096, .bytes = 6000, .address = 4096 + 1000, .id = 5};
    weft_device_open(&fake_device, weft_device_news);
    endpoints[SHARER].is_on_host = true;
    expect_share(&good, true);
    weft_share_t bad[7];
    for (int i = 0; i < 7; i++)
        bad[i] = good;
    bad[0].address = good.base + 1001; /* the last byte is behind the end */
    bad[1].address = good.base - 1;
    bad[2].bytes = SHARED_BYTES - 1;
    bad[3].bytes = UINT64_MAX; /* the end is beyond all addresses */
    bad[4].address = UINT64_MAX - 10;
    bad[5].owner = SHARER + 1;
    bad[6].base = UINT64_MAX;
    for (int i = 0; i < 7; i++)
        expect_share(&bad[i], false);
    endpoints[SHARER].is_on_host = false;
    expect_share(&good, false);
    weft_device_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shares), cmocka_unit_test(test_split),
                                       cmocka_unit_test(test_split_lost),
                                       cmocka_unit_test(test_malformed)};
    for (int i = 0; i < RANKS; i++) {
        endpoints[i] = (weft_endpoint_t){.link = &fake_link,
                                         .remote = &fake_remotes[i % 2],
                                         .packet_max = PACKET_MAX,
                                         .at_once_max = 512,
                                         .blocking_max = 512,
                                         .eager_max = 512,
                                         .split_max = i == 1 ? 3000 : 0,
                                         .can_get = true};
    }
    if (!open_fake_world(endpoints, RANKS))
        return 1;
    weft_log_threshold = -1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
