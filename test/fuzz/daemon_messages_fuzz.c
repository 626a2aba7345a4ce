/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages as a daemon takes them, and requests of its PMIx server between them: the kind ENTER
 * stands for a fence that the server enters, ASK for data that it wants. Messages that would start
 * processes are left out. Open fences are static, so the sources are included.
 * fuzz: runs=60000 most=500 of=launch/tree,launch/plan,launch/loop,base
 */
#include "launcher_nodes.h"

#include "launch/tree/daemon_service.c"
#include "launch/tree/fence_tree.c"

enum { ENTER = 200, ASK };

/* A request of the server of host a; only ranks of the job are in a fence. */
static wl_pmix_request_t *make_request(wli_daemon_t *daemon, const wl_message_t *message)
{
    fuzz_input_t body = {(const uint8_t *)message->body, message->bytes};
    wl_pmix_request_t *request = weft_alloc_zeroed(1, sizeof(*request));
    request->server = &daemon->node.pmix;
    request->kind = message->kind == ENTER ? WL_REQUEST_FENCE : WL_REQUEST_GET;
    request->purpose = (wl_fence_purpose_t)(fuzz_byte(&body) % 3);
    request->timeout_s = fuzz_byte(&body) % 2 * 1000;
    request->rank = (int)fuzz_byte(&body) % 8 - 1;
    request->count = (int)fuzz_byte(&body) % 4;
    request->ranks = weft_alloc_zeroed((size_t)request->count + 1, sizeof(int));
    for (int i = 0; i < request->count; i++)
        request->ranks[i] = (int)fuzz_byte(&body) % 6;
    request->key = weft_strdup("key");
    return request;
}

/* The server enters a fence once, until that has ended. */
static void enter(wli_daemon_t *daemon, wl_pmix_request_t *request)
{
    const fence_key_t key = {request->purpose, request->ranks, request->count};
    const fence_t *fence = find_fence(&daemon->fences, &key);
    if (request->kind == WL_REQUEST_FENCE && fence != NULL && fence->request != NULL)
        wl_pmix_request_release(request);
    else
        wli_daemon_take_request(daemon, request);
}

static void release_list(weft_list_t *list)
{
    for (weft_link_t *link; (link = weft_list_pop(list)) != NULL;)
        wl_pmix_request_release(WEFT_ELEMENT(link, wl_pmix_request_t, link));
}

static void close_all(wli_daemon_t *daemon, int rank_end)
{
    for (weft_link_t *link; (link = weft_list_pop(&daemon->fences.open)) != NULL;) {
        fence_t *fence = WEFT_ELEMENT(link, fence_t, link);
        if (fence->request != NULL)
            wl_pmix_request_release(fence->request);
        release_fence(fence);
    }
    release_list(&daemon->remote_data.asked);
    release_list(&daemon->remote_data.to_come);
    release_list(&daemon->node.pmix.looking_up);
    wl_fences_close(&daemon->fences);
    wl_remote_data_close(&daemon->remote_data);
    wl_input_drain_close(&daemon->input);
    close(rank_end);
    wl_router_close(&daemon->router);
    wl_loop_close(&daemon->loop);
}

static int open_all(wli_daemon_t *daemon)
{
    int rank_end;
    *daemon = (wli_daemon_t){.node = {.plan = fuzz_plan(), .pmix.connection.fd = -1}};
    weft_list_init(&daemon->node.pmix.looking_up);
    fuzz_open_router(1, &daemon->loop, &daemon->router);
    daemon->router.ops = &wli_daemon_router_ops;
    daemon->router.context = daemon;
    daemon->output.router = &daemon->router;
    wl_fences_open(&fuzz_plan()->placement, &daemon->router, &daemon->fences);
    wl_remote_data_open(&fuzz_plan()->placement, &daemon->router, &daemon->node.pmix,
                        &daemon->remote_data);
    fuzz_expect(wl_input_drain_open(&daemon->router, &daemon->input, &rank_end) == MPI_SUCCESS,
                "there is no pipe");
    return rank_end;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    fuzz_input_t input = {data, bytes};
    static wli_daemon_t daemon;
    int rank_end = open_all(&daemon);
    while (input.left > 0) {
        wl_message_t message = fuzz_message(&input);
        if (message.kind == ENTER || message.kind == ASK)
            enter(&daemon, make_request(&daemon, &message));
        else if (message.kind != WL_MSG_START)
            wli_daemon_router_ops.deliver(&daemon, &message);
        free((void *)message.body);
    }
    close_all(&daemon, rank_end);
    return 0;
}
