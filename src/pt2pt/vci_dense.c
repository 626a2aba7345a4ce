/* SPDX-License-Identifier: BSD-3-Clause */
#include "pt2pt/vci_dense.h"
#include "pt2pt/pt2pt_private.h"
#include "pt2pt/pt2pt_events.h"
#include "pt2pt/pt2pt_pvars.h"

#include "runtime/lock.h"
#include "runtime/progress.h"
#include "runtime/wait_pvars.h"
#include "base/clock.h"
#include "base/copy.h"
#include "base/cpu.h"

enum {
    SPARES = 32,          /* messages that wait for a receive, of a VCI */
    MEMBERS_POLLED = 8,   /* of a communicator, for a message from any */
    WAIT_NS = 2000,       /* without the library's lock */
    WAIT_SHORT_NS = 500,  /* the same where cores are short */
    PAUSES = 4,           /* between two rounds of looks */
    ENDS_PER_ROUND = 256, /* of progress with all */
    VAIN_MOST = 16,       /* looks for messages that did not come, before waits by this lock */
    VAIN_SKIPPED = 64,    /* are left out, but for one of so many */
};

/* Does a tool want to hear of messages, may they be in device memory, or have packets to other
 * hosts to go out, as they do in each wait? */
static bool is_watched(void)
{
    const uintptr_t *news = __atomic_load_n(&weft_device_news, __ATOMIC_RELAXED);
    return *news != 0 || weft_progress_holds() ||
           __atomic_load_n(&weft_traffic_watched, __ATOMIC_RELAXED) != 0 ||
           __atomic_load_n(&weft_match_attempts.watched, __ATOMIC_RELAXED) != 0 ||
           __atomic_load_n(&weft_waits.watched, __ATOMIC_RELAXED) != 0;
}

/* Does anybody want to hear of a message that comes before its receive? */
static bool are_arrivals_watched(void)
{
    return atomic_load_explicit(&wefti_probes_waiting, memory_order_relaxed) != 0 ||
           __atomic_load_n(&wefti_unexpected.queue.watched, __ATOMIC_RELAXED) != 0 ||
           __atomic_load_n(&weft_unexpected_message_event.heard, __ATOMIC_RELAXED) != 0;
}

/* Takes the lock of the VCI; NULL: this cannot be done with it alone. */
static weft_matching_t *take_open(int vci)
{
    weft_matching_t *at = &wefti_pt2pt.vcis[vci];
    if (__builtin_expect(is_watched(), 0))
        return NULL;
    weft_vci_take(vci);
    if (__builtin_expect(at->is_open, 1))
        return at;
    weft_vci_give(vci);
    return NULL;
}

/* ---- messages that come ---- */

/* weft_group_rank_of() may have to make a table. */
static int rank_of(const weft_comm_t *comm, int process)
{
    int rank = 0;
    while (weft_comm_process(comm, rank) != process)
        rank++;
    return rank;
}

static void copy_message(void *to, const void *payload, size_t bytes)
{
    if (bytes <= WEFT_COPY_SMALL)
        weft_copy_small(to, payload, bytes);
    else
        weft_copy_read(to, payload, bytes);
}

/* The receive is over, but for is_complete. */
static void fill_recv(weft_recv_t *recv, const weft_match_key_t *from, size_t bytes,
                      const void *payload)
{
    copy_message(recv->args.buf, payload, bytes);
    recv->request.status.MPI_SOURCE = recv->args.source != MPI_ANY_SOURCE
                                          ? recv->args.source
                                          : rank_of(recv->args.comm, from->source);
    recv->request.status.MPI_TAG = from->tag;
    weft_status_set_bytes(&recv->request.status, bytes);
}

/* Keeps a message until a receive is begun. */
static bool keep(weft_matching_t *at, const weft_match_key_t *key, size_t bytes,
                 const void *payload)
{
    weft_message_t *message = at->spares;
    if (message == NULL || bytes > sizeof(message->room) || at->messages.is_binned ||
        are_arrivals_watched())
        return false;
    at->spares = message->next_spare;
    at->arrivals++;
    message->entry.key = *key;
    message->rts.bytes = bytes;
    copy_message(message->room, payload, bytes);
    weft_match_append(&at->messages, &message->entry);
    return true;
}

/* False: it takes the library's lock. */
static bool deliver(weft_matching_t *at, int source, weft_header_t header, const void *payload)
{
    weft_match_key_t key = {header.context, source, header.tag};
    weft_match_entry_t *entry = weft_match_first(&at->receives, &key);
    if (entry == NULL && at->receives.count > 0)
        entry = weft_match_find(&at->receives, key);
    if (entry == NULL)
        return keep(at, &key, header.bytes, payload);
    weft_recv_t *recv = WEFT_ELEMENT(entry, weft_recv_t, entry);
    if (!recv->is_plain || header.bytes > recv->capacity || !weft_request_is_simple(&recv->request))
        return false;
    weft_match_remove(&at->receives, entry);
    recv->is_queued = false;
    fill_recv(recv, &key, header.bytes, payload);
    weft_request_complete_by_vci(&recv->request);
    return true;
}

/* Takes what has come from a process, until the receive is over; false: it takes the library's
 * lock. A look at an empty slot holds up its sender, so there are no more than are needed. */
static bool drain(weft_matching_t *at, const weft_recv_t *recv, int process, int vci)
{
    weft_endpoint_t *reached = weft_process_reached(process);
    if (process == weft_processes.self || reached == NULL)
        return true;
    weft_endpoint_t *endpoint = weft_endpoint_of_vci(reached, vci);
    weft_header_t header;
    const void *payload;
    while (!weft_request_is_complete(&recv->request) &&
           endpoint->link->peek(endpoint, &header, &payload)) {
        if (header.kind != WEFT_PACKET_EAGER || !deliver(at, process, header, payload))
            return false;
        endpoint->link->take(endpoint, header.bytes);
    }
    return true;
}

/* What a receive in the VCI waits for, and where to look for it. */
static bool drain_for(weft_matching_t *at, const weft_recv_t *recv, int vci)
{
    const weft_comm_t *comm = recv->args.comm;
    if (recv->args.source != MPI_ANY_SOURCE)
        return drain(at, recv, recv->entry.key.source, vci);
    bool is_good = comm->size <= MEMBERS_POLLED;
    for (int rank = 0; is_good && rank < comm->size; rank++)
        is_good = drain(at, recv, weft_comm_process(comm, rank), vci);
    return is_good;
}

/* Does the message come from another thread, which needs the lock? */
static bool is_to_come_from_here(const weft_recv_t *recv)
{
    return recv->args.source != MPI_ANY_SOURCE && recv->entry.key.source == weft_processes.self;
}

/* Looks for about a microsecond, or once, as long as the receive is not over. */
static bool look_for(weft_matching_t *at, const weft_recv_t *recv, int vci, bool waits)
{
    bool is_good = drain_for(at, recv, vci);
    if (!is_good || !waits || is_to_come_from_here(recv) ||
        weft_request_is_complete(&recv->request))
        return is_good;
    weft_looks_t looks = weft_progress_looks();
    int between = wefti_pauses_between(at, looks);
    weft_cpu_pause(looks.first);
    for (int i = 0; i < looks.most && is_good && !weft_request_is_complete(&recv->request); i++) {
        weft_cpu_pause(between);
        is_good = drain_for(at, recv, vci);
    }
    return is_good;
}

/* To be called once in a while: a program may do nothing but receive here. */
static void progress_with_all(void)
{
    weft_lock_take();
    weft_progress();
    weft_lock_give();
}

/* ---- sending ---- */

/* `at`: this rank sends to itself. */
static bool push(weft_endpoint_t *endpoint, weft_header_t header, const void *buf,
                 weft_matching_t *at)
{
    if (header.bytes > endpoint->at_once_max || endpoint->obstacles != 0)
        return false;
    return at != NULL ? deliver(at, weft_processes.self, header, buf)
                      : endpoint->link->send(endpoint, header, buf);
}

bool weft_vci_send(const void *buf, weft_dense_message_t message, int dest, int tag,
                   weft_request_t **sent)
{
    uint32_t context = message.comm->context;
    int vci = weft_vci_of(context), process = weft_comm_process(message.comm, dest);
    weft_endpoint_t *reached = weft_process_reached(process);
    weft_matching_t *at = reached == NULL ? NULL : take_open(vci);
    if (at == NULL)
        return false;
    bool is_sent = (sent == NULL || wefti_sent_is_prepared(vci)) &&
                   push(weft_endpoint_of_vci(reached, vci), weft_dense_header(message, tag), buf,
                        process == weft_processes.self ? at : NULL);
    if (is_sent && sent != NULL)
        *sent = weft_sent_take(reached, context, tag);
    else if (is_sent)
        weft_sent_note(reached, context, tag);
    weft_vci_give(vci);
    return is_sent;
}

/* ---- receiving ---- */

/* A message that may go straight to the program. */
typedef struct awaited {
    void *buf;
    weft_dense_message_t message;
    int tag;
    bool waits; /* for about a microsecond */
} awaited_t;

/* The next packet of a process, if it comes soon. */
static bool peek_soon(const weft_matching_t *at, weft_endpoint_t *endpoint, weft_header_t *header,
                      const void **payload)
{
    bool is_there = endpoint->link->peek(endpoint, header, payload);
    if (is_there)
        return true;
    weft_looks_t looks = weft_progress_looks();
    int between = wefti_pauses_between(at, looks);
    weft_cpu_pause(looks.first);
    for (int i = 0; !is_there && i < looks.most; i++) {
        is_there = endpoint->link->peek(endpoint, header, payload);
        weft_cpu_pause(is_there ? 0 : between);
    }
    return is_there;
}

/* Takes the next message of a process. *out: its status, but for the source. */
static bool take_next(const weft_matching_t *at, weft_endpoint_t *endpoint,
                      const awaited_t *awaited, MPI_Status *out)
{
    weft_header_t header;
    const void *payload;
    bool is_there = awaited->waits ? peek_soon(at, endpoint, &header, &payload)
                                   : endpoint->link->peek(endpoint, &header, &payload);
    if (!is_there || header.kind != WEFT_PACKET_EAGER ||
        !wefti_is_taken_so(header, awaited->message, awaited->tag))
        return false;
    copy_message(awaited->buf, payload, header.bytes);
    endpoint->link->take(endpoint, header.bytes);
    *out = (MPI_Status){.MPI_TAG = header.tag};
    weft_status_set_bytes(out, header.bytes);
    return true;
}

bool weft_vci_recv_now(void *buf, weft_dense_message_t message, int source, int tag,
                       MPI_Status *status)
{
    int vci = weft_vci_of(message.comm->context), process = weft_processes.self;
    if (source != MPI_ANY_SOURCE)
        process = weft_comm_process(message.comm, source);
    weft_endpoint_t *reached = weft_process_reached(process);
    bool may_come = process != weft_processes.self && reached != NULL;
    weft_matching_t *at = may_come ? take_open(vci) : NULL;
    if (at == NULL)
        return false;
    MPI_Status own;
    awaited_t awaited = {buf, message, tag, true};
    bool is_turn = ++at->ends % ENDS_PER_ROUND == 0;
    bool is_taken = at->receives.count == 0 && at->messages.count == 0 &&
                    take_next(at, weft_endpoint_of_vci(reached, vci), &awaited, &own);
    weft_vci_give(vci);
    if (is_turn)
        progress_with_all();
    if (!is_taken)
        return false;
    own.MPI_SOURCE = source;
    weft_status_copy(status, &own);
    return true;
}

/* The message that a receive gets at once; NULL: there is none. */
static weft_message_t *find_message(weft_matching_t *at, uint32_t context, int source, int tag)
{
    weft_match_key_t key = {context, source, tag};
    weft_match_entry_t *entry = weft_match_find(&at->messages, key);
    return entry == NULL ? NULL : WEFT_ELEMENT(entry, weft_message_t, entry);
}

static void take_message(weft_matching_t *at, weft_message_t *message, weft_recv_t *recv)
{
    weft_match_remove(&at->messages, &message->entry);
    recv->is_queued = false;
    fill_recv(recv, &message->entry.key, message->rts.bytes, message->room);
    wefti_spare_give(at, message);
    recv->request.is_complete = true; /* nobody waits for it yet */
}

static weft_request_t *begin_recv(weft_matching_t *at, void *buf, weft_dense_message_t message,
                                  int source, int tag)
{
    weft_recv_t *recv = at->prepared;
    int process = source == MPI_ANY_SOURCE ? source : weft_comm_process(message.comm, source);
    weft_message_t *found = NULL;
    if (at->messages.count > 0)
        found = find_message(at, message.comm->context, process, tag);
    if (recv == NULL || at->receives.is_binned ||
        (found != NULL && (!found->is_spare || found->rts.bytes > message.bytes)))
        return NULL;
    at->prepared = recv->next_prepared;
    wefti_dense_recv_set(recv, buf, message, source, tag);
    recv->entry.key.source = process;
    recv->may_pend = true;
    weft_comm_begin_vci_use(message.comm);
    if (found != NULL)
        take_message(at, found, recv);
    else
        weft_match_append(&at->receives, &recv->entry);
    return &recv->request;
}

weft_request_t *weft_vci_recv(void *buf, weft_dense_message_t message, int source, int tag)
{
    int vci = weft_vci_of(message.comm->context);
    weft_matching_t *at = take_open(vci);
    if (at == NULL)
        return NULL;
    weft_request_t *request = begin_recv(at, buf, message, source, tag);
    weft_vci_give(vci);
    return request;
}

/* ---- ends ---- */

/* Gives the receive back, if it has ended well. */
static bool collect(weft_matching_t *at, weft_recv_t *recv, MPI_Status *status)
{
    weft_request_t *request = &recv->request;
    if (request->is_followed || request->status.MPI_ERROR != MPI_SUCCESS ||
        request->on_complete != NULL || weft_status_is_cancelled(&request->status) ||
        !weft_comm_end_vci_use(recv->args.comm))
        return false;
    weft_status_copy(status, &request->status);
    request->object.kind = WEFT_FREED;
    wefti_recv_prepared(at, recv);
    return true;
}

/* Where the threads share cores, what is awaited comes from one that does not run: then the long
 * way, which lets it run, had better be taken at once. */
static bool waits_in_vain(weft_matching_t *at)
{
    return at->vain >= VAIN_MOST && ++at->skipped % VAIN_SKIPPED != 0;
}

/* May the next message of its source go straight to the program? */
static bool is_first(const weft_matching_t *at, const weft_recv_t *recv)
{
    return recv->args.source != MPI_ANY_SOURCE && wefti_recv_is_first(at, recv) &&
           !recv->args.comm->is_forsaken && recv->entry.key.source != weft_processes.self;
}

/* Such a one. As the message goes to the program at once, the request does not become complete
 * before. */
static bool end_first(weft_matching_t *at, weft_recv_t *recv, bool waits, MPI_Status *status)
{
    weft_endpoint_t *reached = weft_process_reached(recv->entry.key.source);
    awaited_t awaited = {recv->args.buf, {recv->args.comm, recv->capacity}, recv->args.tag, waits};
    MPI_Status own;
    if (reached == NULL ||
        !take_next(at, weft_endpoint_of_vci(reached, weft_vci_of(recv->args.context)), &awaited,
                   &own))
        return false;
    weft_match_unlink(&at->receives, &recv->entry);
    recv->is_queued = false;
    own.MPI_SOURCE = recv->args.source;
    weft_status_copy(status, &own);
    recv->request.object.kind = WEFT_FREED;
    weft_comm_end_vci_use(recv->args.comm);
    wefti_recv_prepared(at, recv);
    return true;
}

/* Ends one that is not over yet, but becomes so within a microsecond. */
static weft_vci_look_t await_recv(weft_matching_t *at, weft_recv_t *recv, bool waits,
                                  MPI_Status *status)
{
    bool is_brief = waits && waits_in_vain(at), waits_first = is_first(at, recv);
    if (waits_first && end_first(at, recv, waits && !is_brief, status)) {
        at->vain = 0;
        return WEFT_VCI_OVER;
    }
    bool is_good =
        look_for(at, recv, weft_vci_of(recv->args.context), waits && !is_brief && !waits_first);
    if (weft_request_is_complete(&recv->request)) {
        at->vain = 0;
        return collect(at, recv, status) ? WEFT_VCI_OVER : WEFT_VCI_NEEDS_ALL;
    }
    at->vain += waits && at->vain < VAIN_MOST;
    return is_good && !is_brief ? WEFT_VCI_MAY_COME : WEFT_VCI_NEEDS_ALL;
}

/* Ends one that is over, or becomes so. */
static weft_vci_look_t end_recv(weft_matching_t *at, weft_recv_t *recv, bool waits,
                                MPI_Status *status)
{
    if (!weft_request_is_complete(&recv->request))
        return await_recv(at, recv, waits, status);
    return collect(at, recv, status) ? WEFT_VCI_OVER : WEFT_VCI_NEEDS_ALL;
}

static weft_vci_look_t end_sent(weft_request_t *request, MPI_Status *status)
{
    if (!wefti_sent_end(request))
        return WEFT_VCI_NEEDS_ALL;
    weft_status_copy(status, &request->status); /* all of these have the same */
    return WEFT_VCI_OVER;
}

/* The VCI of a request that was made by the lock of its VCI, or might have been; 0: none. */
static int vci_of_request(const weft_request_t *request)
{
    if (request == NULL)
        return 0;
    return request->ops == &wefti_dense_recv_ops
               ? weft_vci_of(((const weft_recv_t *)request)->args.context)
               : wefti_sent_vci(request);
}

/* Ends the first requests that are of one VCI; how many. *seen: of the one behind them. */
static int end_some(int count, MPI_Request handles[], MPI_Status statuses[], bool waits,
                    weft_vci_look_t *seen)
{
    int vci = vci_of_request(weft_request_of(handles[0])), i = 0;
    weft_matching_t *at = vci == 0 ? NULL : take_open(vci);
    *seen = at == NULL ? WEFT_VCI_NEEDS_ALL : WEFT_VCI_OVER;
    if (at == NULL)
        return 0;
    bool is_turn = ++at->ends % ENDS_PER_ROUND == 0;
    for (; i < count; i++) {
        weft_request_t *request = weft_request_of(handles[i]);
        if (vci_of_request(request) != vci)
            break;
        *seen = request->ops == &wefti_dense_recv_ops
                    ? end_recv(at, (weft_recv_t *)request, waits, weft_status_at(statuses, i))
                    : end_sent(request, weft_status_at(statuses, i));
        if (*seen != WEFT_VCI_OVER)
            break;
        handles[i] = MPI_REQUEST_NULL;
    }
    weft_vci_give(vci);
    if (is_turn)
        progress_with_all();
    return i;
}

weft_vci_look_t weft_vci_test(MPI_Request *handle, MPI_Status *status)
{
    weft_vci_look_t seen;
    end_some(1, handle, status, false, &seen);
    return seen;
}

/* Waits, without the lock, until it is time to look again; false: for too long. */
static bool pause_between(const weft_request_t *request, int64_t until_ns)
{
    bool goes_on = true, is_from_here = is_to_come_from_here((const weft_recv_t *)request);
    for (int i = 0; i < PAUSES && !weft_request_is_complete(request); i++)
        weft_cpu_relax();
    while (goes_on && is_from_here && !weft_request_is_complete(request)) {
        weft_cpu_relax();
        goes_on = weft_clock_ns() < until_ns;
    }
    return goes_on && weft_clock_ns() < until_ns;
}

int weft_vci_wait(int count, MPI_Request handles[], MPI_Status statuses[])
{
    int64_t until_ns = 0;
    weft_vci_look_t seen = WEFT_VCI_OVER;
    int ended = 0;
    while (ended < count && seen != WEFT_VCI_NEEDS_ALL) {
        int more =
            end_some(count - ended, &handles[ended], weft_status_at(statuses, ended), true, &seen);
        ended += more;
        if (seen != WEFT_VCI_MAY_COME)
            continue;
        if (more > 0 || until_ns == 0)
            until_ns = weft_clock_ns() + (weft_progress_is_short() ? WAIT_SHORT_NS : WAIT_NS);
        if (!pause_between(weft_request_of(handles[ended]), until_ns))
            return ended;
    }
    return ended;
}

void weft_vci_block(weft_request_t *request)
{
    wefti_recv_block(request);
}

/* ---- all VCIs ---- */

void weft_vcis_open(void)
{
    for (int vci = 1; vci < weft_world.vcis; vci++) {
        weft_matching_t *at = &wefti_pt2pt.vcis[vci];
        wefti_spares_fill(at, SPARES);
        wefti_recvs_prepare(vci);
        at->is_open = true;
    }
}

void weft_vcis_shut(void)
{
    for (int vci = 1; vci < weft_world.vcis; vci++) {
        bool has_entered = weft_vci_enter(vci);
        wefti_pt2pt.vcis[vci].is_open = false;
        weft_vci_leave(vci, has_entered);
    }
}
