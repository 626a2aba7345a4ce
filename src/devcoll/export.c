/* SPDX-License-Identifier: BSD-3-Clause */
#include "devcoll/export.h"

#include "datatype/pack.h"

enum { ALIGNMENT = 16 }; /* of regions in scratch: the bytes that kernels move at a time */

static size_t region_bytes(const weft_export_t *export, const weft_coll_region_t *region)
{
    if (region->count == 0)
        return 0;
    return region->count * (export->is_array ? (size_t)region->type->extent : region->type->size);
}

static size_t aligned(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

size_t wefti_export_bytes(const weft_export_t *export)
{
    size_t total = 0;
    for (int i = 0; i < export->regions.count; i++) {
        weft_coll_region_t region = wefti_regions_at(&export->regions, i);
        total += aligned(region_bytes(export, &region));
    }
    return total;
}

static bool is_in_pieces(const weft_export_t *export)
{
    for (int i = 0; i < export->regions.count && !export->is_array; i++) {
        weft_coll_region_t region = wefti_regions_at(&export->regions, i);
        if (region.count > 0 && !region.type->is_dense)
            return true;
    }
    return false;
}

/* Exports the user's own buffer. Returns false if others cannot map it, or its data are not in one
 * piece. */
static bool export_buffer(weft_export_t *export, const weft_memory_t *memory)
{
    ptrdiff_t low, high;
    if (is_in_pieces(export) || !wefti_regions_span(&export->regions, &low, &high))
        return false;
    uintptr_t first = (uintptr_t) export->regions.buf + (uintptr_t)low;
    size_t bytes = (size_t)(high - low);
    return first >= memory->base && first - memory->base <= memory->bytes &&
           weft_device->share(memory, (void *)first, bytes, &export->share);
}

static bool export_copy(weft_export_t *export)
{
    size_t bytes = wefti_export_bytes(export);
    weft_memory_t memory;
    export->scratch = weft_device->take_scratch(export->device, bytes);
    if (export->scratch == NULL)
        return false;
    export->share = (weft_share_t){0};
    if (weft_device->look(export->scratch, &memory) == MPI_SUCCESS &&
        weft_device->share(&memory, export->scratch, bytes, &export->share))
        return true;
    wefti_export_close(export);
    return false;
}

bool wefti_export_open(const weft_regions_t *regions, bool as_copy, weft_export_t *out)
{
    weft_memory_t memory;
    const void *first = wefti_regions_first(regions);
    *out = (weft_export_t){.regions = *regions, .is_array = regions->args->op != NULL};
    if (first == NULL)
        return true;
    if (weft_device->look(first, &memory) != MPI_SUCCESS || memory.kind < WEFT_MEMORY_MANAGED)
        return false;
    out->device = memory.device;
    return (!as_copy && export_buffer(out, &memory)) || export_copy(out);
}

bool wefti_export_move(weft_export_t *export, weft_device_t *device)
{
    wefti_export_close(export);
    export->device = device;
    return export_copy(export);
}

void wefti_export_rows(const weft_export_t *export, weft_export_row_t *rows_out)
{
    ptrdiff_t low = 0, high;
    size_t in_scratch = 0;
    wefti_regions_span(&export->regions, &low, &high);
    for (int i = 0; i < export->regions.count; i++) {
        weft_coll_region_t region = wefti_regions_at(&export->regions, i);
        size_t bytes = region_bytes(export, &region);
        size_t offset = export->scratch != NULL ? in_scratch : (size_t)(region.offset - low);
        rows_out[i] = (weft_export_row_t){.offset = bytes > 0 ? offset : 0, .bytes = bytes};
        in_scratch += aligned(bytes);
    }
}

/* Elements of an array are copied with the gaps between the members of a pair. */
void wefti_export_copy_of(const weft_export_t *export, int index, weft_elements_t *user_out,
                          weft_elements_t *scratch_out)
{
    size_t at = 0;
    for (int i = 0; i < index; i++) {
        weft_coll_region_t before = wefti_regions_at(&export->regions, i);
        at += aligned(region_bytes(export, &before));
    }
    weft_coll_region_t region = wefti_regions_at(&export->regions, index);
    size_t bytes = region_bytes(export, &region);
    char *user = (char *)((uintptr_t) export->regions.buf + (uintptr_t)region.offset);
    weft_type_t *byte = weft_type_of(MPI_BYTE);
    *scratch_out = (weft_elements_t){(char *)export->scratch + at, bytes, byte};
    *user_out = export->is_array ? (weft_elements_t){user, bytes, byte}
                                 : (weft_elements_t){user, region.count, region.type};
}

void wefti_export_close(weft_export_t *export)
{
    if (export->scratch != NULL)
        weft_device->give_scratch(export->device, export->scratch);
    export->scratch = NULL;
    if (weft_device != NULL)
        weft_device->unshare(&export->share);
    export->share = (weft_share_t){0};
}

weft_device_t *wefti_exports_device(const weft_export_t exports[WEFT_SIDES])
{
    weft_device_t *device = exports[WEFT_GETS].device;
    return device != NULL ? device : exports[WEFT_GIVES].device;
}

bool wefti_exports_keep_operands(const weft_export_t exports[WEFT_SIDES])
{
    const weft_regions_t *gives = &exports[WEFT_GIVES].regions, *gets = &exports[WEFT_GETS].regions;
    ptrdiff_t gives_low, gives_high, gets_low, gets_high;
    if (wefti_export_needs_copy(&exports[WEFT_GETS]) ||
        !wefti_regions_span(gives, &gives_low, &gives_high) ||
        !wefti_regions_span(gets, &gets_low, &gets_high))
        return true;
    uintptr_t given = (uintptr_t)gives->buf, got = (uintptr_t)gets->buf;
    return given + (uintptr_t)gives_high <= got + (uintptr_t)gets_low ||
           got + (uintptr_t)gets_high <= given + (uintptr_t)gives_low;
}
