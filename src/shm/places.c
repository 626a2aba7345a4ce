/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/places.h"

#include "runtime/fd_mail.h"
#include "runtime/host_devices.h"
#include "runtime/meeting.h"
#include "runtime/progress.h"
#include "runtime/shelf.h"
#include "runtime/spread.h"
#include "runtime/wall_place.h"

static const weft_segment_t *segment;
static int own_rank;

static weft_doorbell_t *doorbell_of_rank(int local_rank)
{
    return &weft_segment_block(segment, local_rank)->doorbell;
}

static void wake_peer(int local_rank)
{
    if (local_rank != own_rank)
        weft_doorbell_ring(doorbell_of_rank(local_rank));
}

static const atomic_uint *leaving_of_rank(int local_rank)
{
    return &weft_segment_block(segment, local_rank)->leaving;
}

static atomic_int *processor_of_rank(int local_rank)
{
    return &weft_segment_block(segment, local_rank)->processor;
}

static weft_fd_box_t *fd_box_of_rank(int local_rank)
{
    return &weft_segment_block(segment, local_rank)->fd_box;
}

void wefti_places_open(const weft_segment_t *opened, int local_rank)
{
    segment = opened;
    own_rank = local_rank;
    weft_host_devices = &segment->header->host_devices;
    weft_meeting_place = (weft_meeting_place_t){.memory = weft_segment_boards(segment),
                                                .ranks = segment->ranks,
                                                .wake = wake_peer,
                                                .rank = local_rank};
    weft_fd_place = (weft_fd_place_t){
        .ranks = segment->ranks, .rank = local_rank, .box = fd_box_of_rank, .wake = wake_peer};
    weft_wall_place = (weft_wall_place_t){.memory = weft_segment_walls(segment),
                                          .ranks = segment->ranks,
                                          .ring_bytes = segment->header->wall_ring_bytes,
                                          .doorbell = doorbell_of_rank,
                                          .leaving = leaving_of_rank};
    weft_shelves_open(weft_segment_shelves(segment), segment->ranks, local_rank);
    weft_spread_place = (weft_spread_place_t){.ranks = segment->ranks,
                                              .rank = local_rank,
                                              .processor = processor_of_rank,
                                              .moved_ns = &segment->header->moved_ns};
}

void wefti_places_close(void)
{
    weft_spread_leave();
    weft_host_devices = NULL;
    weft_meeting_place = (weft_meeting_place_t){0};
    weft_fd_place = (weft_fd_place_t){0};
    weft_wall_place = (weft_wall_place_t){0};
    weft_spread_place = (weft_spread_place_t){0};
    weft_shelves_close();
}
