/* SPDX-License-Identifier: BSD-3-Clause */
/* WEFT_SIMULATE_LINK: how fast the network between simulated hosts is, as in 10Gbit,20us. */
#ifndef WEFT_BASE_SIMULATED_LINK_H
#define WEFT_BASE_SIMULATED_LINK_H

#include <stdbool.h>
#include <stdint.h>

typedef struct weft_simulated_link {
    double bytes_per_ns; /* of each host, in each direction */
    int64_t latency_ns;  /* of each message, beside what the machine itself takes */
} weft_simulated_link_t;

/** Read "BANDWIDTH[,LATENCY]": a number with Kbit, Mbit, Gbit or Tbit (a second), and one with ns,
 *  us, ms or s. false: the text is none. */
bool weft_simulated_link_read(const char *text, weft_simulated_link_t *out);

#endif
