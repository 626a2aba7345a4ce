/* SPDX-License-Identifier: BSD-3-Clause */
/* cuStreamWaitValue, cuStreamWriteValue and batches of them. */
#include "sim_stream.h"

#include <string.h>
#include <unistd.h>

typedef struct memops {
    unsigned count;
    CUstreamBatchMemOpParams ops[];
} memops_t;

static bool may_touch(const sim_context_t *context, CUdeviceptr address, size_t bytes)
{
    sim_lock();
    bool may = sim_may_touch(context, (sim_area_t){address, bytes, true});
    sim_unlock();
    return may;
}

static bool is_met(uint64_t now, uint64_t value, unsigned flags, bool is_wide)
{
    switch (flags & 3) {
    case CU_STREAM_WAIT_VALUE_GEQ: /* cyclic: counters may wrap round */
        return is_wide ? (int64_t)(now - value) >= 0 : (int32_t)(uint32_t)(now - value) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ:
        return now == value;
    case CU_STREAM_WAIT_VALUE_AND:
        return (now & value) != 0;
    default:
        return is_wide ? ~(now | value) != 0 : (uint32_t) ~(now | value) != 0;
    }
}

static uint64_t load(const void *at, bool is_wide)
{
    if (is_wide)
        return __atomic_load_n((const uint64_t *)at, __ATOMIC_ACQUIRE);
    return __atomic_load_n((const uint32_t *)at, __ATOMIC_ACQUIRE);
}

static void store(void *at, uint64_t value, bool is_wide)
{
    if (is_wide)
        __atomic_store_n((uint64_t *)at, value, __ATOMIC_RELEASE);
    else
        __atomic_store_n((uint32_t *)at, (uint32_t)value, __ATOMIC_RELEASE);
}

static void report_wait(const sim_context_t *context, const void *at, uint64_t value)
{
    sim_lock();
    sim_report_wait(context->device, at, value);
    sim_unlock();
}

static CUresult run_memop(const sim_context_t *context, const CUstreamBatchMemOpParams *op)
{
    bool is_wait = op->operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ||
                   op->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
    bool is_wide = op->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64 ||
                   op->operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
    CUdeviceptr address = is_wait ? op->waitValue.address : op->writeValue.address;
    uint64_t value = is_wide ? op->waitValue.value64 : op->waitValue.value;
    void *at = sim_alias(address);
    if (op->operation == CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES ||
        op->operation == CU_STREAM_MEM_OP_BARRIER)
        return CUDA_SUCCESS;
    if (!may_touch(context, address, is_wide ? 8 : 4))
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    for (unsigned naps = 1;
         is_wait && !is_met(load(at, is_wide), value, op->waitValue.flags, is_wide); naps++) {
        usleep(20);
        if (naps % 1024 == 0)
            report_wait(context, at, value);
    }
    if (!is_wait)
        store(at, value, is_wide);
    return CUDA_SUCCESS;
}

static CUresult run_memops(sim_work_t *work)
{
    const memops_t *memops = (memops_t *)work->arguments;
    CUresult result = CUDA_SUCCESS;
    for (unsigned i = 0; i < memops->count && result == CUDA_SUCCESS; i++)
        result = run_memop(work->context, &memops->ops[i]);
    return result;
}

static bool is_valid(const CUstreamBatchMemOpParams *op)
{
    switch ((int)op->operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        return op->waitValue.address % 4 == 0 && sim_range_covers(op->waitValue.address, 4);
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        return op->waitValue.address % 8 == 0 && sim_range_covers(op->waitValue.address, 8);
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
    case CU_STREAM_MEM_OP_BARRIER:
        return true;
    }
    return false;
}

static CUresult submit_memops(CUstream handle, unsigned count, const CUstreamBatchMemOpParams *ops,
                              unsigned flags)
{
    sim_stream_t *stream;
    CUresult result = sim_stream_of(handle, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    if (ops == NULL || count == 0 || count > 256 || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++) {
        if (!is_valid(&ops[i]))
            return CUDA_ERROR_INVALID_VALUE;
    }
    size_t bytes = count * sizeof(*ops);
    sim_work_t *work =
        sim_work_create(stream->context, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, sizeof(memops_t) + bytes);
    memops_t *memops = (memops_t *)work->arguments;
    memops->count = count;
    memcpy(memops->ops, ops, bytes);
    work->run = run_memops;
    return sim_submit(stream, work, false);
}

CUresult cuStreamBatchMemOp(CUstream stream, unsigned count, CUstreamBatchMemOpParams *ops,
                            unsigned flags)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : submit_memops(stream, count, ops, flags));
}

CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags)
{
    CUresult result = sim_begin(__func__);
    const CUstreamBatchMemOpParams op = {.waitValue = {.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32,
                                                       .address = address,
                                                       .value = value,
                                                       .flags = flags}};
    return sim_end(result ? result : submit_memops(stream, 1, &op, 0));
}

CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags)
{
    CUresult result = sim_begin(__func__);
    const CUstreamBatchMemOpParams op = {.waitValue = {.operation = CU_STREAM_MEM_OP_WAIT_VALUE_64,
                                                       .address = address,
                                                       .value64 = value,
                                                       .flags = flags}};
    return sim_end(result ? result : submit_memops(stream, 1, &op, 0));
}

CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address, cuuint32_t value,
                              unsigned flags)
{
    CUresult result = sim_begin(__func__);
    const CUstreamBatchMemOpParams op = {
        .writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32,
                       .address = address,
                       .value = value,
                       .flags = flags}};
    return sim_end(result ? result : submit_memops(stream, 1, &op, 0));
}

CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr address, cuuint64_t value,
                              unsigned flags)
{
    CUresult result = sim_begin(__func__);
    const CUstreamBatchMemOpParams op = {
        .writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64,
                       .address = address,
                       .value64 = value,
                       .flags = flags}};
    return sim_end(result ? result : submit_memops(stream, 1, &op, 0));
}
