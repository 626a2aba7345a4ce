/* SPDX-License-Identifier: BSD-3-Clause */
/* What an ELF file says of its libraries, also where its tables point past its end. */
#include "launch/mpirun/program_file.h"

#include <elf.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { BASE = 0x4000, LIBRARIES = 2, NAME_ROOM = 32 };

/* A program as a linker would write it, with all that is looked at. */
typedef struct program {
    ElfW(Ehdr) head;
    ElfW(Phdr) segments[3]; /* all of the file; the dynamic section; the loader's name */
    ElfW(Dyn) dynamic[LIBRARIES + 2];
    char loader[NAME_ROOM];
    char strings[LIBRARIES][NAME_ROOM];
} program_t;

static const char loader[] = "/lib/ld.so";

static program_t make_program(const char *first, const char *second)
{
    program_t it = {.head = {.e_phoff = offsetof(program_t, segments),
                             .e_phentsize = sizeof(ElfW(Phdr)),
                             .e_phnum = 3}};
    memcpy(it.head.e_ident, ELFMAG, SELFMAG);
    it.head.e_ident[EI_CLASS] = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
    it.segments[0] =
        (ElfW(Phdr)){.p_type = PT_LOAD, .p_offset = 0, .p_vaddr = BASE, .p_filesz = sizeof(it)};
    it.segments[1] = (ElfW(Phdr)){.p_type = PT_DYNAMIC,
                                  .p_offset = offsetof(program_t, dynamic),
                                  .p_vaddr = BASE + offsetof(program_t, dynamic),
                                  .p_filesz = sizeof(it.dynamic)};
    it.segments[2] = (ElfW(Phdr)){.p_type = PT_INTERP,
                                  .p_offset = offsetof(program_t, loader),
                                  .p_vaddr = BASE + offsetof(program_t, loader),
                                  .p_filesz = sizeof(loader)};
    it.dynamic[0] = (ElfW(Dyn)){.d_tag = DT_NEEDED, .d_un = {.d_val = 0}};
    it.dynamic[1] = (ElfW(Dyn)){.d_tag = DT_NEEDED, .d_un = {.d_val = NAME_ROOM}};
    it.dynamic[2] =
        (ElfW(Dyn)){.d_tag = DT_STRTAB, .d_un = {.d_ptr = BASE + offsetof(program_t, strings)}};
    memcpy(it.loader, loader, sizeof(loader));
    strcpy(it.strings[0], first);
    strcpy(it.strings[1], second);
    return it;
}

static bool is_plain(const program_t *program, size_t bytes)
{
    const wl_program_file_t file = {(const char *)program, bytes};
    return wl_program_file_is_plain(&file);
}

static void test_plain(void **unused)
{
    program_t it = make_program("libm.so.6", "libc.so.6");
    (void)unused;
    assert_true(is_plain(&it, sizeof(it)));
    it = make_program("libstdc++.so.6", "ld-linux-x86-64.so.2");
    assert_true(is_plain(&it, sizeof(it)));
    it = make_program("libmpi.so.12", "libc.so.6");
    assert_false(is_plain(&it, sizeof(it)));
    it = make_program("libm.so.6", "libhdf5.so.103");
    assert_false(is_plain(&it, sizeof(it)));
    it = make_program("libcurl.so.4", "libmagic.so.1");
    assert_false(is_plain(&it, sizeof(it)));
}

static void test_loader(void **unused)
{
    program_t it = make_program("libm.so.6", "libc.so.6");
    wl_program_file_t file = {(const char *)&it, sizeof(it)};
    char found[PATH_MAX];
    (void)unused;
    assert_true(wl_program_file_loader(&file, found));
    assert_string_equal(found, loader);
    it.segments[2].p_type = PT_NOTE; /* linked statically */
    assert_false(wl_program_file_loader(&file, found));
}

/* A file that was cut off is never read past its end (address sanitizer), and not called plain. */
static void test_cut_off(void **unused)
{
    program_t it = make_program("libm.so.6", "libc.so.6");
    char found[PATH_MAX];
    (void)unused;
    for (size_t bytes = 0; bytes < sizeof(it); bytes++) {
        char *copy = test_malloc(bytes + 1);
        memcpy(copy, &it, bytes);
        wl_program_file_t file = {copy, bytes};
        assert_false(wl_program_file_is_plain(&file));
        assert_int_equal(wl_program_file_loader(&file, found),
                         bytes >= offsetof(program_t, loader) + sizeof(loader));
        test_free(copy);
    }
}

/* Tables that lie elsewhere than the file reaches. */
static void test_wild(void **unused)
{
    const program_t sound = make_program("libm.so.6", "libc.so.6");
    program_t it = sound;
    (void)unused;
    it.head.e_phoff = SIZE_MAX - 8;
    assert_false(is_plain(&it, sizeof(it)));
    it = sound;
    it.segments[1].p_offset = SIZE_MAX - 8;
    assert_false(is_plain(&it, sizeof(it)));
    it = sound;
    it.dynamic[0].d_un.d_val = SIZE_MAX;
    assert_false(is_plain(&it, sizeof(it)));
    it = sound;
    it.dynamic[2].d_un.d_ptr = BASE - 1;
    assert_false(is_plain(&it, sizeof(it)));
    it = sound;
    memset(it.strings[1], 'c', NAME_ROOM); /* does not end within the file */
    it.dynamic[1].d_un.d_val = NAME_ROOM;
    assert_false(is_plain(&it, sizeof(it)));
    it = sound;
    it.head.e_ident[EI_CLASS] = ELFCLASSNONE;
    assert_false(is_plain(&it, sizeof(it)));
}

static void test_files(void **unused)
{
    wl_program_file_t file;
    char found[PATH_MAX];
    (void)unused;
    assert_false(wl_program_file_open("/nonexistent/program", &file));
    assert_false(wl_program_file_open("/", &file));
    assert_true(wl_program_file_open("/proc/self/exe", &file));
    assert_true(wl_program_file_loader(&file, found));
    assert_false(wl_program_file_is_plain(&file)); /* linked with cmocka */
    wl_program_file_close(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_plain), cmocka_unit_test(test_loader),
                                       cmocka_unit_test(test_cut_off), cmocka_unit_test(test_wild),
                                       cmocka_unit_test(test_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
