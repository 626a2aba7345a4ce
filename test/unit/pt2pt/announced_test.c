/* SPDX-License-Identifier: BSD-3-Clause */
/* A short message that is announced and read: what its sender learns of how long it has waited. */
#include "pt2pt/pt2pt_private.h"

#include "pt2pt/fake_world.h"

#include "object/comm.h"
#include "base/clock.h"
#include "base/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 2, PEER = 1, BYTES = 4096 };

/* ---- a transport to a peer that reads what it is told of, and remembers the last packet ---- */

static weft_header_t last;
static char last_payload[256];
static int64_t read_ns, waited_ns;
static int waits;

static bool fake_send(weft_endpoint_t *endpoint, weft_header_t header, const void *payload)
{
    (void)endpoint;
    assert_true(header.bytes <= sizeof(last_payload));
    last = header;
    if (header.bytes > 0)
        memcpy(last_payload, payload, header.bytes);
    return true;
}

static void *fake_reserve(weft_endpoint_t *endpoint, size_t bytes)
{
    (void)endpoint;
    assert_true(bytes <= sizeof(last_payload));
    return last_payload;
}

static void fake_commit(weft_endpoint_t *endpoint, weft_header_t header)
{
    (void)endpoint;
    last = header;
}

static const weft_link_ops_t fake_link = {.send = fake_send,
                                          .reserve = fake_reserve,
                                          .store = weft_plain_store,
                                          .commit = fake_commit,
                                          .flush = weft_no_flush,
                                          .peek = weft_no_peek,
                                          .take = weft_no_take,
                                          .throttle = weft_no_throttle};

static bool fake_read(weft_endpoint_t *endpoint, uint64_t address, void *to, size_t bytes)
{
    (void)endpoint;
    read_ns = weft_clock_ns();
    memcpy(to, (const void *)(uintptr_t)address, bytes);
    return true;
}

static bool fake_prefers_asking(weft_endpoint_t *endpoint, size_t bytes, bool is_blocking)
{
    (void)endpoint, (void)bytes, (void)is_blocking;
    return true;
}

static void fake_note_wait(weft_endpoint_t *endpoint, int64_t ns)
{
    (void)endpoint;
    waited_ns = ns;
    waits++;
}

static const weft_remote_ops_t fake_remote = {.read = fake_read,
                                              .prefers_stream = weft_no_preference,
                                              .stream_over = weft_no_stream_over,
                                              .prefers_asking = fake_prefers_asking,
                                              .note_wait = fake_note_wait,
                                              .note_short = weft_no_note_short,
                                              .register_memory = weft_no_registration,
                                              .deregister_memory = weft_no_deregistration,
                                              .get = weft_no_get,
                                              .takes_device = weft_no_device};

static weft_endpoint_t endpoints[RANKS];

/* ---- tests ---- */

static char data[BYTES];

static int64_t announced_ns(void)
{
    int64_t ns;
    memcpy(&ns, last_payload + WEFT_RTS_BYTES, sizeof(ns));
    return ns;
}

static weft_request_t *announce(bool is_blocking)
{
    weft_send_args_t args = {.buf = data,
                             .count = BYTES,
                             .type = weft_type_of(MPI_BYTE),
                             .comm = &weft_comm_world,
                             .context = weft_comm_world.context,
                             .dest = PEER,
                             .mode = WEFT_SEND_STANDARD,
                             .is_blocking = is_blocking};
    weft_request_t *request;
    assert_int_equal(weft_send_begin(&args, &request), MPI_SUCCESS);
    assert_int_equal(last.kind, WEFT_PACKET_RTS_SHORT);
    return request;
}

static void end(weft_request_t *request, const weft_fin_t *fin)
{
    weft_header_t header = weft_header_for(WEFT_PACKET_FIN, (uint64_t)(uintptr_t)request,
                                           fin == NULL ? 0 : sizeof(*fin));
    weft_packet_arrived(PEER, header, fin);
    assert_true(request->is_complete);
    weft_request_release(request);
}

/* The peer says when it began: the time of its copy, which may be long, does not count. */
static void test_wait(void **state)
{
    (void)state;
    weft_request_t *request = announce(true);
    end(request, &(weft_fin_t){announced_ns() + 3000});
    assert_int_equal(waits, 1);
    assert_int_equal(waited_ns, 3000);
    request = announce(true);
    end(request, NULL);
    request = announce(false);
    end(request, &(weft_fin_t){announced_ns() + 3000});
    assert_int_equal(waits, 1);
}

static void test_reader_tells(void **state)
{
    (void)state;
    static const char source[BYTES] = "announced";
    weft_recv_args_t args = {.buf = data,
                             .count = BYTES,
                             .type = weft_type_of(MPI_BYTE),
                             .comm = &weft_comm_world,
                             .context = weft_comm_world.context,
                             .source = PEER,
                             .tag = 0};
    weft_rts_t rts = {.bytes = BYTES, .address = (uint64_t)(uintptr_t)source, .request = 77};
    char payload[WEFT_RTS_SHORT_BYTES];
    int64_t before_ns = weft_clock_ns();
    weft_request_t *request;
    weft_fin_t fin;
    memcpy(payload, &rts, WEFT_RTS_BYTES);
    memcpy(payload + WEFT_RTS_BYTES, &before_ns, sizeof(before_ns));
    assert_int_equal(weft_recv_begin(&args, &request), MPI_SUCCESS);
    weft_packet_arrived(
        PEER, weft_header(WEFT_PACKET_RTS_SHORT, sizeof(payload), weft_comm_world.context, 0),
        payload);
    assert_true(request->is_complete);
    assert_string_equal(data, source);
    assert_int_equal(last.kind, WEFT_PACKET_FIN);
    assert_int_equal(weft_header_number(&last), 77);
    assert_int_equal(last.bytes, sizeof(fin));
    memcpy(&fin, last_payload, sizeof(fin));
    assert_in_range(fin.began_ns, before_ns, read_ns);
    weft_request_release(request);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_wait),
                                       cmocka_unit_test(test_reader_tells)};
    for (int i = 0; i < RANKS; i++) {
        endpoints[i] = (weft_endpoint_t){.link = &fake_link,
                                         .remote = &fake_remote,
                                         .packet_max = 2048,
                                         .at_once_max = 512,
                                         .blocking_max = 512,
                                         .eager_max = 512,
                                         .split_max = 8192,
                                         .can_read = true};
    }
    if (!open_fake_world(endpoints, RANKS))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
