/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of daemons, as mpirun takes them. Open fences are static, so the sources are included.
 * fuzz: runs=60000 most=500 of=launch/tree,launch/plan,launch/loop,base
 */
#include "launcher_nodes.h"

#include "launch/mpirun/remote_service.c"
#include "launch/tree/fence_tree.c"

static void close_all(wli_remote_job_t *remote, wl_sinks_t *sinks)
{
    for (weft_link_t *link; (link = weft_list_pop(&remote->fences.open)) != NULL;)
        release_fence(WEFT_ELEMENT(link, fence_t, link));
    wl_fences_close(&remote->fences);
    wl_input_source_close(&remote->input);
    wl_router_close(&remote->router);
    wl_loop_close(remote->base.loop);
    wl_queue_release(&remote->events);
    for (int channel = 0; channel < 2; channel++)
        wl_queue_release(&sinks->sinks[channel].queue);
}

static void check_events(const wli_remote_job_t *remote)
{
    size_t bytes = wl_queue_bytes(&remote->events);
    const char *at = wl_queue_front(&remote->events);
    fuzz_expect(bytes % sizeof(wl_rank_event_t) == 0, "an event is not whole");
    for (; bytes > 0; bytes -= sizeof(wl_rank_event_t), at += sizeof(wl_rank_event_t)) {
        wl_rank_event_t event;
        memcpy(&event, at, sizeof(event));
        fuzz_expect(event.rank >= 0 && event.rank < remote->base.plan->size,
                    "there is no such rank");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    fuzz_input_t input = {data, bytes};
    wl_loop_t loop;
    wl_sinks_t sinks = {0};
    wli_host_state_t hosts[4] = {{.running = 2}, {.running = 1}, {.running = 1}, {.running = 2}};
    static wli_remote_job_t remote;
    remote = (wli_remote_job_t){.base = {.plan = fuzz_plan(), .sinks = &sinks, .loop = &loop},
                                .hosts = hosts};
    fuzz_open_router(0, &loop, &remote.router);
    remote.router.ops = &wli_remote_router_ops;
    remote.router.context = &remote;
    wl_fences_open(wli_remote_placement(&remote), &remote.router, &remote.fences);
    while (input.left > 0) {
        wl_message_t message = fuzz_message(&input);
        wli_remote_router_ops.deliver(&remote, &message);
        free((void *)message.body);
    }
    check_events(&remote);
    close_all(&remote, &sinks);
    return 0;
}
