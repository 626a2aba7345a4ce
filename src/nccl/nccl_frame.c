/* SPDX-License-Identifier: BSD-3-Clause */
#include "nccl/nccl_private.h"

#include "runtime/lock.h"
#include "runtime/world.h"
#include "base/fail.h"
#include "mpix.h"

#include <stdio.h>

static _Thread_local char last_error[NCCL_WHY_BYTES + 64];

ncclResult_t wefti_nccl_result_of(int error)
{
    switch (error) {
    case MPI_SUCCESS:
        return ncclSuccess;
    case MPI_ERR_ARG:
    case MPI_ERR_COMM:
    case MPI_ERR_COUNT:
    case MPI_ERR_BUFFER:
    case MPI_ERR_TYPE:
    case MPI_ERR_OP:
    case MPI_ERR_ROOT:
    case MPI_ERR_RANK:
        return ncclInvalidArgument;
    case MPI_ERR_UNSUPPORTED_OPERATION:
    case MPI_ERR_REQUEST:
    case MPI_ERR_TRUNCATE:
        return ncclInvalidUsage;
    case MPIX_ERR_PROC_FAILED:
    case MPIX_ERR_PROC_FAILED_PENDING:
    case MPIX_ERR_REVOKED:
        return ncclRemoteError;
    case MPI_ERR_INTERN:
        return ncclInternalError;
    default:
        return ncclSystemError;
    }
}

/* In a group a call that is refused spoils the group. */
ncclResult_t wefti_nccl_result(const char *name, int error)
{
    ncclResult_t result = wefti_nccl_result_of(error);
    if (result == ncclSuccess)
        return result;
    snprintf(last_error, sizeof(last_error), "%s: %s", name, weft_fail_text());
    wefti_nccl_spoil_group(result);
    return result;
}

int wefti_nccl_begin(void)
{
    if (weft_world.stage != WEFT_RUNNING)
        return weft_fail(MPI_ERR_UNSUPPORTED_OPERATION,
                         "MPI does not run in this process: neither ncclCommInitRank nor MPI_Init "
                         "has started it, or it has been finalized");
    weft_lock();
    return MPI_SUCCESS;
}

ncclResult_t wefti_nccl_end(const char *name, int begun, int error)
{
    if (begun == MPI_SUCCESS)
        weft_unlock();
    return wefti_nccl_result(name, error);
}

int wefti_nccl_check_output(const void *out, const char *name)
{
    return out != NULL ? MPI_SUCCESS
                       : weft_fail(MPI_ERR_ARG, "%s is NULL, but must be a pointer", name);
}

/* ---- texts ---- */

const char *weft_nccl_error_string(ncclResult_t result)
{
    static const char *const texts[ncclNumResults] = {
        [ncclSuccess] = "no error",
        [ncclUnhandledCudaError] = "a call of CUDA has failed",
        [ncclSystemError] = "a call of the system or of the device has failed",
        [ncclInternalError] = "internal error of Weft",
        [ncclInvalidArgument] = "an argument is wrong",
        [ncclInvalidUsage] = "the call is not allowed here",
        [ncclRemoteError] = "another rank has failed or has aborted",
        [ncclInProgress] = "the operation is under way"};
    return (unsigned)result < ncclNumResults ? texts[result] : "no result code of NCCL";
}

/* An error of an operation in a stream is the communicator's. */
const char *weft_nccl_last_error(ncclComm_t comm)
{
    int begun = wefti_nccl_begin();
    if (begun != MPI_SUCCESS)
        return last_error;
    bool is_live = comm != NULL && wefti_nccl_check_comm(comm, "comm") == MPI_SUCCESS;
    if (is_live && comm->async != ncclSuccess)
        snprintf(last_error, sizeof(last_error), "%s", comm->why);
    weft_unlock();
    return last_error;
}

ncclResult_t weft_nccl_get_version(int *version)
{
    int err = wefti_nccl_check_output(version, "version");
    if (err == MPI_SUCCESS)
        *version = NCCL_VERSION_CODE;
    return wefti_nccl_result("ncclGetVersion", err);
}
