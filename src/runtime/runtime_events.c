/* SPDX-License-Identifier: BSD-3-Clause */
#include "runtime/runtime_events.h"

static const weft_enum_t transport_chosen_names = {"transport_chosen", 2, {"rank", "transport"}};

static const weft_event_element_t transport_chosen_elements[] = {
    WEFT_ELEMENT_OF(weft_transport_chosen_event_t, rank, MPI_INT),
    WEFT_ELEMENT_OF(weft_transport_chosen_event_t, transport, MPI_INT),
};

weft_event_type_t weft_transport_chosen_event = {
    .name = "transport_chosen",
    .help = "A way to a process has been found, at the start or at the first message to it: its "
            "rank in the world of its "
            "job, and the transport (a value of the variable comm_transports)",
    .verbosity = MPI_T_VERBOSITY_USER_BASIC,
    .category = WEFT_CATEGORY_TRANSPORT,
    .bytes = sizeof(weft_transport_chosen_event_t),
    .elements = transport_chosen_elements,
    .names = &transport_chosen_names,
};

static const weft_enum_t fallback_names = {"fallback", 2, {"what", "is_logged"}};

static const weft_event_element_t fallback_elements[] = {
    WEFT_ELEMENT_OF(weft_fallback_event_t, what, MPI_INT),
    WEFT_ELEMENT_OF(weft_fallback_event_t, is_logged, MPI_INT),
};

weft_event_type_t weft_fallback_event = {
    .name = "fallback",
    .help =
        "Weft takes a slower way, which the user may change. what: 0 processes may not read each "
        "other's memory, 1 old driver, 2 no kernels for this device, 3 no pinned memory, 4 the "
        "network does not reach device memory, 5 no GDRCopy, 6 a stream is held up, 7 devices do "
        "not reach shared memory, 8 and more device memory is staged between processes; "
        "is_logged: this process has logged a warning",
    .verbosity = MPI_T_VERBOSITY_USER_BASIC,
    .category = WEFT_CATEGORY_LIBRARY,
    .bytes = sizeof(weft_fallback_event_t),
    .elements = fallback_elements,
    .names = &fallback_names,
};
