/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The TCPStore of torch, as far as it is needed to put and get one value. torchrun's agent has one
 * at MASTER_PORT, and so has rank 0 of a program that has called init_process_group. Measured with
 * torch 2.15, both of its servers; numbers are little-endian, a text is | uint64_t bytes | text |:
 *
 *   VALIDATE  | 0 | uint32_t magic |             no reply; must come first
 *   PING      | 13 | uint32_t number |           -> | uint32_t number |
 *   SET       | 1 | key | value |                no reply
 *   CHECK     | 5 | uint64_t keys | key |        -> | uint8_t 0: all are there |
 *   GET       | 3 | key |                        -> | value |   only where the key is there
 */
#include "pmi/torch_store_private.h"

#include "base/clock.h"
#include "base/fail.h"
#include "base/memory.h"
#include "mpi.h"
#include "mpix.h"
#include "pmi/hub_private.h"

#include <endian.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    SET = 1,
    GET = 3,
    CHECK = 5,
    PING = 13,
    TEXT_BYTES = 512, /* of a key, with the prefix */
    HEAD_BYTES = 16,
};

static const uint32_t store_magic = 0x3C85F7CE;

/* What is sent at once. */
typedef struct request {
    uint8_t bytes[MPIX_BOOTSTRAP_VALUE_MAX + TEXT_BYTES + 4 * HEAD_BYTES];
    size_t used;
} store_request_t;

static void request_add(store_request_t *request, const void *data, size_t bytes)
{
    memcpy(request->bytes + request->used, data, bytes);
    request->used += bytes;
}

static void add_word(store_request_t *request, uint8_t word)
{
    request_add(request, &word, sizeof(word));
}

static void add_text(store_request_t *request, const void *data, size_t bytes)
{
    uint64_t sent = htole64(bytes);
    request_add(request, &sent, sizeof(sent));
    request_add(request, data, bytes);
}

static void add_validation(store_request_t *request)
{
    uint32_t sent = htole32(store_magic);
    add_word(request, 0);
    request_add(request, &sent, sizeof(sent));
}

static void add_ping(store_request_t *request)
{
    uint32_t sent = htole32(store_magic);
    add_word(request, PING);
    request_add(request, &sent, sizeof(sent));
}

static bool send_request(int fd, const store_request_t *request)
{
    return send(fd, request->bytes, request->used, MSG_NOSIGNAL) == (ssize_t)request->used;
}

/* Connect, and have the other side show that it is a store. */
static bool torch_store_open(const weft_torch_store_t *store, int *fd_out)
{
    store_request_t request = {.used = 0};
    uint32_t number = 0;
    int fd;
    if (!wefti_hub_dial(store->address, store->port, &fd))
        return false;
    add_validation(&request);
    add_ping(&request);
    if (send_request(fd, &request) && wefti_hub_receive(fd, &number, sizeof(number)) &&
        le32toh(number) == store_magic) {
        *fd_out = fd;
        return true;
    }
    close(fd);
    return false;
}

bool weft_torch_store_is_there(const weft_torch_store_t *store)
{
    int fd;
    if (!torch_store_open(store, &fd))
        return false;
    close(fd);
    return true;
}

static size_t name_key(const weft_torch_store_t *store, const char *key, char out[TEXT_BYTES])
{
    int length = snprintf(out, TEXT_BYTES, "/%s/%s", store->prefix, key);
    return length < TEXT_BYTES ? (size_t)length : TEXT_BYTES - 1;
}

int weft_torch_store_put(void *state, const char *key, const void *data, size_t bytes)
{
    const weft_torch_store_t *store = state;
    store_request_t request = {.used = 0};
    char name[TEXT_BYTES];
    uint32_t number;
    int fd;
    if (!torch_store_open(store, &fd))
        return MPIX_BOOTSTRAP_FAILED;
    add_word(&request, SET);
    add_text(&request, name, name_key(store, key, name));
    add_text(&request, data, bytes);
    add_ping(&request); /* its reply says that the value has been taken */
    bool is_put = send_request(fd, &request) && wefti_hub_receive(fd, &number, sizeof(number));
    close(fd);
    return is_put ? 0 : MPIX_BOOTSTRAP_FAILED;
}

static bool read_value(int fd, void *out, size_t room, size_t *bytes_out)
{
    uint64_t bytes;
    if (!wefti_hub_receive(fd, &bytes, sizeof(bytes)) || le64toh(bytes) > room)
        return false;
    *bytes_out = le64toh(bytes);
    return wefti_hub_receive(fd, out, *bytes_out);
}

/* MPIX_BOOTSTRAP_ABSENT: not yet */
static int ask_once(const weft_torch_store_t *store, int fd, const char *key,
                    weft_torch_value_t *out)
{
    store_request_t check = {.used = 0}, get = {.used = 0};
    char name[TEXT_BYTES];
    size_t length = name_key(store, key, name);
    uint64_t one = htole64(1);
    uint8_t answer;
    add_word(&check, CHECK);
    request_add(&check, &one, sizeof(one));
    add_text(&check, name, length);
    if (!send_request(fd, &check) || !wefti_hub_receive(fd, &answer, sizeof(answer)))
        return MPIX_BOOTSTRAP_FAILED;
    if (answer != 0)
        return MPIX_BOOTSTRAP_ABSENT;
    add_word(&get, GET);
    add_text(&get, name, length);
    return send_request(fd, &get) && read_value(fd, out->data, out->room, &out->bytes)
               ? 0
               : MPIX_BOOTSTRAP_FAILED;
}

int weft_torch_store_get(void *state, const char *key, int limit_ms, void *out, size_t room,
                         size_t *bytes_out)
{
    enum { PAUSE_MOST_MS = 200 };
    weft_torch_value_t value = {.data = out, .room = room};
    int64_t until_ms = weft_clock_ms() + limit_ms;
    int fd, result = MPIX_BOOTSTRAP_ABSENT;
    if (!torch_store_open(state, &fd))
        return MPIX_BOOTSTRAP_ABSENT; /* the agent may still start */
    for (int ms = 2; result == MPIX_BOOTSTRAP_ABSENT; ms += ms < PAUSE_MOST_MS ? ms : 0) {
        result = ask_once(state, fd, key, &value);
        if (result != MPIX_BOOTSTRAP_ABSENT || weft_clock_ms() >= until_ms)
            break;
        nanosleep(&(struct timespec){.tv_nsec = ms * 1000000L}, NULL);
    }
    close(fd);
    if (result == 0)
        *bytes_out = value.bytes;
    return result;
}
