/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames that a rank of another host sends over TCP, while a get waits and memory is registered.
 * The first byte gives the length of the pieces. Eight bytes "GETGETGE" of the input become the
 * number of the get; "ADDRADDR", "KEYKEYKE" and "ENTRYENT" the address, key and entry of the
 * memory.
 * fuzz: runs=60000 most=1500 of=tcp,net,base
 */
#include "input.h"

#include "base/config.h"
#include "base/log.h"
#include "base/memory.h"
#include "mpi.h"
#include "tcp/tcp.h"
#include "tcp/tcp_private.h"

#include <sys/epoll.h>
#include <sys/socket.h>

enum { GET_BYTES = 300, GUARD = 64, MEMORY_BYTES = 1000, KIND_LANDED = 2, LAND_MOST = 512 };

static unsigned char gotten[GUARD + GET_BYTES + GUARD], landing[LAND_MOST];
static char memory[MEMORY_BYTES];

static void frames_sink(int source, weft_header_t header, const void *payload)
{
    volatile unsigned char last = 0;
    fuzz_expect(source == 1, "a packet is of another rank");
    for (unsigned at = 0; at < header.bytes; at++)
        last = ((const unsigned char *)payload)[at];
    (void)last;
}

static void *land(int source, weft_header_t *header)
{
    (void)source;
    if (header->kind != 1 || header->bytes > LAND_MOST || header->tag % 2 == 0)
        return NULL;
    header->kind = KIND_LANDED;
    return landing;
}

static void get_is_over(weft_get_t *over, bool is_good)
{
    (void)over, (void)is_good;
}

static void memory_is_taken(weft_registration_t *registration)
{
    fuzz_expect(registration->owner == memory, "the owner is another");
}

static void set_up(void)
{
    static weft_net_peer_t *peers[2];
    weft_config_read();
    weft_log_threshold = -1;
    weft_world.size = 2;
    fuzz_expect(weft_processes_open(2, 0) == MPI_SUCCESS, "no memory");
    weft_world.land = land;
    wefti_tcp = (weft_tcp_t){.sink = frames_sink,
                             .listener.fd = -1,
                             .net.at = peers,
                             .net.count = 2,
                             .epoll_fd = epoll_create1(0)};
}

static void replace(uint8_t *stream, size_t bytes, const char *word, uint64_t value)
{
    for (size_t at = 0; at + sizeof(value) <= bytes; at++) {
        if (memcmp(stream + at, word, sizeof(value)) == 0)
            memcpy(stream + at, &value, sizeof(value));
    }
}

static tcp_peer_t *connect_peer(int *other_end)
{
    int ends[2];
    fuzz_expect(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0, "no socket");
    tcp_peer_t *peer = wefti_tcp_peer(1);
    peer->state = TCP_OPEN;
    peer->source = (tcp_source_t){.fd = ends[0], .ready = wefti_tcp_peer_ready};
    peer->header_got = peer->place_got = 0;
    peer->place = NULL;
    peer->rest_found = 0;
    wefti_tcp_watch(&peer->source);
    *other_end = ends[1];
    return peer;
}

static void part(tcp_peer_t *peer, int other_end)
{
    close(other_end);
    while (peer->state == TCP_OPEN)
        wefti_tcp_receive(peer);
    fuzz_expect(peer->source.fd == -1, "a connection does not end");
    wefti_tcp.net.lost = NULL;
    weft_free(peer->net.why);
    peer->net.why = NULL;
    peer->net.is_losing = false;
}

static void feed(tcp_peer_t *peer, int other_end, fuzz_input_t *input, size_t piece)
{
    static char answers[8192];
    while (input->left > 0 && peer->state == TCP_OPEN) {
        size_t now = piece < input->left ? piece : input->left;
        fuzz_expect(write(other_end, input->at, now) == (ssize_t)now, "a socket takes too little");
        input->at += now;
        input->left -= now;
        while (wefti_tcp_receive(peer) > 0 && peer->state == TCP_OPEN)
            ;
        wefti_tcp_flush_dirty();
        wefti_tcp_tell_taken();
        while (read(other_end, answers, sizeof(answers)) > 0)
            ;
    }
}

static void check_guards(void)
{
    for (int i = 0; i < GUARD; i++)
        fuzz_expect(gotten[i] == 0xa5 && gotten[GUARD + GET_BYTES + i] == 0xa5,
                    "bytes beside the buffer of a get are written");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static bool is_set_up;
    static weft_get_t get;
    weft_registration_t registration;
    int other_end;
    if (!is_set_up)
        set_up();
    is_set_up = true;
    tcp_peer_t *peer = connect_peer(&other_end);
    memset(gotten, 0xa5, sizeof(gotten));
    get = (weft_get_t){.endpoint = &peer->net.endpoint,
                       .to = (char *)gotten + GUARD,
                       .bytes = GET_BYTES,
                       .done = get_is_over};
    wefti_tcp_get(&get);
    fuzz_expect(wefti_tcp_register(&peer->net.endpoint, memory, MEMORY_BYTES, NULL, &registration),
                "memory is not registered");
    registration.taken = memory_is_taken;
    registration.owner = memory;
    uint8_t *stream = fuzz_copy(data, bytes);
    replace(stream, bytes, "GETGETGE", (uint64_t)(uintptr_t)get.handle);
    replace(stream, bytes, "ADDRADDR", registration.rkey.address);
    replace(stream, bytes, "KEYKEYKE", registration.rkey.keys[0]);
    replace(stream, bytes, "ENTRYENT", registration.rkey.keys[1]);
    fuzz_input_t input = {stream, bytes};
    size_t piece = 1 + fuzz_byte(&input) * 8;
    feed(peer, other_end, &input, piece);
    part(peer, other_end);
    check_guards();
    wefti_tcp_deregister(&peer->net.endpoint, &registration);
    free(stream);
    return 0;
}
