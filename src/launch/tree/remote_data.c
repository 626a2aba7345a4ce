/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/tree/remote_data.h"

#include "base/clock.h"
#include "base/fail.h"
#include "base/memory.h"
#include "mpi.h"

#include <pmix.h>

enum { MOST_PAUSE_MS = 50 /* between two attempts to find a key */ };

static void ask_host(wl_remote_data_t *data, wl_pmix_request_t *request)
{
    wl_writer_t body = {0};
    if (request->rank < 0 || request->rank >= data->placement->size ||
        (data->is_lost != NULL && data->is_lost[request->rank])) {
        wl_pmix_answer(request, PMIX_ERR_NOT_FOUND, NULL, 0);
        return;
    }
    request->number = data->next_number++;
    request->answer_by_ms = wl_pmix_request_end_ms(request);
    weft_list_append(&data->asked, &request->link);
    wl_timer_hasten(data->router->loop, &data->timer, request->answer_by_ms);
    wl_write_u32(&body, (uint32_t)request->rank);
    wl_write_u64(&body, request->number);
    wl_write_u64(&body, (uint64_t)request->timeout_s);
    wl_write_text(&body, request->key);
    wl_router_send(data->router, WL_MSG_GET, data->placement->host_of[request->rank] + 1, &body);
    wl_writer_release(&body);
}

static void reply(wl_remote_data_t *data, const wl_pmix_request_t *request)
{
    wl_writer_t body = {0};
    wl_write_u64(&body, request->number);
    wl_write_u32(&body, (uint32_t)request->status);
    wl_write_bytes(&body, request->data, request->bytes);
    wl_router_send(data->router, WL_MSG_GOT, request->asker, &body);
    wl_writer_release(&body);
}

static wl_pmix_request_t *find_request(const wl_remote_data_t *data, uint64_t number)
{
    for (weft_link_t *link = data->asked.next; link != &data->asked; link = link->next) {
        wl_pmix_request_t *request = WEFT_ELEMENT(link, wl_pmix_request_t, link);
        if (request->number == number)
            return request;
    }
    return NULL;
}

static void take_question(wl_remote_data_t *data, const wl_message_t *message)
{
    wl_reader_t reader = wl_read_begin(message);
    wl_pmix_request_t *request = weft_alloc_zeroed(1, sizeof(*request));
    if (request == NULL)
        return;
    request->kind = WL_REQUEST_LOOKED_UP;
    request->asker = message->from;
    request->rank = (int)wl_read_u32(&reader);
    request->number = wl_read_u64(&reader);
    request->timeout_s = (int64_t)wl_read_u64(&reader);
    const char *key = wl_read_text(&reader);
    request->key = key == NULL ? NULL : weft_strdup(key);
    request->answer_by_ms = wl_pmix_request_end_ms(request);
    if (reader.has_failed)
        wl_pmix_request_release(request);
    else
        wl_pmix_look_up(data->pmix, request);
}

static void take_answer(wl_remote_data_t *data, const wl_message_t *message)
{
    wl_reader_t reader = wl_read_begin(message);
    wl_pmix_request_t *request = find_request(data, wl_read_u64(&reader));
    int status = (int)wl_read_u32(&reader);
    if (reader.has_failed ||
        request == NULL) /* too late: the request was answered with a time-out */
        return;
    weft_list_remove(&request->link);
    wl_pmix_answer(request, status, reader.at, reader.left);
}

/* Answer requests of `asked` with a time-out whose time is up; returns when the next one is due. */
static int64_t check_asked(wl_remote_data_t *data, int64_t now)
{
    int64_t next = INT64_MAX;
    for (weft_link_t *link = data->asked.next, *after; link != &data->asked; link = after) {
        wl_pmix_request_t *request = WEFT_ELEMENT(link, wl_pmix_request_t, link);
        after = link->next;
        if (request->answer_by_ms <= now) {
            weft_list_remove(link);
            wl_pmix_answer(request, PMIX_ERR_TIMEOUT, NULL, 0);
        } else if (request->answer_by_ms < next) {
            next = request->answer_by_ms;
        }
    }
    return next;
}

static int64_t check_to_come(wl_remote_data_t *data, int64_t now)
{
    int64_t next = INT64_MAX;
    for (weft_link_t *link = data->to_come.next, *after; link != &data->to_come; link = after) {
        wl_pmix_request_t *request = WEFT_ELEMENT(link, wl_pmix_request_t, link);
        after = link->next;
        if (request->try_at_ms > now) {
            next = request->try_at_ms < next ? request->try_at_ms : next;
            continue;
        }
        weft_list_remove(link);
        if (request->answer_by_ms <= now)
            wl_pmix_request_release(request); /* the host that asked has answered its client with a
                                           * time-out */
        else
            wl_pmix_look_up(data->pmix, request);
    }
    return next;
}

static void data_time_is_up(void *owner)
{
    wl_remote_data_t *data = owner;
    int64_t now = weft_clock_ms();
    int64_t next = check_asked(data, now), other = check_to_come(data, now);
    wl_timer_set(data->router->loop, &data->timer, other < next ? other : next);
}

void wl_remote_data_open(const wl_placement_t *placement, wl_router_t *router,
                         wl_pmix_server_t *pmix, wl_remote_data_t *out)
{
    *out = (wl_remote_data_t){.placement = placement, .router = router, .pmix = pmix};
    weft_list_init(&out->asked);
    weft_list_init(&out->to_come);
    wl_timer_init(&out->timer, data_time_is_up, out);
}

static void release_requests(weft_list_t *list)
{
    while (list->next != NULL && !weft_list_is_empty(list))
        wl_pmix_request_release(WEFT_ELEMENT(weft_list_pop(list), wl_pmix_request_t, link));
}

void wl_remote_data_close(wl_remote_data_t *data)
{
    wl_timer_stop(&data->timer);
    release_requests(&data->asked);
    release_requests(&data->to_come);
    weft_free(data->is_lost);
    data->is_lost = NULL;
}

void wl_remote_data_enter(wl_remote_data_t *data, wl_pmix_request_t *request)
{
    if (request->kind == WL_REQUEST_GET) {
        ask_host(data, request);
        return;
    }
    if (request->status == PMIX_ERR_NOT_FOUND && request->key != NULL) {
        /* PMIx does not say when a rank commits, so look again after a pause. */
        request->tries++;
        int64_t pause_ms = request->tries < MOST_PAUSE_MS ? request->tries : MOST_PAUSE_MS;
        request->try_at_ms = weft_clock_ms() + pause_ms;
        weft_list_append(&data->to_come, &request->link);
        wl_timer_hasten(data->router->loop, &data->timer, request->try_at_ms);
        return;
    }
    reply(data, request);
    wl_pmix_request_release(request);
}

void wl_remote_data_lose(wl_remote_data_t *data, int rank)
{
    if (data->is_lost == NULL)
        data->is_lost = weft_alloc_zeroed((size_t)data->placement->size, sizeof(bool));
    if (data->is_lost != NULL)
        data->is_lost[rank] = true;
    for (weft_link_t *link = data->asked.next, *after; link != &data->asked; link = after) {
        wl_pmix_request_t *request = WEFT_ELEMENT(link, wl_pmix_request_t, link);
        after = link->next;
        if (request->rank != rank)
            continue;
        weft_list_remove(link);
        wl_pmix_answer(request, PMIX_ERR_NOT_FOUND, NULL, 0);
    }
}

void wl_remote_data_take(wl_remote_data_t *data, const wl_message_t *message)
{
    if (message->kind == WL_MSG_GET)
        take_question(data, message);
    else
        take_answer(data, message);
}
