/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim_share.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    TRAILER = 4096 /* the bytes of the trailer, behind the memory */
};

static uint64_t inode_of(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 ? status.st_ino : 0;
}

bool sim_has_fabric(void)
{
    return sim_options()->fabric || sim_options()->capability >= 90;
}

CUresult sim_check_types(unsigned long long types)
{
    const unsigned long long known = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR |
                                     (sim_has_fabric() ? CU_MEM_HANDLE_TYPE_FABRIC : 0);
    if ((types & ~known) != 0)
        return CUDA_ERROR_NOT_SUPPORTED;
    if ((types & CU_MEM_HANDLE_TYPE_FABRIC) != 0 && !sim_options()->fabric)
        return CUDA_ERROR_NOT_PERMITTED;
    return CUDA_SUCCESS;
}

sim_token_t sim_token_create(sim_share_kind_t kind, int fd, int index)
{
    return (sim_token_t){.kind = (int32_t)kind,
                         .pid = getpid(),
                         .fd = fd,
                         .index = index,
                         .inode = inode_of(fd),
                         .uuid = sim_uuid(index)};
}

CUresult sim_token_open(const sim_token_t *token, sim_share_kind_t kind, int *fd_out)
{
    char path[64];
    CUuuid uuid = sim_uuid(token->index);
    if (token->kind != (int32_t)kind || memcmp(&uuid, &token->uuid, sizeof(uuid)) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", token->pid, token->fd);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd == -1)
        return CUDA_ERROR_INVALID_VALUE;
    if (inode_of(fd) != token->inode) {
        close(fd);
        return CUDA_ERROR_INVALID_VALUE;
    }
    flock(fd, LOCK_SH);
    *fd_out = fd;
    return CUDA_SUCCESS;
}

bool sim_token_is_own(const sim_token_t *token)
{
    return token->pid == getpid();
}

sim_device_t *sim_token_device(const sim_token_t *token)
{
    return sim_device_of_uuid(&token->uuid);
}

int sim_trailer_export(int file, size_t bytes, const sim_token_t *token)
{
    off_t end = (off_t)bytes;
    if (ftruncate(file, end + TRAILER) != 0 ||
        pwrite(file, token, sizeof(*token), end) != (ssize_t)sizeof(*token))
        return -1;
    return sim_file_hold(file);
}

static CUresult read_trailer(int fd, sim_share_kind_t kind, sim_token_t *out)
{
    struct stat status;
    if (fstat(fd, &status) != 0 || status.st_size <= TRAILER ||
        pread(fd, out, sizeof(*out), status.st_size - TRAILER) != (ssize_t)sizeof(*out) ||
        out->kind != (int32_t)kind)
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

CUresult sim_share_open(void *given, CUmemAllocationHandleType type, sim_share_kind_t kind,
                        sim_token_t *token_out, int *fd_out)
{
    if (type == CU_MEM_HANDLE_TYPE_FABRIC) {
        if (given == NULL || !sim_options()->fabric)
            return CUDA_ERROR_INVALID_VALUE;
        memcpy(token_out, given, sizeof(*token_out));
        return sim_token_open(token_out, kind, fd_out);
    }
    int fd = (int)(intptr_t)given;
    CUresult result = type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
                          ? read_trailer(fd, kind, token_out)
                          : CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return result;
    *fd_out = sim_file_hold(fd);
    return *fd_out == -1 ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_SUCCESS;
}
