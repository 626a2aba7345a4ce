/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Comm_split_type: parts that share hardware, or are a process set (MPI 5.0 section 7.4.2). */
#include "mpi/api.h"

#include "mpi/check.h"
#include "mpi/leaks.h"
#include "mpi/process_sets.h"
#include "comm/comm_make.h"
#include "object/comm_hints.h"
#include "base/fail.h"

#include <stdio.h>
#include <string.h>

/* "mpi_shared_memory", or "hwloc://" and a name of hwloc's (section 7.4.2). */
static const char hwloc_prefix[] = "hwloc://";

static int level_of_resource(const char *name)
{
    size_t prefix = sizeof(hwloc_prefix) - 1;
    if (name != NULL && strcmp(name, "mpi_shared_memory") == 0)
        return WEFT_LEVEL_HOST;
    if (name == NULL || strncmp(name, hwloc_prefix, prefix) != 0)
        return WEFT_LEVEL_NONE;
    int kind = weft_hardware_named(name + prefix);
    return kind < 0 ? WEFT_LEVEL_NONE : kind;
}

static const char *hint(const weft_info_t *info, const char *key)
{
    return info == NULL ? NULL : weft_info_get(info, key);
}

/* A resource that Weft does not know makes MPI_COMM_NULL. */
static int split_level(int split_type, const weft_info_t *info, int *level_out)
{
    switch (split_type) {
    case MPI_COMM_TYPE_SHARED:
        *level_out = WEFT_LEVEL_HOST;
        return MPI_SUCCESS;
    case MPI_COMM_TYPE_HW_UNGUIDED:
        *level_out = WEFT_LEVEL_UNGUIDED;
        return MPI_SUCCESS;
    case MPI_COMM_TYPE_HW_GUIDED:
    case MPI_COMM_TYPE_RESOURCE_GUIDED:
        *level_out = level_of_resource(hint(info, "mpi_hw_resource_type"));
        return MPI_SUCCESS;
    case MPI_UNDEFINED:
        *level_out = WEFT_LEVEL_NONE;
        return MPI_SUCCESS;
    default:
        return weft_fail(MPI_ERR_ARG, "split_type is %d, which is no MPI_COMM_TYPE_ constant",
                         split_type);
    }
}

/* An unguided split names in the info what the new communicators share. */
static int name_resource(int split_type, int level, weft_info_t *info)
{
    char name[sizeof(hwloc_prefix) + 32] = "mpi_shared_memory";
    if (split_type != MPI_COMM_TYPE_HW_UNGUIDED || info == NULL)
        return MPI_SUCCESS;
    if (level >= 0)
        snprintf(name, sizeof(name), "%s%s", hwloc_prefix, weft_hardware_name(level));
    return weft_info_set(info, "mpi_hw_resource_type", name);
}

/* One communicator for each process set of this name; its members call it by the one with the
 * lowest rank. */
static int split_by_set(weft_comm_t *comm, const char *set_name, int key, weft_comm_t **out)
{
    int number = weft_process_set_find(set_name);
    int color = number < 0 ? MPI_UNDEFINED : weft_process_set_first(number);
    return weft_comm_split(comm, color, key, out);
}

static int split_by_hardware(weft_comm_t *comm, int split_type, int key, weft_info_t *info,
                             weft_comm_t **out)
{
    int level;
    int err = split_level(split_type, info, &level);
    if (err == MPI_SUCCESS)
        err = weft_comm_split_by_level(comm, &level, key, out);
    if (err == MPI_SUCCESS && *out != NULL)
        err = name_resource(split_type, level, info);
    return err;
}

/** Divides a communicator into one for each host, or for each part of the hardware that several
 *  ranks are bound to (section 7.4.2). Collective over comm; all ranks give the same split_type, or
 *  MPI_UNDEFINED. The new ones have comm's error handler and the hints of info.
 *  @param[in] split_type  MPI_COMM_TYPE_SHARED: ranks of one host; MPI_COMM_TYPE_HW_GUIDED or
 *      MPI_COMM_TYPE_RESOURCE_GUIDED: ranks that share what info names; MPI_COMM_TYPE_HW_UNGUIDED:
 *      ranks that share the largest thing that not all of comm share; MPI_UNDEFINED: the caller
 *      wants none
 *  @param[in,out] info  hints for the new communicator, or MPI_INFO_NULL. For the guided types its
 *      key `mpi_hw_resource_type` is `mpi_shared_memory`, a host, or `hwloc://` with Package,
 *      NUMANode, L3Cache, L2Cache, L1Cache, Core or PU behind it. An unguided split sets this key
 *      where it makes a communicator. MPI_COMM_TYPE_RESOURCE_GUIDED also takes the key
 *      `mpi_pset_name`, the same at all ranks: the members of the process set of that name get a
 *      communicator
 *  @param[out] newcomm  MPI_COMM_NULL also at ranks that are not bound to one instance of the
 *      resource or are not in the process set, for a resource that Weft does not know, and if an
 *      unguided split finds nothing that divides comm
 *  @error MPI_ERR_ARG  split_type is none of these
 *  @note Resources of hwloc need a Weft that was built with it: otherwise the result is
 *      MPI_COMM_NULL. If both keys are there, `mpi_pset_name` holds. */
WEFT_API(MPI_Comm_split_type);
int PMPI_Comm_split_type(MPI_Comm handle, int split_type, int key, MPI_Info info_handle,
                         MPI_Comm *newcomm)
{
    weft_call_t call = weft_call_begin("MPI_Comm_split_type");
    weft_comm_t *comm, *part;
    weft_info_t *info;
    int err = weft_check_live_comm(&call, handle, &comm);
    if (err == MPI_SUCCESS)
        err = weft_check_output(newcomm, "newcomm");
    if (err == MPI_SUCCESS)
        err = weft_check_info(info_handle, &info);
    if (err != MPI_SUCCESS)
        return weft_call_end(&call, err);
    const char *set_name =
        split_type == MPI_COMM_TYPE_RESOURCE_GUIDED ? hint(info, "mpi_pset_name") : NULL;
    err = set_name == NULL ? split_by_hardware(comm, split_type, key, info, &part)
                           : split_by_set(comm, set_name, key, &part);
    if (err != MPI_SUCCESS)
        return weft_call_end(&call, err);
    *newcomm = weft_give_comm(call.name, part);
    if (part != NULL)
        err = weft_comm_set_hints(part, info);
    return weft_call_end(&call, err);
}
