/* SPDX-License-Identifier: BSD-3-Clause */
#include "datatype/signature_private.h"

#include "datatype/envelope.h"
#include "base/fail.h"
#include "base/memory.h"

#include <string.h>

void weft_signature_open(weft_signature_t *signature, const weft_type_t *type, size_t count)
{
    signature->whole = (weft_same_elements_t){type, count};
    signature->level = signature->first;
    signature->depth = 0;
    signature->room = WEFT_SIGNATURE_LEVELS;
    signature->error = MPI_SUCCESS;
}

static bool make_room(weft_signature_t *signature)
{
    size_t room = 2 * signature->room, bytes = room * sizeof(*signature->level);
    bool is_first = signature->level == signature->first;
    weft_signature_level_t *level = weft_realloc(is_first ? NULL : signature->level, bytes);
    if (level == NULL) {
        signature->error =
            weft_fail(MPI_ERR_NO_MEM, "no memory for the levels of a datatype that is nested deep");
        return false;
    }
    if (is_first)
        memcpy(level, signature->first, sizeof(signature->first));
    signature->level = level;
    signature->room = room;
    return true;
}

/* Descend to the struct or the predefined type that all elements are made of. True: it is a
 * predefined type, and *out is set; false: the struct is the new level, or there is no memory. */
static bool descend(weft_signature_t *signature, weft_same_elements_t at, weft_same_elements_t *out)
{
    while (!at.type->is_predefined && at.type->envelope->combiner != MPI_COMBINER_STRUCT) {
        const weft_type_t *inner = weft_envelope_base(at.type->envelope);
        at.count *= at.type->size / inner->size;
        at.type = inner;
    }
    if (at.type->is_predefined) {
        *out = at;
        return true;
    }
    if (signature->depth < signature->room || make_room(signature))
        signature->level[signature->depth++] =
            (weft_signature_level_t){.type = at.type, .copies = at.count};
    return false;
}

/* The next member that has data; count 0: the struct is over. */
static weft_same_elements_t next_member(weft_signature_level_t *level)
{
    const weft_envelope_t *envelope = level->type->envelope;
    const MPI_Count *block_counts = envelope->values + 1;
    while (level->copies > 0) {
        while (level->member < envelope->type_count) {
            size_t at = level->member++;
            if (block_counts[at] > 0 && envelope->types[at]->size > 0)
                return (weft_same_elements_t){envelope->types[at], (size_t)block_counts[at]};
        }
        level->member = 0;
        level->copies--;
    }
    return (weft_same_elements_t){0};
}

bool weft_signature_next(weft_signature_t *signature, weft_same_elements_t *out)
{
    weft_same_elements_t whole = signature->whole;
    signature->whole.count = 0;
    if (whole.count > 0 && whole.type->size > 0 && descend(signature, whole, out))
        return true;
    while (signature->depth > 0 && signature->error == MPI_SUCCESS) {
        weft_same_elements_t member = next_member(&signature->level[signature->depth - 1]);
        if (member.count == 0)
            signature->depth--;
        else if (descend(signature, member, out))
            return true;
    }
    return false;
}

int weft_signature_close(weft_signature_t *signature)
{
    if (signature->level != signature->first)
        weft_free(signature->level);
    return signature->error;
}
