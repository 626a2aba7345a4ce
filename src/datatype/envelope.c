/* SPDX-License-Identifier: BSD-3-Clause */
#include "datatype/envelope.h"

#include "base/memory.h"

#include <stdint.h>

static size_t values_of(const weft_envelope_shape_t *shape)
{
    size_t values = 0;
    for (int i = 0; i < shape->section_count; i++)
        values += shape->section[i].length;
    return values;
}

weft_envelope_t *weft_envelope_create(const weft_envelope_shape_t *shape)
{
    size_t values = values_of(shape);
    if (values > SIZE_MAX / 32 || shape->type_count > SIZE_MAX / 32)
        return NULL;
    size_t bytes = sizeof(weft_envelope_t) + values * sizeof(MPI_Count) +
                   shape->type_count * sizeof(weft_type_t *);
    weft_envelope_t *envelope = weft_alloc(bytes);
    if (envelope == NULL)
        return NULL;
    *envelope = (weft_envelope_t){
        .combiner = shape->combiner,
        .section_count = shape->section_count,
        .value_count = values,
        .type_count = shape->type_count,
        .values = (MPI_Count *)(envelope + 1),
        .types = (weft_type_t **)((MPI_Count *)(envelope + 1) + values),
    };
    for (int i = 0; i < shape->section_count; i++)
        envelope->section[i] = shape->section[i];
    return envelope;
}

void weft_envelope_destroy(weft_envelope_t *envelope)
{
    for (size_t i = 0; i < envelope->type_count; i++)
        weft_type_release(envelope->types[i]);
    if (envelope->expansion != NULL)
        weft_type_release(envelope->expansion);
    weft_free(envelope);
}

weft_envelope_sizes_t weft_envelope_sizes(const weft_type_t *type)
{
    const weft_envelope_t *envelope = type->envelope;
    if (envelope == NULL)
        return (weft_envelope_sizes_t){.combiner = MPI_COMBINER_NAMED};
    weft_envelope_sizes_t sizes = {.types = (MPI_Count)envelope->type_count,
                                   .combiner = envelope->combiner};
    for (int i = 0; i < envelope->section_count; i++) {
        const weft_envelope_section_t *section = &envelope->section[i];
        if (section->kind == WEFT_SECTION_INT)
            sizes.integers += (MPI_Count)section->length;
        else if (envelope->is_wide)
            sizes.large_counts += (MPI_Count)section->length;
        else if (section->kind == WEFT_SECTION_COUNT)
            sizes.integers += (MPI_Count)section->length;
        else
            sizes.addresses += (MPI_Count)section->length;
    }
    return sizes;
}

void weft_envelope_contents(const weft_type_t *type, const weft_contents_t *out)
{
    const weft_envelope_t *envelope = type->envelope;
    const MPI_Count *value = envelope->values;
    size_t integers = 0, addresses = 0, large_counts = 0;
    for (int i = 0; i < envelope->section_count; i++) {
        const weft_envelope_section_t *section = &envelope->section[i];
        bool is_large = envelope->is_wide && section->kind != WEFT_SECTION_INT;
        for (size_t j = 0; j < section->length; j++, value++) {
            if (is_large)
                out->large_counts[large_counts++] = *value;
            else if (section->kind == WEFT_SECTION_ADDRESS)
                out->addresses[addresses++] = (MPI_Aint)*value;
            else
                out->integers[integers++] = (int)*value;
        }
    }
    for (size_t i = 0; i < envelope->type_count; i++) {
        weft_type_retain(envelope->types[i]);
        out->types[i] = weft_type_handle(envelope->types[i]);
    }
}
