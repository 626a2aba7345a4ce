/* SPDX-License-Identifier: BSD-3-Clause */
#include "pt2pt/pt2pt_pvars.h"
#include "pt2pt/pt2pt_private.h"

#include "base/config.h"

weft_unexpected_t wefti_unexpected;
weft_staged_t wefti_staged;

static const weft_enum_t throttle_states = {"throttled", 2, {"no", "yes"}};

static void read_part_used(const weft_pvar_t *pvar, const void *object, weft_value_t *out)
{
    (void)pvar;
    (void)object;
    size_t kept = wefti_pt2pt.messages_bytes, most = weft_config.UNEXPECTED_MAX;
    out->real = kept >= most ? (kept > 0 ? 1.0 : 0.0) : (double)kept / (double)most;
}

static void read_throttling(const weft_pvar_t *pvar, const void *object, weft_value_t *out)
{
    (void)pvar;
    (void)object;
    out->state = wefti_pt2pt.is_throttling ? 1 : 0;
}

static void read_lost_peers(const weft_pvar_t *pvar, const void *object, weft_value_t *out)
{
    (void)pvar;
    (void)object;
    out->count = (unsigned long long)wefti_pt2pt.lost_peers;
}

/* ---- of all VCIs ---- */

typedef struct vci_counts {
    uint64_t messages, receives, arrivals;
} vci_counts_t;

static vci_counts_t count_of_vcis(void)
{
    vci_counts_t counts = {0};
    for (int vci = 0; vci < weft_world.vcis; vci++) {
        const weft_matching_t *at = &wefti_pt2pt.vcis[vci];
        bool has_entered = weft_vci_enter(vci);
        counts.messages += at->messages.count;
        counts.receives += at->receives.count;
        counts.arrivals += at->arrivals;
        weft_vci_leave(vci, has_entered);
    }
    return counts;
}

static void read_messages(const weft_pvar_t *pvar, const void *object, weft_value_t *out)
{
    (void)pvar;
    (void)object;
    out->count = count_of_vcis().messages;
}

static void read_receives(const weft_pvar_t *pvar, const void *object, weft_value_t *out)
{
    (void)pvar;
    (void)object;
    out->count = count_of_vcis().receives;
}

static void read_arrivals(const weft_pvar_t *pvar, const void *object, weft_value_t *out)
{
    (void)pvar;
    (void)object;
    out->count = wefti_unexpected.arrivals + count_of_vcis().arrivals;
}

/* ---- of a communicator ---- */

static unsigned long long count_of_comm(const weft_match_queue_t *queue, const weft_comm_t *comm)
{
    unsigned long long count = 0;
    for (const weft_link_t *at = queue->order.next; at != &queue->order; at = at->next)
        count += (WEFT_ELEMENT(at, weft_match_entry_t, order)->key.context & ~1u) == comm->context;
    return count;
}

/* `queue`: which one of a weft_matching_t. */
static unsigned long long count_in_vcis(size_t queue, const weft_comm_t *comm)
{
    unsigned long long count = 0;
    for (int vci = 0; vci < weft_world.vcis; vci++) {
        const char *at = (const char *)&wefti_pt2pt.vcis[vci] + queue;
        bool has_entered = weft_vci_enter(vci);
        count += count_of_comm((const weft_match_queue_t *)(const void *)at, comm);
        weft_vci_leave(vci, has_entered);
    }
    return count;
}

static void read_comm_messages(const weft_pvar_t *pvar, const void *object, weft_value_t *out)
{
    (void)pvar;
    out->count = count_in_vcis(offsetof(weft_matching_t, messages), object);
}

static void read_comm_receives(const weft_pvar_t *pvar, const void *object, weft_value_t *out)
{
    (void)pvar;
    out->count = count_in_vcis(offsetof(weft_matching_t, receives), object);
}

static int peers_of_comm(const void *object)
{
    return ((const weft_comm_t *)object)->size;
}

static void read_messages_sent(const weft_pvar_t *pvar, const void *object, weft_value_t *out)
{
    const weft_comm_t *comm = object;
    (void)pvar;
    for (int rank = 0; rank < comm->size; rank++)
        out[rank].count = weft_traffic_of(weft_comm_process(comm, rank)).sent.messages;
}

static void read_bytes_sent(const weft_pvar_t *pvar, const void *object, weft_value_t *out)
{
    const weft_comm_t *comm = object;
    (void)pvar;
    for (int rank = 0; rank < comm->size; rank++)
        out[rank].count = weft_traffic_of(weft_comm_process(comm, rank)).sent.bytes;
}

static void read_messages_received(const weft_pvar_t *pvar, const void *object, weft_value_t *out)
{
    const weft_comm_t *comm = object;
    (void)pvar;
    for (int rank = 0; rank < comm->size; rank++)
        out[rank].count = weft_traffic_of(weft_comm_process(comm, rank)).received.messages;
}

static void read_bytes_received(const weft_pvar_t *pvar, const void *object, weft_value_t *out)
{
    const weft_comm_t *comm = object;
    (void)pvar;
    for (int rank = 0; rank < comm->size; rank++)
        out[rank].count = weft_traffic_of(weft_comm_process(comm, rank)).received.bytes;
}

static const weft_pvar_t pt2pt_pvars[] = {
    {.name = "unexpected_messages",
     .help = "Messages that wait for a receive now",
     .pvar_class = MPI_T_PVAR_CLASS_LEVEL,
     .verbosity = MPI_T_VERBOSITY_USER_BASIC,
     .category = WEFT_CATEGORY_PT2PT,
     .type = MPI_UNSIGNED_LONG_LONG,
     .read = read_messages},
    {.name = "unexpected_messages_most",
     .help = "The most messages that have waited for a receive at a time",
     .pvar_class = MPI_T_PVAR_CLASS_HIGHWATERMARK,
     .verbosity = MPI_T_VERBOSITY_USER_BASIC,
     .category = WEFT_CATEGORY_PT2PT,
     .type = MPI_UNSIGNED_LONG_LONG,
     .read = read_messages,
     .high_water = &wefti_unexpected.queue},
    {.name = "unexpected_arrivals",
     .help = "Messages that have come before their receive",
     .pvar_class = MPI_T_PVAR_CLASS_COUNTER,
     .verbosity = MPI_T_VERBOSITY_USER_BASIC,
     .category = WEFT_CATEGORY_PT2PT,
     .type = MPI_UNSIGNED_LONG_LONG,
     .read = read_arrivals},
    {.name = "unexpected_bytes",
     .help = "Memory that messages take which wait for a receive",
     .pvar_class = MPI_T_PVAR_CLASS_LEVEL,
     .verbosity = MPI_T_VERBOSITY_USER_BASIC,
     .category = WEFT_CATEGORY_PT2PT,
     .type = MPI_UNSIGNED_LONG_LONG,
     .read = weft_pvar_read_count,
     .source = &wefti_pt2pt.messages_bytes},
    {.name = "unexpected_bytes_most",
     .help = "The most memory that such messages have taken at a time",
     .pvar_class = MPI_T_PVAR_CLASS_HIGHWATERMARK,
     .verbosity = MPI_T_VERBOSITY_USER_BASIC,
     .category = WEFT_CATEGORY_PT2PT,
     .type = MPI_UNSIGNED_LONG_LONG,
     .read = weft_pvar_read_count,
     .source = &wefti_pt2pt.messages_bytes,
     .high_water = &wefti_unexpected.memory},
    {.name = "unexpected_memory_used",
     .help =
         "The part of WEFT_UNEXPECTED_MAX that such messages take; at 1 senders have to ask first",
     .pvar_class = MPI_T_PVAR_CLASS_PERCENTAGE,
     .verbosity = MPI_T_VERBOSITY_USER_BASIC,
     .category = WEFT_CATEGORY_PT2PT,
     .type = MPI_DOUBLE,
     .read = read_part_used},
    {.name = "senders_throttled",
     .help = "Do senders have to ask first, since unexpected messages take too much memory?",
     .pvar_class = MPI_T_PVAR_CLASS_STATE,
     .verbosity = MPI_T_VERBOSITY_USER_BASIC,
     .category = WEFT_CATEGORY_PT2PT,
     .type = MPI_INT,
     .items = &throttle_states,
     .read = read_throttling},
    {.name = "posted_receives",
     .help = "Receives that wait for a message now",
     .pvar_class = MPI_T_PVAR_CLASS_LEVEL,
     .verbosity = MPI_T_VERBOSITY_USER_BASIC,
     .category = WEFT_CATEGORY_PT2PT,
     .type = MPI_UNSIGNED_LONG_LONG,
     .read = read_receives},
    {.name = "active_sends",
     .help = "Sends that have begun and are not complete",
     .pvar_class = MPI_T_PVAR_CLASS_LEVEL,
     .verbosity = MPI_T_VERBOSITY_USER_BASIC,
     .category = WEFT_CATEGORY_PT2PT,
     .type = MPI_UNSIGNED_LONG_LONG,
     .read = weft_pvar_read_count,
     .source = &wefti_pt2pt.active_sends},
    {.name = "match_attempts",
     .help = "Messages and receives that were looked at to find one that matches",
     .pvar_class = MPI_T_PVAR_CLASS_COUNTER,
     .verbosity = MPI_T_VERBOSITY_USER_DETAIL,
     .category = WEFT_CATEGORY_PT2PT,
     .type = MPI_UNSIGNED_LONG_LONG,
     .read = weft_pvar_read_count,
     .source = &weft_match_attempts.count,
     .watched = &weft_match_attempts.watched},
    {.name = "device_bytes_by_shelf",
     .help = "Bytes of messages out of device memory that devices have put into memory that the "
             "receivers share",
     .pvar_class = MPI_T_PVAR_CLASS_AGGREGATE,
     .verbosity = MPI_T_VERBOSITY_USER_DETAIL,
     .category = WEFT_CATEGORY_PT2PT,
     .type = MPI_UNSIGNED_LONG_LONG,
     .read = weft_pvar_read_count,
     .source = &wefti_staged.by_shelf},
    {.name = "device_bytes_by_packets",
     .help = "Bytes of long messages out of device memory that went in packets, by way of pinned "
             "memory",
     .pvar_class = MPI_T_PVAR_CLASS_AGGREGATE,
     .verbosity = MPI_T_VERBOSITY_USER_DETAIL,
     .category = WEFT_CATEGORY_PT2PT,
     .type = MPI_UNSIGNED_LONG_LONG,
     .read = weft_pvar_read_count,
     .source = &wefti_staged.by_packets},
    {.name = "lost_peers",
     .help = "Processes that cannot be reached any more",
     .pvar_class = MPI_T_PVAR_CLASS_LEVEL,
     .verbosity = MPI_T_VERBOSITY_USER_BASIC,
     .category = WEFT_CATEGORY_PT2PT,
     .type = MPI_UNSIGNED_LONG_LONG,
     .read = read_lost_peers},
    {.name = "comm_unexpected_messages",
     .help = "Messages of this communicator, of collectives too, that wait for a receive now",
     .pvar_class = MPI_T_PVAR_CLASS_LEVEL,
     .verbosity = MPI_T_VERBOSITY_USER_BASIC,
     .category = WEFT_CATEGORY_COMM,
     .type = MPI_UNSIGNED_LONG_LONG,
     .is_of_comm = true,
     .read = read_comm_messages},
    {.name = "comm_posted_receives",
     .help = "Receives of this communicator, of collectives too, that wait for a message now",
     .pvar_class = MPI_T_PVAR_CLASS_LEVEL,
     .verbosity = MPI_T_VERBOSITY_USER_BASIC,
     .category = WEFT_CATEGORY_COMM,
     .type = MPI_UNSIGNED_LONG_LONG,
     .is_of_comm = true,
     .read = read_comm_receives},
    {.name = "comm_messages_sent",
     .help = "Messages to each rank of the communicator (of an intercommunicator: of the remote "
             "group), over any communicator",
     .pvar_class = MPI_T_PVAR_CLASS_COUNTER,
     .verbosity = MPI_T_VERBOSITY_USER_BASIC,
     .category = WEFT_CATEGORY_COMM,
     .type = MPI_UNSIGNED_LONG_LONG,
     .is_of_comm = true,
     .elements = peers_of_comm,
     .read = read_messages_sent,
     .watched = &weft_traffic_watched},
    {.name = "comm_bytes_sent",
     .help = "Bytes of data in the messages to each of these ranks",
     .pvar_class = MPI_T_PVAR_CLASS_AGGREGATE,
     .verbosity = MPI_T_VERBOSITY_USER_BASIC,
     .category = WEFT_CATEGORY_COMM,
     .type = MPI_UNSIGNED_LONG_LONG,
     .is_of_comm = true,
     .elements = peers_of_comm,
     .read = read_bytes_sent,
     .watched = &weft_traffic_watched},
    {.name = "comm_messages_received",
     .help = "Messages from each rank of the communicator (of an intercommunicator: of the remote "
             "group), over any communicator",
     .pvar_class = MPI_T_PVAR_CLASS_COUNTER,
     .verbosity = MPI_T_VERBOSITY_USER_BASIC,
     .category = WEFT_CATEGORY_COMM,
     .type = MPI_UNSIGNED_LONG_LONG,
     .is_of_comm = true,
     .elements = peers_of_comm,
     .read = read_messages_received,
     .watched = &weft_traffic_watched},
    {.name = "comm_bytes_received",
     .help = "Bytes of data in the messages from each of these ranks",
     .pvar_class = MPI_T_PVAR_CLASS_AGGREGATE,
     .verbosity = MPI_T_VERBOSITY_USER_BASIC,
     .category = WEFT_CATEGORY_COMM,
     .type = MPI_UNSIGNED_LONG_LONG,
     .is_of_comm = true,
     .elements = peers_of_comm,
     .read = read_bytes_received,
     .watched = &weft_traffic_watched},
};

const weft_pvar_table_t weft_pt2pt_pvars = {pt2pt_pvars,
                                            sizeof(pt2pt_pvars) / sizeof(pt2pt_pvars[0])};
