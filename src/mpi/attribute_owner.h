/* SPDX-License-Identifier: BSD-3-Clause */
/* Owners of attributes that src/object does not know; for weft_comm_t see object/attribute.h. */
#ifndef WEFT_MPI_ATTRIBUTE_OWNER_H
#define WEFT_MPI_ATTRIBUTE_OWNER_H

#include "datatype/type.h"
#include "object/attribute.h"

/** For MPI_Type_set_attr and its kin; MPI_Type_dup copies these attributes and MPI_Type_free
 * deletes them. */
static inline weft_attribute_owner_t weft_type_attributes(weft_type_t *type)
{
    return (weft_attribute_owner_t){WEFT_KIND_TYPE, weft_type_handle(type), &type->attributes};
}

#endif
