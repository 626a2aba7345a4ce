/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/coll_call.h"

#include "mpi/leaks.h"
#include "base/fail.h"

const weft_side_names_t weft_send_names = {"sendbuf",    "sendcount", "sendtype",
                                           "sendcounts", "displs",    "sendtypes"};
const weft_side_names_t weft_recv_names = {"recvbuf",    "recvcount", "recvtype",
                                           "recvcounts", "displs",    "recvtypes"};

const weft_side_names_t weft_alltoall_send_names = {"sendbuf",    "sendcount", "sendtype",
                                                    "sendcounts", "sdispls",   "sendtypes"};
const weft_side_names_t weft_alltoall_recv_names = {"recvbuf",    "recvcount", "recvtype",
                                                    "recvcounts", "rdispls",   "recvtypes"};

const weft_side_names_t weft_bcast_names = {.buf = "buffer", .count = "count", .type = "datatype"};

int weft_bad_alias(void)
{
    return weft_fail(MPI_ERR_BUFFER, "sendbuf and recvbuf are the same; use MPI_IN_PLACE");
}

/* ---- arrays ---- */

static int check_presence(const void *array, const char *name, int entries)
{
    if (array != NULL || entries == 0)
        return MPI_SUCCESS;
    return weft_fail(MPI_ERR_ARG, "%s is NULL, but must have %d entries", name, entries);
}

static int check_piece_type(const weft_coll_side_t *side, const weft_side_names_t *names, int rank,
                            weft_type_t **out)
{
    weft_type_t *type = weft_type_of(side->types[rank]);
    *out = type;
    if (type != NULL && type->can_receive)
        return MPI_SUCCESS;
    weft_entry_name_t name = weft_entry_name(names->types, rank);
    return weft_check_side_type(side->types[rank], 1, names, name.text, out);
}

/* The entries for `rank`. With a count of 0 the type may be any, MPI_DATATYPE_NULL too. */
static int check_vector_entry(const weft_coll_side_t *side, const weft_side_names_t *names,
                              int rank)
{
    MPI_Count count = weft_count_at(side->counts, (size_t)rank);
    weft_type_t *type = weft_type_of(side->type);
    uintptr_t at = (uintptr_t)side->buf;
    int err = MPI_SUCCESS;
    if (count < 0)
        return weft_bad_count(count, weft_entry_name(names->counts, rank).text);
    if (count == 0)
        return MPI_SUCCESS;
    if (side->layout == WEFT_LAYOUT_PIECES) {
        err = check_piece_type(side, names, rank, &type);
        at += (uintptr_t)weft_count_at(side->displs, (size_t)rank); /* buf may be MPI_BOTTOM */
    }
    return err == MPI_SUCCESS ? weft_check_buffer((const void *)at, count, type, names->buf) : err;
}

/* The arguments that are not arrays' entries. */
static int check_presences(const weft_coll_side_t *side, const weft_side_names_t *names,
                           int entries)
{
    weft_type_t *type;
    int err = check_presence(side->counts.at, names->counts, entries);
    if (err == MPI_SUCCESS)
        err = check_presence(side->displs.at, names->displs, entries);
    if (err != MPI_SUCCESS)
        return err;
    return side->layout == WEFT_LAYOUT_PIECES
               ? check_presence(side->types, names->types, entries)
               : weft_check_side_type(side->type, entries, names, names->type, &type);
}

int weft_check_arrays(const weft_coll_side_t *side, const weft_side_names_t *names, int entries)
{
    if (side->buf == MPI_IN_PLACE)
        return weft_bad_in_place(names->buf);
    int err = check_presences(side, names, entries);
    for (int i = 0; err == MPI_SUCCESS && i < entries; i++)
        err = check_vector_entry(side, names, i);
    return err;
}

int weft_check_recvcounts(weft_counts_t counts, int entries, MPI_Count *total_out)
{
    MPI_Count total = 0;
    int err = check_presence(counts.at, "recvcounts", entries);
    for (int i = 0; err == MPI_SUCCESS && i < entries; i++) {
        MPI_Count count = weft_count_at(counts, (size_t)i);
        if (count < 0)
            err = weft_bad_count(count, weft_entry_name("recvcounts", i).text);
        total += count;
    }
    *total_out = total;
    return err;
}

/* ---- this rank's block for itself ---- */

static size_t own_bytes(const weft_coll_side_t *side, int rank)
{
    size_t count = side->layout == WEFT_LAYOUT_BLOCK
                       ? (size_t)side->count
                       : (size_t)weft_count_at(side->counts, (size_t)rank);
    MPI_Datatype type = side->layout == WEFT_LAYOUT_PIECES ? side->types[rank] : side->type;
    return count == 0 ? 0 : count * weft_type_of(type)->size;
}

/* Types with gaps may interleave, and displacements may keep the sides apart. */
static bool is_one_run(const weft_coll_side_t *side)
{
    return side->layout == WEFT_LAYOUT_BLOCK && weft_type_of(side->type)->is_dense;
}

int weft_check_own_sides(const weft_coll_side_t *send, const weft_coll_side_t *recv, int rank)
{
    size_t sent = own_bytes(send, rank), received = own_bytes(recv, rank);
    if (sent != received)
        return weft_fail(MPI_ERR_TRUNCATE,
                         "rank %d sends itself %zu bytes, but receives %zu from itself", rank, sent,
                         received);
    if (sent > 0 && send->buf == recv->buf && send->buf != MPI_BOTTOM && is_one_run(send) &&
        is_one_run(recv))
        return weft_bad_alias();
    return MPI_SUCCESS;
}

/* ---- requests ---- */

int weft_coll_request(const weft_coll_call_t *user, const weft_coll_args_t *args)
{
    weft_request_t *request;
    weft_info_t *info; /* no key of it is known */
    bool is_persistent = user->form == WEFT_PERSISTENT;
    int err = is_persistent ? weft_check_info(user->info, &info) : MPI_SUCCESS;
    if (err == MPI_SUCCESS)
        err = weft_check_output(user->request, "request");
    if (err != MPI_SUCCESS)
        return err;
    if (is_persistent)
        err = weft_coll_prepare(user->coll, args, &request);
    else if (user->form == WEFT_ENQUEUED_BEGUN)
        err = weft_enqueue_coll(user->name, user->coll, args, &request);
    else
        err = weft_coll_begin(user->coll, args, &request);
    if (err == MPI_SUCCESS)
        *user->request =
            request == NULL ? MPI_REQUEST_NULL : weft_give_request(user->name, request);
    return err;
}
