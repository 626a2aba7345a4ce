/* SPDX-License-Identifier: BSD-3-Clause */
/* What other layers have in the segment: places that they know by interfaces in src/runtime. */
#ifndef WEFT_SHM_PLACES_H
#define WEFT_SHM_PLACES_H

#include "shm/segment.h"

/** Tell the layers of their places. The segment must stay until they are closed. */
void wefti_places_open(const weft_segment_t *segment, int local_rank);
void wefti_places_close(void);

#endif
