/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory of one side of a call that a rank exports to the others of its host, so that one of
 * them can work on the memory of all. It is the user's buffer itself where others can map it and
 * its data are in one piece; else a copy in scratch memory of the library, which is made before the
 * collective or copied back after it.
 */
#ifndef WEFT_DEVCOLL_EXPORT_H
#define WEFT_DEVCOLL_EXPORT_H

#include "devcoll/regions.h"
#include "runtime/device.h"
#include "datatype/pack.h"

#include <stdbool.h>
#include <stdint.h>

/** One region as others see it. */
typedef struct weft_export_row {
    uint64_t offset; /* bytes from the address of the share */
    uint64_t bytes;  /* where an operation is applied, including the gaps between elements */
} weft_export_row_t;

typedef struct weft_export {
    weft_regions_t regions;
    bool is_array; /* an operation is applied, so elements are exported as they lie in memory */
    weft_device_t *device; /* NULL: this side has no data */
    void *scratch;         /* NULL: the user's buffer is exported itself */
    weft_share_t share;
} weft_export_t;

/**
 * Prepare to export a side of a call.
 * as_copy  export a copy, whatever the memory: others write where this rank still reads
 * returns  false if it is not device memory or cannot be exported; then there is nothing to close
 */
bool wefti_export_open(const weft_regions_t *regions, bool as_copy, weft_export_t *out);

/** Fill in rows_out[regions.count]. */
void wefti_export_rows(const weft_export_t *export, weft_export_row_t *rows_out);

/** Must data be copied into scratch before the work (a side that gives) or out of it afterwards (a
 * side that gets)? */
static inline bool wefti_export_needs_copy(const weft_export_t *export)
{
    return export->scratch != NULL;
}

/** For region `index`: the user's elements, and the same data in scratch. */
void wefti_export_copy_of(const weft_export_t *export, int index, weft_elements_t *user_out,
                          weft_elements_t *scratch_out);

void wefti_export_close(weft_export_t *export);

/** Export a copy on `device` in place of what wefti_export_open() has found on another one. Returns
 * false if there is no memory for it; then there is nothing to close. */
bool wefti_export_move(weft_export_t *export, weft_device_t *device);

/** Bytes of the data. */
size_t wefti_export_bytes(const weft_export_t *export);

/** The device of all data that a call exports; NULL if there are no data. */
weft_device_t *wefti_exports_device(const weft_export_t exports[WEFT_SIDES]);

/** Are the user's operands still there when others have written the results of this rank? They may
 * not be where it works in place, even if what it gives is exported as a copy. */
bool wefti_exports_keep_operands(const weft_export_t exports[WEFT_SIDES]);

#endif
