/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory and hardware (MPI 5.0 sections 9.1 and 9.2). */
#include "mpi/api.h"

#include "mpi/check.h"
#include "runtime/hardware.h"
#include "base/fail.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>

/* A cache line, so that the memory shares no line with other data. */
enum { DEFAULT_ALIGNMENT = 64 };

/* The key mpi_minimum_memory_alignment: bytes, a power of two. */
static int find_alignment(const weft_info_t *info, size_t *out)
{
    *out = DEFAULT_ALIGNMENT;
    const char *value = info == NULL ? NULL : weft_info_get(info, "mpi_minimum_memory_alignment");
    if (value == NULL)
        return MPI_SUCCESS;
    char *end;
    unsigned long long wanted = strtoull(value, &end, 10);
    if (*end != '\0' || wanted == 0 || (wanted & (wanted - 1)) != 0)
        return weft_fail(MPI_ERR_INFO_VALUE,
                         "mpi_minimum_memory_alignment is \"%s\", but must be a power of two",
                         value);
    if (wanted > DEFAULT_ALIGNMENT)
        *out = (size_t)wanted;
    return MPI_SUCCESS;
}

/** Allocates host memory, to be freed with MPI_Free_mem (section 9.2).
 *  @param[in] size  in bytes; 0 is allowed
 *  @param[in] info  key mpi_minimum_memory_alignment: a power of two, in bytes; other keys are
 *      ignored
 *  @param[out] baseptr  the address of a pointer, which gets the address of the memory
 *  @error MPI_ERR_NO_MEM  there is no memory
 *  @error MPI_ERR_ARG  size is negative
 *  @error MPI_ERR_INFO_VALUE  the alignment is no power of two
 *  @note The memory is aligned to 64 bytes at least. It comes from the heap; messages are no faster
 *      from it than from other memory.
 *  @see MPI_Free_mem */
WEFT_API(MPI_Alloc_mem);
int PMPI_Alloc_mem(MPI_Aint size, MPI_Info info_handle, void *baseptr)
{
    weft_call_t call = weft_call_begin("MPI_Alloc_mem");
    weft_info_t *info;
    size_t alignment;
    int err = weft_check_output(baseptr, "baseptr");
    if (err == MPI_SUCCESS && size < 0)
        err = weft_fail(MPI_ERR_ARG, "size is %lld, but must be at least 0", (long long)size);
    if (err == MPI_SUCCESS)
        err = weft_check_info(info_handle, &info);
    if (err == MPI_SUCCESS)
        err = find_alignment(info, &alignment);
    if (err != MPI_SUCCESS)
        return weft_call_end(&call, err);
    void *memory = weft_alloc_aligned((size_t)size, alignment);
    if (memory == NULL)
        err = weft_fail(MPI_ERR_NO_MEM, "no memory for %lld bytes", (long long)size);
    else
        *(void **)baseptr = memory;
    return weft_call_end(&call, err);
}

/** Frees memory that MPI_Alloc_mem has allocated (section 9.2).
 *  @param[in] base  the address of the memory; NULL: nothing is done
 *  @see MPI_Alloc_mem */
WEFT_API(MPI_Free_mem);
int PMPI_Free_mem(void *base)
{
    weft_call_t call = weft_call_begin("MPI_Free_mem");
    weft_free(base);
    return weft_call_end(&call, MPI_SUCCESS);
}

static int name_bound(weft_info_t *info)
{
    int instances[WEFT_HARDWARE_KINDS], err = MPI_SUCCESS;
    weft_hardware_find(instances);
    for (int i = 0; weft_hardware_is_known() && i < WEFT_HARDWARE_KINDS && err == MPI_SUCCESS;
         i++) {
        char name[64];
        snprintf(name, sizeof(name), "hwloc://%s", weft_hardware_name(i));
        err = weft_info_set(info, name, instances[i] >= 0 ? "true" : "false");
    }
    return err;
}

/** Tells which kinds of hardware MPI_Comm_split_type can split by (section 9.1.2). The info has a
 *  key for each: mpi_shared_memory and, if Weft was built with hwloc, hwloc://Package,
 *  hwloc://NUMANode, hwloc://L3Cache and so on down to hwloc://PU. "true": the calling thread is
 *  bound to one instance.
 *  @param[out] hw_info  a new info object, to be freed with MPI_Info_free
 *  @see MPI_Comm_split_type */
WEFT_API(MPI_Get_hw_resource_info);
int PMPI_Get_hw_resource_info(MPI_Info *hw_info)
{
    weft_call_t call = weft_call_begin("MPI_Get_hw_resource_info");
    weft_info_t *info = NULL;
    int err = weft_check_output(hw_info, "hw_info");
    if (err == MPI_SUCCESS)
        err = weft_info_create(&info);
    if (err == MPI_SUCCESS)
        err = weft_info_set(info, "mpi_shared_memory", "true");
    if (err == MPI_SUCCESS)
        err = name_bound(info);
    if (err == MPI_SUCCESS)
        *hw_info = weft_info_handle(info);
    else
        weft_info_release(info);
    return weft_call_end(&call, err);
}
