/* SPDX-License-Identifier: BSD-3-Clause */
#include "devcoll/loan.h"

#include "datatype/pack.h"

enum { ALIGNMENT = 16 }; /* of regions in scratch: kernels move so many bytes at a time */

static size_t region_bytes(const weft_loan_t *loan, const weft_region_t *region)
{
    if (region->count == 0)
        return 0;
    return region->count * (loan->is_array ? (size_t)region->type->extent : region->type->size);
}

static size_t aligned(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static size_t scratch_bytes(const weft_loan_t *loan)
{
    size_t total = 0;
    for (int i = 0; i < loan->regions.count; i++) {
        weft_region_t region = weft_regions_at(&loan->regions, i);
        total += aligned(region_bytes(loan, &region));
    }
    return total;
}

static bool is_in_pieces(const weft_loan_t *loan)
{
    for (int i = 0; i < loan->regions.count && !loan->is_array; i++) {
        weft_region_t region = weft_regions_at(&loan->regions, i);
        if (region.count > 0 && !region.type->is_dense)
            return true;
    }
    return false;
}

/* The user's own buffer; false: that does not do. */
static bool lend_buffer(weft_loan_t *loan, const weft_memory_t *memory)
{
    ptrdiff_t low, high;
    if (is_in_pieces(loan) || !weft_regions_span(&loan->regions, &low, &high))
        return false;
    uintptr_t first = (uintptr_t)loan->regions.buf + (uintptr_t)low;
    size_t bytes = (size_t)(high - low);
    return first >= memory->base && first - memory->base <= memory->bytes &&
           bytes <= memory->bytes - (first - memory->base) &&
           weft_device_share(memory, (void *)first, bytes, &loan->share);
}

static bool lend_copy(weft_loan_t *loan)
{
    size_t bytes = scratch_bytes(loan);
    weft_memory_t memory;
    loan->scratch = weft_scratch_take(loan->device, bytes);
    if (loan->scratch == NULL)
        return false;
    loan->share = (weft_share_t){0};
    if (weft_memory_look(loan->scratch, &memory) == MPI_SUCCESS &&
        weft_device_share(&memory, loan->scratch, bytes, &loan->share))
        return true;
    weft_loan_close(loan);
    return false;
}

bool weft_loan_open(const weft_regions_t *regions, bool as_copy, weft_loan_t *out)
{
    weft_memory_t memory;
    const void *first = weft_regions_first(regions);
    *out = (weft_loan_t){.regions = *regions, .is_array = regions->args->op != NULL};
    if (first == NULL)
        return true;
    if (!weft_is_device(first) || weft_memory_look(first, &memory) != MPI_SUCCESS)
        return false;
    out->device = memory.device;
    return (!as_copy && lend_buffer(out, &memory)) || lend_copy(out);
}

void weft_loan_rows(const weft_loan_t *loan, weft_loan_row_t *rows_out)
{
    ptrdiff_t low = 0, high;
    size_t in_scratch = 0;
    weft_regions_span(&loan->regions, &low, &high);
    for (int i = 0; i < loan->regions.count; i++) {
        weft_region_t region = weft_regions_at(&loan->regions, i);
        size_t bytes = region_bytes(loan, &region);
        size_t offset = loan->scratch != NULL ? in_scratch : (size_t)(region.offset - low);
        rows_out[i] = (weft_loan_row_t){.offset = bytes > 0 ? offset : 0, .bytes = bytes};
        in_scratch += aligned(bytes);
    }
}

/* An array of elements goes as it is: what lies between the members of a pair is nobody's. */
void weft_loan_copy_of(const weft_loan_t *loan, int index, weft_elements_t *user_out,
                       weft_elements_t *scratch_out)
{
    size_t at = 0;
    for (int i = 0; i < index; i++) {
        weft_region_t before = weft_regions_at(&loan->regions, i);
        at += aligned(region_bytes(loan, &before));
    }
    weft_region_t region = weft_regions_at(&loan->regions, index);
    size_t bytes = region_bytes(loan, &region);
    char *user = (char *)((uintptr_t)loan->regions.buf + (uintptr_t)region.offset);
    weft_type_t *byte = weft_type_of(MPI_BYTE);
    *scratch_out = (weft_elements_t){(char *)loan->scratch + at, bytes, byte};
    *user_out = loan->is_array ? (weft_elements_t){user, bytes, byte}
                               : (weft_elements_t){user, region.count, region.type};
}

bool weft_loans_are_on(const weft_loan_t loans[WEFT_SIDES], const weft_device_t *device)
{
    bool are_alike = true;
    for (int side = 0; side < WEFT_SIDES; side++)
        are_alike &= loans[side].device == NULL || loans[side].device == device;
    return are_alike;
}

void weft_loan_close(weft_loan_t *loan)
{
    if (loan->scratch != NULL)
        weft_scratch_give(loan->device, loan->scratch);
    loan->scratch = NULL;
}
