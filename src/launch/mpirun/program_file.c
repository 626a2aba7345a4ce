/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/mpirun/program_file.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

bool wl_program_file_open(const char *path, wl_program_file_t *out)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool is_mapped = fd >= 0 && fstat(fd, &status) == 0 && status.st_size > 0;
    if (is_mapped) {
        void *data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        *out = (wl_program_file_t){data, (size_t)status.st_size};
        is_mapped = data != MAP_FAILED;
    }
    if (fd >= 0)
        close(fd);
    return is_mapped;
}

void wl_program_file_close(const wl_program_file_t *file)
{
    munmap((void *)file->data, file->bytes);
}

static bool holds(const wl_program_file_t *file, size_t at, size_t bytes)
{
    return at <= file->bytes && bytes <= file->bytes - at;
}

static bool read_head(const wl_program_file_t *file, ElfW(Ehdr) * head)
{
    if (!holds(file, 0, sizeof(*head)))
        return false;
    memcpy(head, file->data, sizeof(*head));
    return memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 && head->e_phentsize == sizeof(ElfW(Phdr)) &&
           head->e_ident[EI_CLASS] == (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32);
}

/* Find the segment of a type that has `address` in it; any of that type with address 0. */
static bool find_segment(const wl_program_file_t *file, uint32_t type, size_t address,
                         ElfW(Phdr) * out)
{
    ElfW(Ehdr) head;
    if (!read_head(file, &head))
        return false;
    for (size_t i = 0; i < head.e_phnum; i++) {
        size_t at = head.e_phoff + i * sizeof(*out);
        if (!holds(file, at, sizeof(*out)))
            return false;
        memcpy(out, file->data + at, sizeof(*out));
        bool is_there =
            address == 0 || (address >= out->p_vaddr && address - out->p_vaddr < out->p_filesz);
        if (out->p_type == type && is_there)
            return holds(file, out->p_offset, out->p_filesz);
    }
    return false;
}

bool wl_program_file_loader(const wl_program_file_t *file, char out[PATH_MAX])
{
    ElfW(Phdr) name;
    if (!find_segment(file, PT_INTERP, 0, &name) || name.p_filesz == 0 || name.p_filesz > PATH_MAX)
        return false;
    snprintf(out, PATH_MAX, "%.*s", (int)name.p_filesz, file->data + name.p_offset);
    return true;
}

/* Read entry i of the dynamic section; false behind its last. */
static bool read_entry(const wl_program_file_t *file, const ElfW(Phdr) * dynamic, size_t i,
                       ElfW(Dyn) * out)
{
    if (i >= dynamic->p_filesz / sizeof(*out))
        return false;
    memcpy(out, file->data + dynamic->p_offset + i * sizeof(*out), sizeof(*out));
    return out->d_tag != DT_NULL;
}

/* The strings that the dynamic section refers to, up to the end of their segment; NULL: none. */
static const char *find_strings(const wl_program_file_t *file, const ElfW(Phdr) * dynamic,
                                size_t *bytes_out)
{
    ElfW(Dyn) entry;
    ElfW(Phdr) segment;
    for (size_t i = 0; read_entry(file, dynamic, i, &entry); i++) {
        if (entry.d_tag != DT_STRTAB)
            continue;
        if (!find_segment(file, PT_LOAD, entry.d_un.d_ptr, &segment))
            return NULL;
        size_t within = entry.d_un.d_ptr - segment.p_vaddr;
        *bytes_out = segment.p_filesz - within;
        return file->data + segment.p_offset + within;
    }
    return NULL;
}

/* Names of glibc and of GCC's run-time; none of them loads another library that is not one. */
static bool is_run_time(const char *name)
{
    static const char *const names[] = {"libc.so.",  "libm.so.",     "libpthread.so.",
                                        "libdl.so.", "librt.so.",    "libutil.so",
                                        "ld-linux-", "libgcc_s.so.", "libstdc++.so."};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return true;
    }
    return false;
}

bool wl_program_file_is_plain(const wl_program_file_t *file)
{
    ElfW(Phdr) dynamic;
    ElfW(Dyn) entry;
    size_t bytes;
    if (!find_segment(file, PT_DYNAMIC, 0, &dynamic))
        return false;
    const char *strings = find_strings(file, &dynamic, &bytes);
    for (size_t i = 0; strings != NULL && read_entry(file, &dynamic, i, &entry); i++) {
        if (entry.d_tag != DT_NEEDED)
            continue;
        size_t at = entry.d_un.d_val;
        if (at >= bytes || memchr(strings + at, 0, bytes - at) == NULL ||
            !is_run_time(strings + at))
            return false;
    }
    return strings != NULL;
}
