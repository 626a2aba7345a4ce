/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages and bytes by transport, and by peer, for tools (src/tool): pt2pt counts them, while a
 * handle of one of these variables is started. A message counts when it has gone out or has been
 * announced, and at the receiver when it (or its announcement) has come; its bytes are those of
 * its data. Messages of collectives count like any others.
 */
#ifndef WEFT_RUNTIME_TRAFFIC_H
#define WEFT_RUNTIME_TRAFFIC_H

#include "tool/pvar.h"
#include "base/own_symbol.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct weft_amount {
    uint64_t messages, bytes;
} weft_amount_t;

typedef struct weft_traffic {
    const char *name; /* of the transport */
    weft_amount_t sent, received;
} weft_traffic_t;

/** Of the transport between hosts; NULL: none is open. What comes from a process that has not been
 *  reached yet has come this way. */
extern weft_traffic_t *weft_traffic_of_network;

/** Not 0: a tool wants to know. */
extern WEFT_OWN_SYMBOL int weft_traffic_watched;

/** Count a message to or from a process. Only while it is watched. */
void weft_traffic_note_sent(int process, size_t bytes) __attribute__((cold));
void weft_traffic_note_received(int process, size_t bytes) __attribute__((cold));

/** What has been counted for one process. */
weft_traffic_t weft_traffic_of(int process);

/** The process is removed from the table. */
void weft_traffic_forget(int process);
void weft_traffic_close(void);

/** One of a transport's four variables. */
#define WEFT_TRAFFIC_PVAR(class_of_it, label, key, field, text)                                    \
    {                                                                                              \
        .name = (label), .help = (text), .pvar_class = MPI_T_PVAR_CLASS_##class_of_it,             \
        .verbosity = MPI_T_VERBOSITY_USER_BASIC, .category = WEFT_CATEGORY_##key,                  \
        .type = MPI_UNSIGNED_LONG_LONG, .read = weft_pvar_read_count, .source = &(field),          \
        .watched = &weft_traffic_watched                                                           \
    }

/** The rows of a transport: its name as in variables, its category, and its weft_traffic_t. */
#define WEFT_TRAFFIC_PVARS(name, key, traffic)                                                     \
    WEFT_TRAFFIC_PVAR(COUNTER, name "_messages_sent", key, (traffic).sent.messages,                \
                      "Messages sent this way"),                                                   \
        WEFT_TRAFFIC_PVAR(AGGREGATE, name "_bytes_sent", key, (traffic).sent.bytes,                \
                          "Bytes of data in the messages sent this way"),                          \
        WEFT_TRAFFIC_PVAR(COUNTER, name "_messages_received", key, (traffic).received.messages,    \
                          "Messages that have come this way"),                                     \
        WEFT_TRAFFIC_PVAR(AGGREGATE, name "_bytes_received", key, (traffic).received.bytes,        \
                          "Bytes of data in the messages that have come this way")

#endif
