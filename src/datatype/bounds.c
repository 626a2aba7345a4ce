/* SPDX-License-Identifier: BSD-3-Clause */
#include "datatype/bounds_private.h"

#include "datatype/external32.h"
#include "base/fail.h"

MPI_Aint weft_bounds_times(weft_bounds_t *bounds, MPI_Aint a, MPI_Aint b)
{
    MPI_Aint product = 0;
    bounds->has_overflow |= __builtin_mul_overflow(a, b, &product);
    return product;
}

MPI_Aint weft_bounds_plus(weft_bounds_t *bounds, MPI_Aint a, MPI_Aint b)
{
    MPI_Aint sum = 0;
    bounds->has_overflow |= __builtin_add_overflow(a, b, &sum);
    return sum;
}

static MPI_Aint lesser(MPI_Aint a, MPI_Aint b)
{
    return a < b ? a : b;
}

static MPI_Aint greater(MPI_Aint a, MPI_Aint b)
{
    return a > b ? a : b;
}

/* If any entry has markers, lb and ub come from the markers alone (section 5.1.6). */
static void widen_bounds(weft_bounds_t *bounds, MPI_Aint lb, MPI_Aint ub, bool has_markers)
{
    if (bounds->has_entries && bounds->has_markers && !has_markers)
        return;
    bool replaces = !bounds->has_entries || (has_markers && !bounds->has_markers);
    bounds->lb = replaces ? lb : lesser(bounds->lb, lb);
    bounds->ub = replaces ? ub : greater(bounds->ub, ub);
    bounds->has_markers |= has_markers;
    bounds->has_entries = true;
}

static void widen_true_bounds(weft_bounds_t *bounds, MPI_Aint true_lb, MPI_Aint true_ub)
{
    bounds->true_lb = bounds->has_data ? lesser(bounds->true_lb, true_lb) : true_lb;
    bounds->true_ub = bounds->has_data ? greater(bounds->true_ub, true_ub) : true_ub;
    bounds->has_data = true;
}

void weft_bounds_add(weft_bounds_t *bounds, const weft_type_t *type, MPI_Aint displacement,
                     MPI_Aint count)
{
    if (count == 0 || (type->size == 0 && !type->has_markers))
        return;
    MPI_Aint last = weft_bounds_times(bounds, count - 1, type->extent);
    MPI_Aint low = weft_bounds_plus(bounds, displacement, lesser(last, 0));
    MPI_Aint high = weft_bounds_plus(bounds, displacement, greater(last, 0));
    MPI_Aint ub = weft_bounds_plus(bounds, type->lb, type->extent);
    widen_bounds(bounds, weft_bounds_plus(bounds, low, type->lb),
                 weft_bounds_plus(bounds, high, ub), type->has_markers);
    if (type->size > 0) {
        MPI_Aint true_ub = weft_bounds_plus(bounds, type->true_lb, type->true_extent);
        widen_true_bounds(bounds, weft_bounds_plus(bounds, low, type->true_lb),
                          weft_bounds_plus(bounds, high, true_ub));
    }
    MPI_Aint bytes = weft_bounds_times(bounds, count, (MPI_Aint)type->size);
    MPI_Aint elements = weft_bounds_times(bounds, count, (MPI_Aint)type->elements);
    bounds->size = weft_bounds_plus(bounds, bounds->size, bytes);
    bounds->elements = weft_bounds_plus(bounds, bounds->elements, elements);
    bounds->external_size += (size_t)count * weft_external_size(type);
    if (type->alignment > bounds->alignment)
        bounds->alignment = type->alignment;
}

void weft_bounds_pad(weft_bounds_t *bounds)
{
    if (bounds->has_markers || bounds->alignment == 0)
        return;
    MPI_Aint extent = weft_bounds_plus(bounds, bounds->ub, -bounds->lb);
    MPI_Aint excess = extent % bounds->alignment;
    if (excess != 0)
        bounds->ub = weft_bounds_plus(bounds, bounds->ub, bounds->alignment - excess);
}

int weft_bounds_apply(weft_bounds_t *bounds, weft_type_t *type)
{
    MPI_Aint extent = 0, true_extent = 0;
    bounds->has_overflow |= __builtin_sub_overflow(bounds->ub, bounds->lb, &extent);
    bounds->has_overflow |= __builtin_sub_overflow(bounds->true_ub, bounds->true_lb, &true_extent);
    if (bounds->has_overflow)
        return weft_fail(MPI_ERR_COUNT, "the size or the extent of the type exceeds 64 bits");
    type->size = (size_t)bounds->size;
    type->elements = (size_t)bounds->elements;
    type->external_size = bounds->external_size;
    type->lb = bounds->lb;
    type->extent = extent;
    type->true_lb = bounds->true_lb;
    type->true_extent = true_extent;
    type->alignment = bounds->alignment;
    type->has_markers = bounds->has_markers;
    return MPI_SUCCESS;
}
