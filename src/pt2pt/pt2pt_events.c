/* SPDX-License-Identifier: BSD-3-Clause */
#include "pt2pt/pt2pt_events.h"

static const weft_enum_t unexpected_message_names = {
    "unexpected_message", 4, {"source", "tag", "bytes", "queued"}};

static const weft_event_element_t unexpected_message_elements[] = {
    WEFT_ELEMENT_OF(weft_unexpected_message_event_t, source, MPI_INT),
    WEFT_ELEMENT_OF(weft_unexpected_message_event_t, tag, MPI_INT),
    WEFT_ELEMENT_OF(weft_unexpected_message_event_t, bytes, MPI_UNSIGNED_LONG_LONG),
    WEFT_ELEMENT_OF(weft_unexpected_message_event_t, queued, MPI_UNSIGNED_LONG_LONG),
};

weft_event_type_t weft_unexpected_message_event = {
    .name = "unexpected_message",
    .help = "A message has come that no receive waits for: its source (a rank in the world of its "
            "job), tag and "
            "bytes, and how many such messages wait now",
    .verbosity = MPI_T_VERBOSITY_USER_DETAIL,
    .category = WEFT_CATEGORY_PT2PT,
    .bytes = sizeof(weft_unexpected_message_event_t),
    .elements = unexpected_message_elements,
    .names = &unexpected_message_names,
};

static const weft_enum_t throttle_names = {"throttle", 2, {"is_on", "bytes"}};

static const weft_event_element_t throttle_elements[] = {
    WEFT_ELEMENT_OF(weft_throttle_event_t, is_on, MPI_INT),
    WEFT_ELEMENT_OF(weft_throttle_event_t, bytes, MPI_UNSIGNED_LONG_LONG),
};

weft_event_type_t weft_throttle_event = {
    .name = "throttle",
    .help = "Unexpected messages take more than WEFT_UNEXPECTED_MAX: senders have to ask first "
            "(is_on is 1), or need not "
            "any more (0)",
    .verbosity = MPI_T_VERBOSITY_USER_BASIC,
    .category = WEFT_CATEGORY_PT2PT,
    .bytes = sizeof(weft_throttle_event_t),
    .elements = throttle_elements,
    .names = &throttle_names,
};

static const weft_enum_t peer_lost_names = {"peer_lost", 2, {"rank", "is_expected"}};

static const weft_event_element_t peer_lost_elements[] = {
    WEFT_ELEMENT_OF(weft_peer_lost_event_t, rank, MPI_INT),
    WEFT_ELEMENT_OF(weft_peer_lost_event_t, is_expected, MPI_INT),
};

weft_event_type_t weft_peer_lost_event = {
    .name = "peer_lost",
    .help = "A process cannot be reached any more: its rank in the world of its job, "
            "MPI_ANY_SOURCE for all of other "
            "hosts; is_expected: it had said that it might end",
    .verbosity = MPI_T_VERBOSITY_USER_BASIC,
    .category = WEFT_CATEGORY_PT2PT,
    .bytes = sizeof(weft_peer_lost_event_t),
    .elements = peer_lost_elements,
    .names = &peer_lost_names,
};
