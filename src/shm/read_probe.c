/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "shm/segment.h"

#include "runtime/world.h"
#include "base/config.h"
#include "base/log.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

bool weft_segment_can_read(const weft_segment_t *segment, int local_rank)
{
    if (strcmp(weft_config.CMA, "no") == 0)
        return false;
    int next = (local_rank + 1) % segment->ranks;
    const weft_rank_block_t *block = weft_segment_block(segment, next);
    uint64_t word = 0;
    struct iovec local = {&word, sizeof(word)};
    struct iovec remote = {(void *)(uintptr_t)block->probe_address, sizeof(word)};
    ssize_t got = process_vm_readv(block->pid, &local, 1, &remote, 1, 0);
    if (got == (ssize_t)sizeof(word) && word == segment->header->token + (uint64_t)next)
        return true;
    if (got < 0 && errno == ESRCH)
        return true; /* it has ended already, which says nothing about the others */
    const char *why = got < 0 ? strerror(errno) : "it reads another process";
    if (weft_world_may_warn(WEFT_WARNING_NO_READING))
        WEFT_LOG(WEFT_WARN, "shm",
                 "processes may not read each other's memory (process_vm_readv: %s); "
                 "large messages are copied twice. WEFT_CMA=no silences this",
                 why);
    return false;
}
