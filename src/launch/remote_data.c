/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/remote_data.h"

#include "base/fail.h"
#include "base/memory.h"
#include "launch/launch_clock.h"
#include "mpi.h"

#include <limits.h>
#include <pmix.h>

void weft_remote_data_open(const weft_placement_t *placement, weft_relay_t *relay,
                           weft_remote_data_t *out)
{
    *out = (weft_remote_data_t){.placement = placement, .relay = relay};
    weft_list_init(&out->asked);
}

static void ask(weft_remote_data_t *data, weft_request_t *request)
{
    weft_writer_t body = {0};
    if (request->rank < 0 || request->rank >= data->placement->size) {
        weft_exchange_answer(request, PMIX_ERR_NOT_FOUND, NULL, 0);
        return;
    }
    request->number = data->next_number++;
    request->answer_by_ms =
        request->timeout_s > 0 ? weft_now_ms() + request->timeout_s * 1000 : INT64_MAX;
    weft_list_append(&data->asked, &request->link);
    weft_write_u32(&body, (uint32_t)request->rank);
    weft_write_u64(&body, request->number);
    weft_relay_send(data->relay, WEFT_MSG_FETCH, data->placement->host_of[request->rank] + 1,
                    &body);
    weft_writer_release(&body);
}

static void reply(weft_remote_data_t *data, const weft_request_t *request)
{
    weft_writer_t body = {0};
    weft_write_u64(&body, request->number);
    weft_write_u32(&body, (uint32_t)request->status);
    weft_write_bytes(&body, request->data, request->bytes);
    weft_relay_send(data->relay, WEFT_MSG_FETCHED, request->asker, &body);
    weft_writer_release(&body);
}

void weft_remote_data_enter(weft_remote_data_t *data, weft_request_t *request)
{
    if (request->kind == WEFT_FETCH) {
        ask(data, request);
        return;
    }
    reply(data, request);
    weft_exchange_release(request);
}

static weft_request_t *find(const weft_remote_data_t *data, uint64_t number)
{
    for (weft_link_t *link = data->asked.next; link != &data->asked; link = link->next) {
        weft_request_t *request = WEFT_ELEMENT(link, weft_request_t, link);
        if (request->number == number)
            return request;
    }
    return NULL;
}

static void take_question(const weft_message_t *message)
{
    weft_reader_t reader = weft_read_begin(message);
    int rank = (int)weft_read_u32(&reader);
    uint64_t number = weft_read_u64(&reader);
    if (!reader.has_failed)
        weft_exchange_look_up(rank, message->from, number);
}

static void take_answer(weft_remote_data_t *data, const weft_message_t *message)
{
    weft_reader_t reader = weft_read_begin(message);
    weft_request_t *request = find(data, weft_read_u64(&reader));
    int status = (int)weft_read_u32(&reader);
    if (reader.has_failed || request == NULL) /* too late: its time was up */
        return;
    weft_list_remove(&request->link);
    weft_exchange_answer(request, status, reader.at, reader.left);
}

void weft_remote_data_take(weft_remote_data_t *data, const weft_message_t *message)
{
    if (message->kind == WEFT_MSG_FETCH)
        take_question(message);
    else
        take_answer(data, message);
}

int weft_remote_data_check_clock(weft_remote_data_t *data)
{
    int64_t now = weft_now_ms(), next = INT64_MAX;
    for (weft_link_t *link = data->asked.next, *after; link != &data->asked; link = after) {
        weft_request_t *request = WEFT_ELEMENT(link, weft_request_t, link);
        after = link->next;
        if (request->answer_by_ms <= now) {
            weft_list_remove(link);
            weft_exchange_answer(request, PMIX_ERR_TIMEOUT, NULL, 0);
        } else if (request->answer_by_ms < next) {
            next = request->answer_by_ms;
        }
    }
    return next == INT64_MAX ? -1 : next - now > INT_MAX ? INT_MAX : (int)(next - now);
}
