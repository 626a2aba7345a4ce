/* SPDX-License-Identifier: BSD-3-Clause */
#include "tool/enumeration.h"

#include "base/memory.h"

#include <stddef.h>

/* A handle is the address of the enumeration. Any other address is no handle: so what a tool gives
 * is looked for here before it is followed. */
static const weft_enum_t **shown;
static int shown_count;

int weft_enum_show(const weft_enum_t *names)
{
    if (names == NULL || weft_enum_of(weft_enum_handle(names)) != NULL)
        return MPI_SUCCESS;
    const weft_enum_t **more =
        weft_realloc(shown, ((size_t)shown_count + 1) * sizeof(const weft_enum_t *));
    if (more == NULL)
        return MPI_T_ERR_MEMORY;
    shown = more;
    shown[shown_count++] = names;
    return MPI_SUCCESS;
}

const weft_enum_t *weft_enum_of(MPI_T_enum handle)
{
    for (int i = 0; i < shown_count; i++) {
        if ((const void *)shown[i] == (const void *)handle)
            return shown[i];
    }
    return NULL;
}

MPI_T_enum weft_enum_handle(const weft_enum_t *names)
{
    return names == NULL ? MPI_T_ENUM_NULL : (MPI_T_enum)names;
}

void weft_enums_close(void)
{
    weft_free(shown);
    shown = NULL;
    shown_count = 0;
}
