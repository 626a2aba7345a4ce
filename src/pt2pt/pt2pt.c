/* SPDX-License-Identifier: BSD-3-Clause */
#include "pt2pt/bsend.h"
#include "pt2pt/device_private.h"
#include "pt2pt/vci_dense.h"
#include "pt2pt/pt2pt_events.h"

#include "runtime/failures.h"
#include "runtime/progress.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/log.h"
#include "mpi.h"

#include <stdio.h>
#include <string.h>

weft_pt2pt_t wefti_pt2pt;

int weft_pt2pt_open(void)
{
    wefti_pt2pt = (weft_pt2pt_t){0};
    for (int vci = 0; vci < WEFT_VCIS; vci++) {
        weft_match_init(&wefti_pt2pt.vcis[vci].receives, false);
        weft_match_init(&wefti_pt2pt.vcis[vci].messages, true);
    }
    wefti_precvs_open();
    weft_world_set_watchful(weft_config.RECOVERY);
    weft_device_freed = wefti_device_tell_freed;
    return weft_bsend_open();
}

void wefti_note_idle(void)
{
    wefti_pt2pt.is_out = wefti_sends_are_out();
    wefti_pt2pt.is_idle = wefti_pt2pt.active_sends == 0 && wefti_pt2pt.is_out;
}

static void await_noted(const bool *flag)
{
    for (wefti_note_idle(); !*flag; wefti_note_idle()) /* an answer may have found no room since */
        weft_progress_until(flag);
}

/* A rank that saw this one stay may have announced a short message, and waits until it is read.
 * None does so once this one shows that it leaves. */
static void fetch_last_messages(void)
{
    atomic_thread_fence(memory_order_seq_cst);
    while (weft_progress() > 0)
        continue;
    wefti_messages_fetch();
}

int weft_pt2pt_await_idle(bool is_end)
{
    if (is_end) {
        weft_device_freed = NULL;
        wefti_sends_forget_hints();
    }
    wefti_pt2pt.is_ending = true;
    wefti_messages_fetch();
    await_noted(&wefti_pt2pt.is_out);
    weft_world_leave(is_end && wefti_sends_are_announced() ? WEFT_ENDS : WEFT_LEAVES);
    fetch_last_messages();
    await_noted(&wefti_pt2pt.is_idle);
    if (is_end)
        weft_world_leave(WEFT_ENDS);
    if (wefti_pt2pt.unseen == 0)
        return MPI_SUCCESS;
    int more = wefti_pt2pt.unseen - 1;
    wefti_pt2pt.unseen = 0;
    return more == 0 ? weft_fail(MPI_ERR_OTHER, "%s", wefti_pt2pt.unseen_text)
                     : weft_fail(MPI_ERR_OTHER, "%s (and %d more)", wefti_pt2pt.unseen_text, more);
}

weft_packet_error_t wefti_packet_error(const weft_request_t *request)
{
    weft_packet_error_t packet_error = {.error_class = request->status.MPI_ERROR};
    snprintf(packet_error.text, sizeof(packet_error.text), "rank %d: %s", weft_world.rank,
             request->why == NULL ? "no memory to say what failed" : request->why);
    return packet_error;
}

void wefti_note_packet_error(weft_request_t *request, const void *payload, size_t bytes)
{
    weft_packet_error_t packet_error;
    if (bytes != sizeof(packet_error)) {
        weft_request_note_error(request, weft_fail(MPI_ERR_INTERN, "a malformed packet"));
        return;
    }
    memcpy(&packet_error, payload, sizeof(packet_error));
    packet_error.text[sizeof(packet_error.text) - 1] = '\0';
    weft_request_note_error(request, weft_fail(packet_error.error_class, "%s", packet_error.text));
}

static void note_lost(const char *why, bool is_expected)
{
    if (!is_expected)
        WEFT_LOG(weft_config.RECOVERY ? WEFT_INFO : WEFT_WARN, "pt2pt", "%s", why);
    snprintf(wefti_pt2pt.lost_text, sizeof(wefti_pt2pt.lost_text), "%s", why);
    wefti_pt2pt.lost_peers++;
    wefti_pt2pt.has_trouble = true;
    weft_world.has_lost = weft_world.has_lost || !is_expected;
    weft_vcis_shut();
}

static void lose_endpoint(weft_endpoint_t *endpoint)
{
    endpoint->is_lost = true;
    wefti_sends_lose(endpoint);
    wefti_cancels_lose(endpoint);
}

/* A rank without an endpoint gets one here, so that later receives find that it is lost. */
void weft_pt2pt_peer_lost(int process, const char *why)
{
    weft_endpoint_t *endpoint = weft_process_reached(process);
    bool is_expected = endpoint != NULL && endpoint->rests;
    if (weft_has_failed(process))
        return;
    note_lost(why, is_expected);
    WEFT_EVENT(weft_peer_lost_event, NULL, .rank = weft_process_rank(process),
               .is_expected = is_expected);
    if (weft_config.RECOVERY && !is_expected) {
        wefti_process_failed(process, why);
        return;
    }
    endpoint = weft_process_endpoint(process);
    if (endpoint != NULL)
        lose_endpoint(endpoint);
    wefti_recvs_lose(process);
    wefti_precvs_lose(process);
    wefti_probes_wake();
    wefti_note_idle();
}

void weft_pt2pt_network_lost(const char *why)
{
    note_lost(why, false);
    WEFT_EVENT(weft_peer_lost_event, NULL, .rank = MPI_ANY_SOURCE, .is_expected = false);
    wefti_pt2pt.is_network_lost = true;
    for (int process = 0; process < weft_processes.count; process++) {
        weft_endpoint_t *endpoint = weft_process_reached(process);
        if (endpoint != NULL && !endpoint->is_on_host)
            lose_endpoint(endpoint);
    }
    wefti_recvs_lose(MPI_ANY_SOURCE);
    wefti_precvs_lose(MPI_ANY_SOURCE);
    wefti_probes_wake();
    wefti_note_idle();
}

void weft_pt2pt_close(void)
{
    weft_device_freed = NULL;
    for (int vci = 0; vci < WEFT_VCIS; vci++)
        weft_match_close(&wefti_pt2pt.vcis[vci].receives);
    wefti_failed_close();
    wefti_sends_close();
    wefti_recvs_close();
    wefti_messages_close();
    wefti_exchanges_close();
    wefti_cancels_close();
    wefti_psends_close();
    wefti_precvs_close();
    wefti_device_sends_close();
    wefti_device_recvs_close();
    wefti_chunks_close();
}

int weft_request_finish(weft_request_t *request, MPI_Status *status)
{
    weft_request_wait(request);
    weft_status_copy(status, &request->status);
    int err = weft_request_result(request);
    weft_request_release(request);
    return err;
}
