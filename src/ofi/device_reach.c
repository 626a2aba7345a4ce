/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Does the network reach device memory? A provider that offers FI_HMEM may still fail with this
 * driver, device or kernel. So the first buffer of each device begins a trial, in scratch memory of
 * that device:
 *
 *   1. a pinned slot with a pattern and zeros is copied to the device
 *   2. fi_read, from this process to itself, copies the first half there to the second
 *   3. the second half is copied back to the slot, and compared
 *
 * Nothing waits for the trial; until it has passed, messages go through pinned memory. It is made
 * on the first rail only: the others are devices of the same provider, and messages that cannot be
 * registered there are streamed.
 */
#include "ofi/ofi_private.h"

#include "ofi/fabric_library.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/log.h"
#include "mpi.h"

#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdio.h>
#include <string.h>

enum { DEVICES_MAX = 16, HALF = 4096, ADDRESS_BYTES = 128 };

typedef enum stage {
    STAGE_FREE,
    STAGE_FILLING,
    STAGE_READING,
    STAGE_COPYING,
    STAGE_PASSED,
    STAGE_FAILED
} reach_stage_t;

typedef struct trial {
    weft_ofi_op_t op; /* first: of the fi_read */
    weft_event_t event;
    reach_stage_t stage;
    bool is_refused; /* the provider answered fi_read with FI_EAGAIN: it is tried again */
    weft_device_t *device;
    char *slot;           /* [2 * HALF] */
    char *scratch;        /* [2 * HALF] on the device */
    weft_memory_t memory; /* of `scratch` */
    struct fid_mr *mr;
    fi_addr_t self;
} trial_t;

static trial_t trials[DEVICES_MAX];
static int busy;

/* ---- the end ---- */

static void trial_say(const char *why)
{
    if (weft_world_may_warn(WEFT_WARNING_NO_HMEM))
        WEFT_LOG(WEFT_WARN, "ofi",
                 "device memory goes to other hosts through pinned host memory: %s", why);
}

static void release_trial(trial_t *trial)
{
    if (trial->mr != NULL)
        fi_close(&trial->mr->fid);
    if (trial->scratch != NULL)
        weft_device->give_scratch(trial->device, trial->scratch);
    if (trial->slot != NULL)
        weft_device->give_pinned(trial->slot);
    trial->mr = NULL;
    trial->scratch = trial->slot = NULL;
}

static void end_trial(trial_t *trial, reach_stage_t stage)
{
    trial->stage = stage;
    busy--;
    release_trial(trial);
}

static void trial_failed(trial_t *trial, const char *doing, const char *error)
{
    char why[256];
    snprintf(why, sizeof(why), "provider %s offers FI_HMEM, but in a trial %s failed: %s",
             weft_world.fabric, doing, error);
    trial_say(why);
    end_trial(trial, STAGE_FAILED);
}

static unsigned char trial_pattern(int at)
{
    return (unsigned char)(at * 7 + 1);
}

static void trial_is_back(weft_event_t *event, int error)
{
    trial_t *trial = event->owner;
    if (error != MPI_SUCCESS) {
        trial_failed(trial, "copying back", weft_fail_text());
        return;
    }
    for (int i = 0; i < HALF; i++) {
        if ((unsigned char)trial->slot[i] != trial_pattern(i)) {
            trial_failed(trial, "reading", "other data than those that were written");
            return;
        }
    }
    WEFT_LOG(WEFT_INFO, "ofi", "the network reaches memory of device %d",
             weft_device->number(trial->device));
    end_trial(trial, STAGE_PASSED);
}

/* ---- the steps ---- */

/* Copy, and put an event behind the copy. */
static int copy_trial(trial_t *trial, void *to, const void *from, size_t bytes)
{
    weft_queue_t *queue = weft_device->queue(trial->device, WEFT_STREAM_QUICK);
    int err = queue == NULL ? MPI_ERR_OTHER : weft_device->copy(queue, to, from, bytes);
    return err == MPI_SUCCESS ? weft_device->record(queue, &trial->event) : err;
}

static void trial_is_read(weft_ofi_op_t *op, const struct fi_cq_data_entry *entry, int error)
{
    trial_t *trial = (trial_t *)op;
    (void)entry;
    if (error != 0) {
        trial_failed(trial, "fi_read", weft_fabric_error(error));
        return;
    }
    trial->stage = STAGE_COPYING;
    trial->event = (weft_event_t){.done = trial_is_back, .owner = trial};
    memset(trial->slot, 0, HALF);
    if (copy_trial(trial, trial->slot, trial->scratch + HALF, HALF) != MPI_SUCCESS)
        trial_failed(trial, "copying back", weft_fail_text());
}

static void read_from_self(trial_t *trial)
{
    weft_rail_t *rail = &wefti_ofi.rails[0];
    trial->op.done = trial_is_read;
    long rc =
        fi_read(rail->ep, trial->scratch + HALF, HALF, fi_mr_desc(trial->mr), trial->self,
                weft_rail_address(rail, trial->scratch), fi_mr_key(trial->mr), &trial->op.context);
    trial->is_refused = rc == -FI_EAGAIN;
    if (rc != 0 && rc != -FI_EAGAIN)
        trial_failed(trial, "fi_read", weft_fabric_error(rc));
}

static int find_own_endpoint(trial_t *trial)
{
    char address[ADDRESS_BYTES];
    size_t bytes = sizeof(address);
    int rc = fi_getname(&wefti_ofi.rails[0].ep->fid, address, &bytes);
    if (rc == 0)
        rc = fi_av_insert(wefti_ofi.rails[0].av, address, 1, &trial->self, 0, NULL);
    return rc == 1 ? 0 : rc == 0 ? -FI_EADDRNOTAVAIL : rc;
}

static void trial_is_filled(weft_event_t *event, int error)
{
    trial_t *trial = event->owner;
    weft_rail_region_t region = {trial->scratch, 2 * HALF, &trial->memory};
    if (error != MPI_SUCCESS) {
        trial_failed(trial, "copying to the device", weft_fail_text());
        return;
    }
    int rc = weft_rail_register(&wefti_ofi.rails[0], &region, FI_READ | FI_REMOTE_READ, &trial->mr);
    if (rc != 0) {
        trial->mr = NULL;
        trial_failed(trial, "registration", weft_fabric_error(rc));
        return;
    }
    rc = find_own_endpoint(trial);
    if (rc != 0) {
        trial_failed(trial, "fi_av_insert of the own address", weft_fabric_error(rc));
        return;
    }
    trial->stage = STAGE_READING;
    read_from_self(trial);
}

/* If the memory that the trial needs is in use, the stage becomes STAGE_FREE again, and a later
 * buffer begins it. */
static void begin_trial(trial_t *trial, weft_device_t *device)
{
    *trial = (trial_t){.stage = STAGE_FILLING, .device = device};
    trial->slot = weft_device->take_pinned(device, 2 * HALF);
    trial->scratch = weft_device->take_scratch(device, 2 * HALF);
    busy++;
    if (trial->slot == NULL || trial->scratch == NULL ||
        weft_device->look(trial->scratch, &trial->memory) != MPI_SUCCESS) {
        end_trial(trial, STAGE_FREE);
        return;
    }
    memset(trial->slot, 0, 2 * HALF);
    for (int i = 0; i < HALF; i++)
        trial->slot[i] = (char)trial_pattern(i);
    trial->event = (weft_event_t){.done = trial_is_filled, .owner = trial};
    if (copy_trial(trial, trial->scratch, trial->slot, 2 * HALF) != MPI_SUCCESS)
        trial_failed(trial, "copying to the device", weft_fail_text());
}

/* ---- for other files ---- */

static trial_t *trial_of(const weft_device_t *device)
{
    for (int i = 0; i < DEVICES_MAX; i++) {
        if (trials[i].device == device || trials[i].device == NULL)
            return &trials[i];
    }
    return NULL;
}

bool wefti_ofi_takes_device(const weft_memory_t *memory)
{
    if (memory->kind != WEFT_MEMORY_DEVICE || wefti_ofi.net.is_closing)
        return false;
    if (!wefti_ofi.rails[0].has_hmem) {
        trial_say(strcmp(weft_config.DEVICE_NETWORK, "no") == 0 ? "WEFT_DEVICE_NETWORK=no"
                                                                : "the provider offers no FI_HMEM");
        return false;
    }
    trial_t *trial = trial_of(memory->device);
    if (trial != NULL && trial->stage == STAGE_FREE)
        begin_trial(trial, memory->device);
    return trial != NULL && trial->stage == STAGE_PASSED;
}

int wefti_device_reach_progress(void)
{
    if (__builtin_expect(busy == 0, 1))
        return 0;
    int taken = 0;
    for (int i = 0; i < DEVICES_MAX; i++) {
        if (trials[i].stage != STAGE_READING || !trials[i].is_refused)
            continue;
        read_from_self(&trials[i]);
        taken += !trials[i].is_refused;
    }
    return taken;
}

bool wefti_device_reach_is_busy(void)
{
    return busy > 0;
}

/* If a rail is dead, some trials may not be over. Their memory is released with the device. */
void wefti_device_reach_close(void)
{
    for (int i = 0; i < DEVICES_MAX; i++) {
        if (trials[i].mr != NULL)
            fi_close(&trials[i].mr->fid);
    }
    memset(trials, 0, sizeof(trials));
    busy = 0;
}
