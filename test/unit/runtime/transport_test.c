/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of transports are complete, and their functions for what a transport cannot do return
 * that it is not possible. */
#include "runtime/transport.h"

#include "ofi/ofi.h"
#include "shm/shm.h"
#include "tcp/tcp.h"
#include "runtime/world.h"
#include "mpi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void check_link(const weft_link_ops_t *link)
{
    assert_non_null(link->send);
    assert_non_null(link->reserve);
    assert_non_null(link->commit);
    assert_non_null(link->flush);
    assert_non_null(link->throttle);
}

static void check_remote(const weft_remote_ops_t *remote)
{
    assert_non_null(remote->read);
    assert_non_null(remote->prefers_stream);
    assert_non_null(remote->stream_over);
    assert_non_null(remote->prefers_asking);
    assert_non_null(remote->note_wait);
    assert_non_null(remote->note_short);
    assert_non_null(remote->register_memory);
    assert_non_null(remote->deregister_memory);
    assert_non_null(remote->get);
    assert_non_null(remote->takes_device);
}

static void transports_are_complete(void **state)
{
    static const weft_transport_ops_t *const all[] = {&weft_self_transport, &weft_shm_transport,
                                                      &weft_ofi_transport, &weft_tcp_transport};
    (void)state;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        assert_non_null(all[i]->name);
        assert_non_null(all[i]->open);
        assert_non_null(all[i]->reach);
        assert_non_null(all[i]->describe);
        assert_non_null(all[i]->quiesce);
        assert_non_null(all[i]->close);
    }
}

static void ignore_packet(int source, weft_header_t header, const void *payload)
{
    (void)source;
    (void)header;
    (void)payload;
}

static void endpoints_are_complete(void **state)
{
    (void)state;
    weft_world.size = 1;
    assert_int_equal(weft_processes_open(1, 0), MPI_SUCCESS);
    assert_int_equal(weft_self_transport.open(&weft_world, ignore_packet), MPI_SUCCESS);
    check_link(weft_process_reached(0)->link);
    check_remote(weft_process_reached(0)->remote);
    for (int i = 0; i < WEFT_UPPER_BYTES; i++)
        assert_int_equal(weft_process_reached(0)->upper[i], 0);
}

static int gets_failed;

static void note_failure(weft_get_t *get, bool is_good)
{
    (void)get;
    gets_failed += !is_good;
}

static void what_cannot_be_done_says_so(void **state)
{
    weft_endpoint_t endpoint = {.remote = &weft_no_remote, .can_read = true}, *reached;
    weft_registration_t registration;
    weft_get_t get = {.endpoint = &endpoint, .done = note_failure};
    char byte = 0;
    (void)state;
    check_remote(&weft_no_remote);
    assert_false(weft_no_remote.read(&endpoint, 0, &byte, 1));
    assert_false(endpoint.can_read);
    assert_false(weft_no_remote.register_memory(&endpoint, &byte, 1, NULL, &registration));
    assert_false(weft_no_remote.takes_device(NULL));
    weft_no_remote.get(&get);
    assert_int_equal(gets_failed, 1);
    assert_int_equal(weft_no_reach(0, &reached), MPI_ERR_UNSUPPORTED_OPERATION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transports_are_complete),
        cmocka_unit_test(endpoints_are_complete),
        cmocka_unit_test(what_cannot_be_done_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
