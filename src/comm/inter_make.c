/* SPDX-License-Identifier: BSD-3-Clause */
#include "comm/inter_make.h"

int wefti_inter_create(const weft_inter_parts_t *parts, weft_comm_t **out)
{
    weft_comm_t *inter, *both;
    int err = weft_comm_create_inter(parts->own, parts->remote, parts->model, &inter);
    if (err != MPI_SUCCESS)
        return err;
    err = weft_comm_create(parts->both, WEFT_NO_CONTEXT, parts->model, &both);
    if (err != MPI_SUCCESS) {
        weft_comm_release(inter);
        return err;
    }
    weft_comm_unite(inter, both);
    *out = inter;
    return MPI_SUCCESS;
}

int wefti_inter_make(const weft_members_t *members, const weft_creation_t *creation,
                     const weft_inter_parts_t *parts, int error, weft_comm_t **out)
{
    weft_comm_t *inter = NULL;
    uint32_t context;
    if (error == MPI_SUCCESS)
        error = wefti_inter_create(parts, &inter);
    error = wefti_agree(members, creation, error, &context);
    if (error == MPI_SUCCESS) {
        inter->context = inter->both->context = context;
        *out = inter;
    } else if (inter != NULL) {
        weft_comm_release(inter);
    }
    return error;
}
